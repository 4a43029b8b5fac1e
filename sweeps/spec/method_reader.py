"""A method of a spec: its recipe, and what its hyperparameters and its own training settings are drawn from."""

from typing import Any

from mulex.config import GridWorldConfig, MethodConfig, TrainingConfig
from mulex.errors import UserError
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.messages import Path, nearest, shown
from mulex.methods import METHODS, make_run, with_bonus
from sweeps.search.distribution_reader import WrongDistribution, read_distribution
from sweeps.search.distributions import LISTED, Distribution, constant
from sweeps.search.space import wrong_conditions
from sweeps.spec.learner_reader import has_learner, read_learner_method
from sweeps.spec.models import NAME, NAME_ALLOWED, MethodSpec, as_setting
from sweeps.spec.settings_reader import Problems, read_settings, split_message

Plain = dict[str, Any]
_INSIDE = (0.1234, 0.5678)  # quantiles at which a range is tried besides its ends: settings may be whole numbers
_OWN_KEYS = ("bonus", "recipe", "learner")  # all other keys of a method are hyperparameters or training settings


def read_method(
    name: str, entry: Any, training: TrainingConfig | None, problems: Problems, execution: Any = None
) -> MethodSpec | None:
    """Return one method of a spec; None if it has a problem."""
    if has_learner(entry):
        return read_learner_method(name, entry, execution, problems)
    path, noted = ("methods", name), len(problems)
    if not isinstance(entry, dict):
        problems.value(path, f"got {shown(entry)}, allowed is a mapping; {{}} takes every default")
        return None
    recipe = _with_bonus(name, entry, _recipe(name, entry, problems), problems)
    given = _given(name, entry, recipe, problems)
    if recipe is None:
        return None
    defaults = {key: constant(value) for key, value in recipe.hyperparameters.items()}
    space = defaults | {key: distribution for key, distribution in given.items() if distribution}
    inside = [
        _is_inside(recipe.limits(key), space[key], _source(path, key, given), problems)
        for key in recipe.hyperparameters
    ]
    settings = {key: distribution for key, distribution in space.items() if key not in recipe.hyperparameters}
    for key, distribution in settings.items():
        _check_setting(key, distribution, (*path, key), training, problems)
    if all(given.values()):
        for problem in wrong_conditions(space):
            problems.key((*path, *problem.path), problem.text)
    if all(inside) and all(given.values()):
        _try_ends(name, recipe, space, entry, problems)
    return MethodSpec(recipe=recipe, space=space) if len(problems) == noted else None


def _given(name: str, entry: Plain, recipe: MethodConfig | None, problems: Problems) -> dict[str, Distribution | None]:
    """Read what the entry says about hyperparameters and training settings; None where that is wrong."""
    known = {**recipe.hyperparameters, **TrainingConfig.model_fields} if recipe else entry
    given: dict[str, Distribution | None] = {}
    for key in (key for key in entry if key not in _OWN_KEYS):
        if key == "score":
            problems.key(("methods", name, key), "methods are compared by one score; write it in training")
        elif key in known:
            given[key] = _distribution(entry[key], ("methods", name, key), problems)
        else:
            own = ", ".join(recipe.hyperparameters) if recipe else ""
            listed = f"no such hyperparameter, {name} has {own}"
            problems.key(("methods", name, key), listed + nearest(key, (*known, *_OWN_KEYS)))
    return given


def _recipe(name: str, entry: Plain, problems: Problems) -> MethodConfig | None:
    path = ("methods", name)
    if "recipe" in entry:
        recipe = read_settings(MethodConfig, entry["recipe"], (*path, "recipe"), problems)
        if recipe:
            _check_names(recipe, (*path, "recipe"), problems)
        return recipe
    if name not in METHODS:
        listed = f"no such method, there are {', '.join(METHODS)}; another name needs recipe, learner or command"
        problems.key(path, listed + nearest(name, METHODS))
    return METHODS.get(name)


def _check_names(recipe: MethodConfig, path: Path, problems: Problems) -> None:
    """Check that heads can name columns of the tables, and that every hyperparameter is read by something."""
    for head in recipe.heads:
        if not NAME.fullmatch(head):
            problems.key((*path, "heads", head), f"the name {shown(head)}, allowed are {NAME_ALLOWED}")
    weights = [weight for head in recipe.heads.values() for weight in head.reward.values()]
    acting = recipe.acting
    used = {"learning_rate", "epsilon", acting.gamma_steps, *acting.probabilities.values(), *weights}
    used |= set(acting.parameters.values())
    for key in recipe.hyperparameters:
        if key in _OWN_KEYS:
            problems.key((*path, "hyperparameters", key), "taken by the spec's own key; use another name")
        elif key not in used and not problems.tree.frozen:
            where = "write it in training, or beside recipe" if key in TrainingConfig.model_fields else "leave it out"
            problems.key((*path, "hyperparameters", key), f"no head and no acting rule reads it; {where}")


def _with_bonus(name: str, entry: Plain, recipe: MethodConfig | None, problems: Problems) -> MethodConfig | None:
    if "bonus" not in entry:
        return recipe
    bonus, path = entry["bonus"], ("methods", name, "bonus")
    if not isinstance(bonus, str) or bonus not in BONUSES:
        problems.value(path, f"got {shown(bonus)}, allowed is one of {', '.join(BONUSES)}{nearest(bonus, BONUSES)}")
    elif recipe and recipe.signals != ("oracle",):
        used = " and ".join(recipe.signals) or "no bonus"
        problems.value(path, f"got {bonus!r}, but {name} learns from {used}; only an oracle can be exchanged")
    elif recipe:
        return with_bonus(recipe, bonus)
    return recipe


def _distribution(plain: Any, path: Path, problems: Problems) -> Distribution | None:
    try:
        return read_distribution(plain)
    except WrongDistribution as error:
        problems.value((*path, *error.path), str(error))
        return None


def _source(path: Path, key: str, given: Plain) -> Path:
    """Return where the values of a hyperparameter are written."""
    return (*path, key) if key in given else (*path, "recipe", "hyperparameters", key)


def _is_inside(limits: tuple[float, float], distribution: Distribution, path: Path, problems: Problems) -> bool:
    """Note values that a hyperparameter of a recipe cannot have."""
    if not distribution.is_numeric:
        example = "for example {uniform: [0.5, 0.9]}"
        got = shown(distribution.plain())
        problems.value(path, f"got {got}, allowed is a number or a distribution of numbers, {example}")
        return False
    low, high = limits
    outside = [value for value in distribution.bounds if not low <= value <= high]
    for value in outside[:1]:
        problems.value(path, f"got {value:.10g}, allowed is a number from {low:g} to {high:.10g}")
    return not outside


def _check_setting(
    key: str, distribution: Distribution, path: Path, training: TrainingConfig | None, problems: Problems
) -> None:
    """Check all values of a training setting, or some of its range, together with the training that it changes."""
    shared = training.model_dump(exclude_unset=True) if training else {}
    noted = len(problems)
    listed = distribution.kind in LISTED
    for value in distribution.values if listed else (*distribution.bounds, *map(distribution.at, _INSIDE)):
        if len(problems) == noted:
            setting = {key: as_setting(key, value)}
            read_settings(TrainingConfig, {**shared, **setting}, path[:-1], problems)


def _try_ends(
    name: str, recipe: MethodConfig, space: dict[str, Distribution], entry: Plain, problems: Problems
) -> None:
    """Make a run of the lowest values and one of the highest: whatever a run refuses is refused here."""
    for end in (0, 1):
        values = {key: space[key].bounds[end] for key in recipe.hyperparameters}
        try:
            make_run(GridWorldConfig(), name, TrainingConfig(), values, recipe=recipe)
        except UserError as error:
            inside, text = split_message(str(error), entry)
            problems.value(("methods", name, *inside), text)
            return
