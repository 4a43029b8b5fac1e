"""The differences between a spec and the one that a sweep was launched with."""

from typing import Any

from mulex.learners.registry import why_not_longer
from mulex.learners.run_config import LearnerConfig
from mulex.messages import shown
from sweeps.spec.models import Spec

Plain = dict[str, Any]
_NOTHING = object()


def differences(old: Spec, new: Spec) -> tuple[list[str], list[str]]:
    """Return what a new spec adds (draws, seeds, methods, worlds, iterations), and what it changes or takes away.

    The name and the execution are not compared: they decide no outcome.
    """
    added, changed = _search(old, new)
    for section in ("worlds", "methods"):
        before, after = getattr(old, section), getattr(new, section)
        added += [f"{section}.{name}: new" for name in after if name not in before]
        changed += [f"{section}.{name}: taken away" for name in before if name not in after]
    longer, refused = _lengths(old, new)
    return added + longer, changed + _worlds(old, new) + _training(old, new) + refused + _methods(old, new)


def _search(old: Spec, new: Spec) -> tuple[list[str], list[str]]:
    before, after = _seeds(old), _seeds(new)
    seeds = _compare("search.first_seed", before.start, after.start) + _compare("search.seeds", len(before), len(after))
    draws = _compare("search.draws", old.search.draws, new.search.draws)
    changed = _compare("search.algorithm", old.search.algorithm, new.search.algorithm)
    changed += _compare("search.seed", old.search.seed, new.search.seed)
    if old.search.until and new.search.until:
        both = [search.until.model_dump(exclude={"first"}) for search in (old.search, new.search) if search.until]
        changed += _compare("search.until", *both)
    added: list[str] = []
    (added if new.search.draws > old.search.draws else changed).extend(draws)
    (added if after.start <= before.start and before.stop <= after.stop else changed).extend(seeds)
    return added, changed


def _seeds(spec: Spec) -> range:
    return range(spec.search.first_seed, spec.search.first_seed + spec.search.seeds)


def _worlds(old: Spec, new: Spec) -> list[str]:
    worlds = [{name: spec.world(name).model_dump(mode="json") for name in spec.worlds} for spec in (old, new)]
    return [
        line for name in old.worlds if name in new.worlds for line in _compare(f"worlds.{name}", *_of(name, worlds))
    ]


def _training(old: Spec, new: Spec) -> list[str]:
    """Compare the training in each world; what changed in all of them is listed once."""
    others = {"iterations", "grown_from"}  # see _lengths
    return _once(
        {
            name: _compare(
                "training", *(s.training_in(name).model_dump(mode="json", exclude=others) for s in (old, new))
            )
            for name in old.worlds
            if name in new.worlds
        }
    )


def _once(by_world: dict[str, list[str]]) -> list[str]:
    """Return the lines of all worlds; those that all have are listed once."""
    first = next(iter(by_world.values()), [])
    common = [line for line in first if all(line in lines for lines in by_world.values())]
    return common + [f"worlds.{name}.{line}" for name in by_world for line in by_world[name] if line not in common]


def _lengths(old: Spec, new: Spec) -> tuple[list[str], list[str]]:
    """Return the iterations that grow, and those that cannot: they shrink, or nothing was kept to go on from."""
    longer, refused = {}, {}
    for name in [name for name in old.worlds if name in new.worlds]:
        before, after = old.training_in(name), new.training_in(name)
        lines = _compare("training.iterations", before.iterations, after.iterations)
        why = _why_not_longer(old, before.iterations, after.iterations)
        longer[name] = [] if why else lines
        refused[name] = [f"{line} ({why})" for line in lines] if why else []
        if after.grown_from != before.grown_from and (why or after.grown_from != before.iterations):
            refused[name] += _compare("training.grown_from", before.grown_from, after.grown_from)
    return _once(longer), _once(refused)


def _why_not_longer(old: Spec, before: int, after: int) -> str:
    """Say why runs of an old spec cannot have another length; nothing if they can."""
    if after < before:
        return "runs cannot become shorter"
    if after > before and not old.execution.keep_checkpoints:
        return "runs can go on only if execution.keep_checkpoints was true when they were trained"
    return _learner_that_ends(old) if after > before else ""


def _learner_that_ends(spec: Spec) -> str:
    """Name the first external learner whose finished runs cannot go on, and say why not."""
    for name, method in spec.methods.items():
        if isinstance(method.recipe, LearnerConfig) and (why := why_not_longer(method.recipe.name)):
            return f"runs of {name} cannot go on: its learner {why}"
    return ""


def _methods(old: Spec, new: Spec) -> list[str]:
    methods = [spec.resolved()["methods"] for spec in (old, new)]
    return [
        line for name in old.methods if name in new.methods for line in _compare(f"methods.{name}", *_of(name, methods))
    ]


def _of(name: str, both: list[Plain]) -> tuple[Any, Any]:
    return both[0][name], both[1][name]


def _compare(path: str, old: Any, new: Any) -> list[str]:
    """Return `path: old -> new` for every difference; mappings with a common key are compared key by key."""
    if old == new:
        return []
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() & new.keys():
        keys = dict.fromkeys((*old, *new))
        return [
            line for key in keys for line in _compare(f"{path}.{key}", old.get(key, _NOTHING), new.get(key, _NOTHING))
        ]
    return [f"{path}: {_said(old)} -> {_said(new)}"]


def _said(value: Any) -> str:
    return "nothing" if value is _NOTHING else shown(value)
