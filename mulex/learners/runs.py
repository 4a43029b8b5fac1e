"""From the configuration of a learner's run to the engine that trains it."""

from collections.abc import Sequence
from pathlib import Path

from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.learners.contract import Run
from mulex.learners.engine import LearnerEngine
from mulex.learners.limits import NO_LIMITS, Limits
from mulex.learners.make import make_learner_engine
from mulex.learners.pack import LearnerPack
from mulex.learners.registry import library_versions
from mulex.learners.run_config import LearnerRun, known_training
from mulex.learners.scratch import new_scratch
from mulex.learners.shipping import fetch_code
from mulex.store.folder import Folder


def learner_engine(
    config: LearnerRun, device: str = "cpu", folder: Folder | None = None, limits: Limits = NO_LIMITS
) -> LearnerEngine:
    """Make the engine for one run.

    Args:
        config: The run.
        device: Where tensors should live.
        folder: The sweep's folder, which holds the user's code; without it the code must be importable here.
        limits: What the run may take.

    Raises:
        UserError: if the code is missing, or the libraries here are not those that the run's id names.
    """
    recipe = config.recipe
    code = fetch_code(folder, recipe.code) if folder is not None and recipe.code else None
    _check_libraries(recipe.learner, recipe.libraries)
    planned = config.as_first_planned
    run = Run(
        run_id=planned.run_id,
        values=config.given,
        seed=config.seed,
        world=config.world.model_dump(mode="json"),
        iterations=planned.training.iterations,
        scratch=new_scratch(config.run_id),
        training=known_training(planned.training),
        device=device,
        rows_wanted=config.training.iterations,
    )
    return make_learner_engine(recipe.name, run, code or Path.cwd(), limits)


def learner_pack(
    runs: Sequence[RunConfig],
    device: str = "cpu",
    folder: Folder | None = None,
    limits: Limits = NO_LIMITS,
) -> LearnerPack:
    """Make the engine for a pack of learners' runs; the arguments are those of `learner_engine`."""
    configs = [run for run in runs if isinstance(run, LearnerRun)]
    return LearnerPack([learner_engine(config, device, folder, limits) for config in configs])


def _check_libraries(learner: str, recorded: dict[str, str | None]) -> None:
    """Refuse to train a run with other versions than its id says."""
    for name, here in library_versions(tuple(recorded)).items():
        if here != recorded[name]:
            raise UserError(
                f"learner {learner}: the sweep is of {name} {recorded[name]}, here is {here or 'none'}; install "
                f"that version, or launch into another folder"
            )
