"""From the tree of a spec's text to the spec, or to all of its problems."""

from typing import Any

from mulex.config import LIMITS, GridWorldConfig, GymWorldConfig, MethodConfig, TrainingConfig, digest
from mulex.errors import UserError
from mulex.methods import METHODS, make_run, with_bonus
from sweeps.allowed import allowed, schema_at
from sweeps.distributions import Distribution, WrongDistribution, constant, read_distribution
from sweeps.settings_reader import Problems, read_settings, split_message
from sweeps.spec_models import (
    BONUSES,
    MOST_RUNS,
    NAME,
    NAME_ALLOWED,
    Execution,
    GridWorldSpec,
    GymWorldSpec,
    MethodSpec,
    Search,
    Spec,
    WorldSpec,
)
from sweeps.spec_problems import Path, nearest, shown, unknown
from sweeps.yaml_tree import Tree

Plain = dict[str, Any]
_OWN_KEYS = ("bonus", "recipe")  # of a method; all other keys are hyperparameters


def read_tree(tree: Tree) -> Spec:
    """The spec; a SpecError has every problem."""
    problems = Problems(tree)
    if () in tree.unreadable:
        problems.stop_if_any()
    if not isinstance(tree.plain, dict):
        problems.value((), f"got {shown(tree.plain)}, allowed is {allowed(schema_at(Spec, ()))}")
        problems.stop_if_any()
    parts = _Parts(tree.plain, problems)
    problems.stop_if_any()
    return Spec(**parts.read)


class _Parts:
    """Reads each part on its own, so that a problem in one does not hide those in another."""

    def __init__(self, plain: Plain, problems: Problems) -> None:
        self.plain, self.problems = plain, problems
        for key in plain:
            if key not in Spec.model_fields:
                problems.key((key,), unknown("section", key, Spec.model_fields))
        training = read_settings(TrainingConfig, plain.get("training", {}), ("training",), problems)
        self.read: Plain = {
            "name": self._name(),
            "training": training,
            "search": read_settings(Search, plain.get("search", {}), ("search",), problems),
            "execution": read_settings(Execution, plain.get("execution", {}), ("execution",), problems),
            "worlds": {name: self._world(name, entry, training) for name, entry in self._entries("worlds")},
            "methods": {name: read_method(name, entry, problems) for name, entry in self._entries("methods")},
        }
        self._check_oracles()
        self._check_twins()
        self._check_count()

    def _name(self) -> str | None:
        name = self.plain.get("name")
        if "name" not in self.plain:
            self.problems.key(("name",), f"missing, needed is a name of {NAME_ALLOWED}")
        elif not isinstance(name, str) or not NAME.fullmatch(name):
            self.problems.value(("name",), f"got {shown(name)}, allowed are {NAME_ALLOWED}")
        return name

    def _entries(self, section: str) -> list[tuple[str, Any]]:
        """The named worlds or methods."""
        entries = self.plain.get(section)
        if section not in self.plain:
            self.problems.key((section,), "missing, needed is at least one")
        elif not isinstance(entries, dict) or not entries:
            self.problems.value((section,), f"got {shown(entries)}, allowed is a mapping of names, at least one")
        if not isinstance(entries, dict):
            return []
        for name in entries:
            if not NAME.fullmatch(name):
                self.problems.key((section, name), f"the name {shown(name)}, allowed are {NAME_ALLOWED}")
        return list(entries.items())

    def _world(self, name: str, entry: Any, training: TrainingConfig | None) -> WorldSpec | None:
        path = ("worlds", name)
        if not isinstance(entry, dict):
            self.problems.value(path, f"got {shown(entry)}, allowed is a mapping; {{}} takes every default")
            return None
        model: type[WorldSpec] = GymWorldSpec if "id" in entry else GridWorldSpec
        own = {key: value for key, value in entry.items() if key != "training"}
        world = read_settings(model, own, path, self.problems)
        overrides = self._overrides(entry.get("training", {}), (*path, "training"), training)
        return world.model_copy(update={"training": overrides}) if world else None

    def _overrides(self, plain: Any, path: Path, training: TrainingConfig | None) -> Plain:
        """Checked together with the training that they change."""
        shared = training.model_dump(exclude_unset=True) if training else {}
        whole = read_settings(
            TrainingConfig, {**shared, **plain} if isinstance(plain, dict) else plain, path, self.problems
        )
        return whole.model_dump(mode="json", include=set(plain)) if whole else {}

    def _check_oracles(self) -> None:
        elsewhere = [name for name, world in self.read["worlds"].items() if isinstance(world, GymWorldConfig)]
        for name, method in self.read["methods"].items():
            if elsewhere and method and "oracle" in method.recipe.signals:
                text = f"its oracle counts the states of grid worlds, and {elsewhere[0]!r} is a Gymnasium world"
                self.problems.key(("methods", name), f"{text}; use bonus: simhash, or leave it out")

    def _check_twins(self) -> None:
        """Runs of two worlds that are the same would be the same runs, which are trained once."""
        training = self.read["training"]
        known: dict[str, str] = {}
        for name, world in self.read["worlds"].items():
            if world and training:
                own = {**training.model_dump(mode="json"), **world.training}
                first = known.setdefault(digest([world.model_dump(mode="json", exclude={"training"}), own]), name)
                if first != name:
                    self.problems.key(("worlds", name), f"the same world as {first!r}; change it, or leave it out")

    def _check_count(self) -> None:
        search, pairs = self.read["search"], len(self.read["worlds"]) * len(self.read["methods"])
        if search and (count := search.draws * search.seeds * pairs) > MOST_RUNS:
            self.problems.value(("search",), f"got {count:,} runs in all, allowed are {MOST_RUNS:,}")


def read_method(name: str, entry: Any, problems: Problems) -> MethodSpec | None:
    """One method of a spec; None if there is a problem."""
    path = ("methods", name)
    if not isinstance(entry, dict):
        problems.value(path, f"got {shown(entry)}, allowed is a mapping; {{}} takes every default")
        return None
    recipe = _with_bonus(name, entry, _recipe(name, entry, problems), problems)
    known = recipe.hyperparameters if recipe else entry
    given: dict[str, Distribution | None] = {}
    for key in (key for key in entry if key not in _OWN_KEYS):
        if key in known:
            given[key] = _distribution(entry[key], (*path, key), problems)
        else:
            listed = f"no such hyperparameter, {name} has {', '.join(known)}"
            problems.key((*path, key), listed + nearest(key, (*known, *_OWN_KEYS)))
    if recipe is None:
        return None
    space = {key: given.get(key) or constant(default) for key, default in recipe.hyperparameters.items()}
    inside = [_is_inside(key, space[key], _source(path, key, given), problems) for key in space]
    if all(inside) and all(given.values()):
        _try_ends(name, recipe, space, entry, problems)
    return MethodSpec(recipe=recipe, space=space)


def _recipe(name: str, entry: Plain, problems: Problems) -> MethodConfig | None:
    path = ("methods", name)
    if "recipe" in entry:
        recipe = read_settings(MethodConfig, entry["recipe"], (*path, "recipe"), problems)
        if recipe:
            _check_names(recipe, (*path, "recipe"), problems)
        return recipe
    if name not in METHODS:
        listed = f"no such method, there are {', '.join(METHODS)}; one of another name needs a recipe"
        problems.key(path, listed + nearest(name, METHODS))
    return METHODS.get(name)


def _check_names(recipe: MethodConfig, path: Path, problems: Problems) -> None:
    """Heads name columns of the tables, and hyperparameters are keys beside the spec's own."""
    for head in recipe.heads:
        if not NAME.fullmatch(head):
            problems.key((*path, "heads", head), f"the name {shown(head)}, allowed are {NAME_ALLOWED}")
    for key in recipe.hyperparameters:
        if key in _OWN_KEYS:
            problems.key((*path, "hyperparameters", key), "taken by the spec's own key; use another name")


def _with_bonus(name: str, entry: Plain, recipe: MethodConfig | None, problems: Problems) -> MethodConfig | None:
    if "bonus" not in entry:
        return recipe
    bonus, path = entry["bonus"], ("methods", name, "bonus")
    if bonus not in BONUSES:
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
    """Where a hyperparameter's values are written."""
    return (*path, key) if key in given else (*path, "recipe", "hyperparameters", key)


def _is_inside(name: str, distribution: Distribution, path: Path, problems: Problems) -> bool:
    low, high = LIMITS.get(name, (-float("inf"), float("inf")))
    outside = [value for value in distribution.values if not low <= value <= high]
    for value in outside[:1]:
        problems.value(path, f"got {value:.10g}, allowed is a number from {low:g} to {high:.10g}")
    return not outside


def _try_ends(
    name: str, recipe: MethodConfig, space: dict[str, Distribution], entry: Plain, problems: Problems
) -> None:
    """Make a run of the lowest values and one of the highest: whatever a run refuses is refused here."""
    for end in (min, max):
        values = {key: end(distribution.values) for key, distribution in space.items()}
        try:
            make_run(GridWorldConfig(), name, TrainingConfig(), values, recipe=recipe)
        except UserError as error:
            inside, text = split_message(str(error), entry)
            problems.value(("methods", name, *inside), text)
            return
