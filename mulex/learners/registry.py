"""What is known of an external learner before it trains, by its name, and whether its values fit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mulex.errors import UserError
from mulex.learners.names import DQN, TRAINING_SETTINGS, LearnerName
from mulex.learners.placeholders import CHECKPOINT, ROWS_WANTED, check_placeholders, names_in
from mulex.learners.process import check_program, check_script, command_environment
from mulex.learners.python import load_learner
from mulex.learners.signatures import Hyperparameters

_SB3_LIBRARIES = ("stable-baselines3", "gymnasium", "torch")


@dataclass(frozen=True)
class Description:
    """What is known of a learner before it trains."""

    name: str
    kind: str
    hyperparameters: Hyperparameters
    resumable: bool
    version: str | None = None
    libraries: dict[str, str | None] = field(default_factory=dict)
    """The versions of the libraries that it names; None for one that is not installed."""
    lengthens: bool = True
    """Whether it gives as many rows as are wanted, also if these are more than the run was planned with."""


def describe(learner: LearnerName) -> Description:
    """What a learner is: its hyperparameters with defaults, whether it is resumed, its version, its libraries."""
    if learner.kind == "sb3":
        from mulex.learners.sb3_arguments import constructor_defaults

        known = Hyperparameters(constructor_defaults(learner.algorithm))
        libraries = library_versions(_SB3_LIBRARIES)
        return Description(learner.name, "sb3", known, True, libraries["stable-baselines3"], libraries)
    if learner.kind == "python":
        found = load_learner(learner.name)
        libraries = library_versions(found.libraries)
        about = found.hyperparameters, found.resumable, found.version, libraries, found.lengthens
        return Description(learner.name, "python", *about)
    if learner.kind == "command":
        used = names_in(learner.command)
        known = Hyperparameters({}, open=True)
        lengthens = ROWS_WANTED in used
        return Description(" ".join(learner.command), "command", known, CHECKPOINT in used, lengthens=lengthens)
    return Description(DQN, "dqn", Hyperparameters({}, open=True), True)


def why_not_longer(learner: LearnerName) -> str:
    """Say why finished runs of a learner cannot go on when their sweep is made longer; nothing if they can."""
    about = describe(learner)
    if not about.resumable:
        return "keeps no checkpoints; it needs save() and load(), run.checkpoint(), or {checkpoint}"
    if not about.lengthens:
        wanted = "a command needs {rows_wanted}" if learner.kind == "command" else "it must read run.rows_wanted"
        return f"decides itself when to end; {wanted} in place of the iterations"
    return ""


def library_versions(names: tuple[str, ...]) -> dict[str, str | None]:
    """The installed version of each package."""
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def check_values(
    learner: LearnerName, values: Mapping[str, Any], world: Mapping[str, Any], training: Mapping[str, Any]
) -> None:
    """Refuse what a learner would refuse later: unknown names, missing values, placeholders, programs."""
    for name in training:
        if name not in TRAINING_SETTINGS:
            raise UserError(
                f"training.{name}: {learner.name} does not know it, it knows {', '.join(TRAINING_SETTINGS)}"
            )
    if learner.kind == "sb3":
        from mulex.learners.sb3_arguments import check_names

        check_names(learner.algorithm, values)
    elif learner.kind == "python":
        load_learner(learner.name).hyperparameters.check(f"learner {learner.name}", values)
    elif learner.kind == "command":
        check_placeholders(learner.command, values, world, training)


def check_program_here(learner: LearnerName, folder: Path | None) -> None:
    """Refuse a command whose program or script is not on this machine; `folder` is that of its code, if it has any."""
    if learner.kind != "command":
        return
    if "{" not in learner.command[0]:
        check_program(learner.command[0], folder, command_environment()["PATH"])
    check_script(learner.command, folder)
