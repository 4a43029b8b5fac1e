"""What a launch does for external learners (`mulex.learners`): check them, and time them for `--dry-run`."""

import time
import warnings
from contextlib import closing
from pathlib import Path

from mulex.config import RunConfig
from mulex.learners.code import code_root
from mulex.learners.environments import make_environment
from mulex.learners.registry import check_program_here, check_values
from mulex.learners.run_config import LearnerRun, known_training
from mulex.learners.runs import learner_engine


def check_learner_run(run: LearnerRun, code: str | None = None, here: Path | None = None) -> None:
    """Refuse what this machine knows a worker would refuse: names, programs, environments, arguments of SB3.

    Commands are run in the folder `code`, or in `here` without one. A sweep that is resumed has its own copy of the
    code, so that the original may be gone.
    """
    learner, world = run.recipe.name, run.world.model_dump(mode="json")
    if code is None or Path(code).exists():
        check_program_here(learner, code_root(code) if code else here)
    if learner.kind == "command":
        check_values(learner, run.recipe.hyperparameters, world, known_training(run.training))
    if learner.kind == "sb3":
        with closing(learner_engine(run)) as engine, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # workers show them, once
            engine.prepare()
    elif "id" in world and learner.kind == "python":
        make_environment(world).close()


def seconds_of_learner(run: RunConfig) -> float:
    """Estimate how long a learner's run takes, from its second iteration here."""
    assert isinstance(run, LearnerRun)
    with closing(learner_engine(run)) as engine:
        for _ in range(min(2, run.training.iterations)):
            began = time.perf_counter()
            engine.iterate()
            seconds = time.perf_counter() - began
    return seconds * run.training.iterations
