"""How a spec differs from the one that a sweep was launched with."""

from typing import Any

from sweeps.spec_models import Spec
from sweeps.spec_problems import shown

Plain = dict[str, Any]
_NOTHING = object()


def differences(old: Spec, new: Spec) -> tuple[list[str], list[str]]:
    """What was added (draws, seeds, methods, worlds), and what was changed or taken away otherwise.

    Names and execution do not count: they decide no outcome.
    """
    added, changed = _search(old, new)
    for section in ("worlds", "methods"):
        before, after = getattr(old, section), getattr(new, section)
        added += [f"{section}.{name}: new" for name in after if name not in before]
        changed += [f"{section}.{name}: taken away" for name in before if name not in after]
    return added, changed + _worlds(old, new) + _training(old, new) + _methods(old, new)


def _search(old: Spec, new: Spec) -> tuple[list[str], list[str]]:
    before, after = _seeds(old), _seeds(new)
    seeds = _compare("search.first_seed", before.start, after.start) + _compare("search.seeds", len(before), len(after))
    draws = _compare("search.draws", old.search.draws, new.search.draws)
    changed = _compare("search.algorithm", old.search.algorithm, new.search.algorithm)
    changed += _compare("search.seed", old.search.seed, new.search.seed)
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
    """What each world makes of it; what changed alike in all of them is said once."""
    by_world = {
        name: _compare("training", *(spec.training_in(name).model_dump(mode="json") for spec in (old, new)))
        for name in old.worlds
        if name in new.worlds
    }
    first = next(iter(by_world.values()), [])
    common = [line for line in first if all(line in lines for lines in by_world.values())]
    return common + [f"worlds.{name}.{line}" for name in by_world for line in by_world[name] if line not in common]


def _methods(old: Spec, new: Spec) -> list[str]:
    methods = [spec.resolved()["methods"] for spec in (old, new)]
    return [
        line for name in old.methods if name in new.methods for line in _compare(f"methods.{name}", *_of(name, methods))
    ]


def _of(name: str, both: list[Plain]) -> tuple[Any, Any]:
    return both[0][name], both[1][name]


def _compare(path: str, old: Any, new: Any) -> list[str]:
    """`path: old -> new` for whatever differs; mappings are gone into where they have a key in common."""
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
