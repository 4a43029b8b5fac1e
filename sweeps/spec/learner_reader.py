"""A method of a spec that is trained by an external learner: `learner: NAME` or `command: [...]`."""

from collections.abc import Mapping
from typing import Any

from mulex.config import RESERVED_NAMES, TrainingConfig
from mulex.errors import UserError
from mulex.learners.names import DQN, TRAINING_SETTINGS, LearnerName
from mulex.learners.placeholders import ALWAYS, names_in
from mulex.learners.registry import Description, describe
from mulex.learners.run_config import LearnerConfig
from mulex.learners.signatures import REQUIRED
from mulex.messages import Path, nearest
from sweeps.search.distribution_reader import WrongDistribution, read_distribution
from sweeps.search.distributions import Distribution
from sweeps.search.space import wrong_conditions
from sweeps.spec.code_reader import read_code_folder
from sweeps.spec.models import MethodSpec
from sweeps.spec.settings_reader import Problems, read_settings

Plain = dict[str, Any]
LEARNER, COMMAND, RECIPE = "learner", "command", "recipe"
SCORE, GROWN_FROM = "score", "grown_from"
OWN_KEYS = (LEARNER, COMMAND, RECIPE)


def has_learner(entry: Any) -> bool:
    """Whether a method names an external learner, as a user writes it or as a frozen spec has it."""
    if not isinstance(entry, dict):
        return False
    frozen = isinstance(entry.get(RECIPE), dict) and LEARNER in entry[RECIPE]
    return frozen or COMMAND in entry or entry.get(LEARNER, DQN) != DQN


def read_learner_method(name: str, entry: Plain, execution: Any, problems: Problems) -> MethodSpec | None:
    """Return a method; None if it has a problem. A frozen recipe is taken as it is, and nothing is imported for it."""
    path, noted = ("methods", name), len(problems)
    given = {key: value for key, value in entry.items() if key not in OWN_KEYS}
    space = {key: _distribution(value, (*path, key), problems) for key, value in given.items()}
    recipe = _frozen(entry, path, problems) if RECIPE in entry else _described(entry, given, path, execution, problems)
    if recipe is None or len(problems) > noted:
        return None
    whole = {key: distribution for key, distribution in space.items() if distribution}
    for problem in wrong_conditions(whole):
        problems.key((*path, *problem.path), problem.text)
    return MethodSpec(recipe=recipe, space=whole) if len(problems) == noted else None


def check_training(
    training: TrainingConfig | None, methods: Mapping[str, MethodSpec | None], problems: Problems
) -> None:
    """Refuse settings of `training` that no learner of the spec knows."""
    kinds = {isinstance(method.recipe, LearnerConfig) for method in methods.values() if method}
    if training is None or len(kinds) != 1:
        return
    learners = kinds.pop()
    for key in training.model_fields_set:
        known = key in (*TRAINING_SETTINGS, SCORE, GROWN_FROM) if learners else key != "evaluation_episodes"
        if not known and getattr(training, key) != TrainingConfig.model_fields[key].default:
            names = ", ".join((*TRAINING_SETTINGS, SCORE)) if learners else "evaluation_steps"
            problems.key(("training", key), f"no learner of this spec reads it; use {names}")


def _frozen(entry: Plain, path: Path, problems: Problems) -> LearnerConfig | None:
    for key in (LEARNER, COMMAND):
        if key in entry:
            problems.key((*path, key), "stands beside the recipe of a frozen spec; a method has one of them")
    return read_settings(LearnerConfig, entry[RECIPE], (*path, RECIPE), problems)


def _described(entry: Plain, given: Plain, path: Path, execution: Any, problems: Problems) -> LearnerConfig | None:
    """Import the learner and hold the names to what it has."""
    key = COMMAND if COMMAND in entry else LEARNER
    code = read_code_folder(execution, problems)
    if code is None and isinstance(execution, dict) and execution.get("code") is not None:
        return None  # that the learner is not found would only follow
    if isinstance(execution, dict) and execution.get("keep_policies") is True:
        text = f"{path[-1]} is trained by another learner, of which no policy is kept; leave it out"
        problems.key(("execution", "keep_policies"), text)
    try:
        learner = LearnerName.of(entry.get(LEARNER), entry.get(COMMAND))
        about = describe(learner)
    except UserError as error:
        problems.value((*path, key), _without_key(str(error), key))
        return None
    _check_names(learner, about, given, path, problems)
    known = about.hyperparameters.defaults
    own: dict[str, Any] = {name: None for name in given if name not in TRAINING_SETTINGS or name in known}
    return LearnerConfig(
        learner=learner.name,
        command=list(learner.command),
        version=about.version,
        code=code.checksum if code else None,
        libraries=about.libraries,
        hyperparameters=own,
    )


def _check_names(learner: LearnerName, about: Description, given: Plain, path: Path, problems: Problems) -> None:
    """Refuse hyperparameters that nothing reads, and missing ones that the learner needs."""
    if learner.kind == "command":
        _check_placeholders(learner, given, path, problems)
    for key in given:
        if key in TRAINING_SETTINGS and key not in about.hyperparameters.defaults:
            continue
        if key == SCORE:
            problems.key((*path, key), "methods are compared by one score; write it in training")
            continue
        if key in RESERVED_NAMES:
            problems.key((*path, key), "is a column of the tables; use another name")
            continue
        try:
            if learner.kind == "sb3":
                from mulex.learners.sb3_arguments import check_names

                check_names(learner.algorithm, [key])
            else:
                about.hyperparameters.check_name(about.name, key)
        except UserError as error:
            problems.key((*path, key), _without_key(str(error), key))
    for key, default in about.hyperparameters.defaults.items():
        if default is REQUIRED and key not in given:
            problems.key(path, f"{about.name} needs a value for {key}, which has no default")


def _check_placeholders(learner: LearnerName, given: Plain, path: Path, problems: Problems) -> None:
    """Check a command's placeholders as far as they do not depend on the world."""
    used, known = names_in(learner.command), (*given, *ALWAYS)
    for name in sorted(used):
        if name not in known and not name.startswith(("world.", "training.")):
            text = f"{{{name}}} has no value, there are {', '.join(known)}, world.KEY and training.KEY"
            problems.value((*path, COMMAND), text + nearest(name, known))
    for key in given:
        if key not in used and not used & {"config", "values"}:
            problems.key((*path, key), f"the command has no {{{key}}}, so nothing reads it; add it, or use {{values}}")


def _distribution(plain: Any, path: Path, problems: Problems) -> Distribution | None:
    try:
        return read_distribution(plain)
    except WrongDistribution as error:
        problems.value((*path, *error.path), str(error))
        return None


def _without_key(text: str, key: str) -> str:
    """A message without the key that the problem's line names anyway."""
    return text.removeprefix(f"{key}: ").removeprefix(f"{key} ")
