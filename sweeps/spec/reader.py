"""Reads the tree of a spec into the models, or reports all of its problems."""

from typing import Any

from mulex.config import GymWorldConfig, TrainingConfig
from mulex.messages import Path, shown, unknown
from mulex.settings import digest
from sweeps.search import SEARCHES
from sweeps.spec.allowed_values import allowed, schema_at
from sweeps.spec.code_reader import code_of_world, locate_code, modules_in, read_code_folder
from sweeps.spec.execution import Execution
from sweeps.spec.learner_reader import check_training
from sweeps.spec.method_reader import read_method
from sweeps.spec.models import (
    MOST_RUNS,
    NAME,
    NAME_ALLOWED,
    GridWorldSpec,
    GymWorldSpec,
    Search,
    Spec,
    WorldSpec,
)
from sweeps.spec.settings_reader import Problems, read_settings
from sweeps.spec.yaml_reader import Tree

Plain = dict[str, Any]


def read_tree(tree: Tree) -> Spec:
    """Return the spec, or raise a SpecError with every problem."""
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
        locate_code(plain, problems)
        training = read_settings(TrainingConfig, plain.get("training", {}), ("training",), problems)
        self.read: Plain = {
            "name": self._name(),
            "training": training,
            "search": read_settings(Search, plain.get("search", {}), ("search",), problems),
            "execution": read_settings(Execution, plain.get("execution", {}), ("execution",), problems),
            "worlds": {name: self._world(name, entry, training) for name, entry in self._entries("worlds")},
            "methods": {
                name: read_method(name, entry, training, problems, plain.get("execution"))
                for name, entry in self._entries("methods")
            },
        }
        self._check_oracles()
        self._check_twins()
        check_training(self.read["training"], self.read["methods"], problems)
        self._check_columns()
        if self.read["search"] and all(self.read["methods"].values()):
            self._check_search()

    def _name(self) -> str | None:
        name = self.plain.get("name")
        if "name" not in self.plain:
            self.problems.key(("name",), f"missing, needed is a name of {NAME_ALLOWED}")
        elif not isinstance(name, str) or not NAME.fullmatch(name):
            self.problems.value(("name",), f"got {shown(name)}, allowed are {NAME_ALLOWED}")
        return name

    def _entries(self, section: str) -> list[tuple[str, Any]]:
        """Return the worlds or the methods by name."""
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
        return world.model_copy(update={"training": overrides, **self._code(world)}) if world else None

    def _code(self, world: WorldSpec) -> Plain:
        """Name the code that a world's environment is in; a resolved spec has it already."""
        if not isinstance(world, GymWorldConfig) or world.code:
            return {}
        modules = modules_in([world.id, *world.wrappers])
        code = read_code_folder(self.plain.get("execution"), self.problems) if modules else None
        return {"code": code_of_world(modules, code)}

    def _overrides(self, plain: Any, path: Path, training: TrainingConfig | None) -> Plain:
        """Check a world's own training settings together with the training that they change."""
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
        """Refuse two equal worlds: their runs would be the same, and trained once."""
        training = self.read["training"]
        known: dict[str, str] = {}
        for name, world in self.read["worlds"].items():
            if world and training:
                own = {**training.model_dump(mode="json"), **world.training}
                first = known.setdefault(digest([world.model_dump(mode="json", exclude={"training"}), own]), name)
                if first != name:
                    self.problems.key(("worlds", name), f"the same world as {first!r}; change it, or leave it out")

    def _check_columns(self) -> None:
        """Check that a name has values of one type in all methods: the tables have one column for it."""
        first: dict[str, tuple[str, type]] = {}
        for method in (method for method in self.read["methods"] if self.read["methods"][method]):
            for key, distribution in self.read["methods"][method].space.items():
                other, kind = first.setdefault(key, (method, type(distribution.values[0])))
                if kind is not type(distribution.values[0]):
                    words = {float: "a number", str: "a text", bool: "true or false"}
                    here = words[type(distribution.values[0])]
                    text = f"is {here}, but {words[kind]} in {other}: no column of the tables can hold both"
                    self.problems.key(("methods", method, key), text)

    def _check_search(self) -> None:
        """Check that the search can draw from every space, how many draws there are, and how many runs they make."""
        settings, methods = self.read["search"], self.read["methods"]
        search, noted = SEARCHES[settings.algorithm], len(self.problems)
        for name, method in methods.items():
            for key, text in search.problems(method.space):
                self.problems.key(("methods", name, key) if key else ("methods", name), text)
        if len(self.problems) > noted or not methods:
            return
        sizes = [search.size(method.space, settings.draws) for method in methods.values()]
        if max(sizes) != settings.draws:
            if "draws" in self.plain["search"]:
                text = (
                    f"got {settings.draws:,}, but the {settings.algorithm} has {max(sizes):,} points; leave draws out"
                )
                self.problems.value(("search", "draws"), text)
            self.read["search"] = settings.model_copy(update={"draws": max(sizes)})
        if (count := sum(sizes) * settings.seeds * len(self.read["worlds"])) > MOST_RUNS:
            self.problems.value(("search",), f"got {count:,} runs in all, allowed are {MOST_RUNS:,}")
