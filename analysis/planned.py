"""What a sweep plans: how many runs of each method in each world, from its spec and the draws it wrote down."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from analysis.places import Place

SPEC = "spec.yaml"
NO_HYPERPARAMETERS = ("recipe", "bonus")


@dataclass(frozen=True)
class Planned:
    """The runs of one method in one world: by seed how many draws, at most where they may repeat each other.

    A draw that repeats an earlier one gives the same runs, which are trained once.
    """

    draws: dict[int, int] = field(default_factory=dict)
    may_repeat: bool = False

    def runs(self, draws_there: int) -> tuple[int, int]:
        """How many are surely planned, as draws that are there are no repeats, and how many at most."""
        most = sum(self.draws.values())
        sure = sum(min(draws, max(draws_there, 1)) for draws in self.draws.values())
        return sure if self.may_repeat else most, most

    def joined(self, other: "Planned") -> "Planned":
        """What both sweeps plan is planned once."""
        seeds = {*self.draws, *other.draws}
        draws = {seed: max(self.draws.get(seed, 0), other.draws.get(seed, 0)) for seed in seeds}
        return Planned(draws, self.may_repeat or other.may_repeat)


Plan = dict[tuple[str, str], Planned]
"""By world and method."""


def read_plan(place: Place) -> tuple[Plan, str]:
    """What a sweep plans, nothing where its spec does not say, and the spec as text."""
    if not place.exists(SPEC):
        return {}, ""
    text = place.read(SPEC).decode(errors="replace")
    try:
        return _plan(place, YAML(typ="safe", pure=True).load(text)), text
    except (YAMLError, KeyError, TypeError, ValueError, AttributeError):
        return {}, text


def join_plans(plans: Iterable[Plan]) -> Plan:
    """Of sweeps that are looked at together."""
    joined: Plan = {}
    for plan in plans:
        for key, runs in plan.items():
            joined[key] = runs.joined(joined[key]) if key in joined else runs
    return joined


def _plan(place: Place, spec: dict[str, Any]) -> Plan:
    search = spec["search"]
    first = int(search.get("first_seed", 0))
    plan: Plan = {}
    for method, space in spec["methods"].items():
        draws, may_repeat = _draws(place, str(method), space or {}, int(search["draws"]))
        seeds = dict.fromkeys(range(first, first + int(search["seeds"])), draws)
        plan |= {(str(world), str(method)): Planned(seeds, may_repeat) for world in spec["worlds"]}
    return plan


def _draws(place: Place, method: str, space: dict[str, Any], draws: int) -> tuple[int, bool]:
    """How many different draws of a method there are, and whether that is only known to be no more."""
    values = math.prod(_values(drawn) for name, drawn in space.items() if name not in NO_HYPERPARAMETERS)
    if values == math.inf:
        return draws, False
    written = f"draws/{method}.json"
    known = json.loads(place.read(written)) if place.exists(written) else []
    if len(known) >= draws:
        return len({json.dumps(point, sort_keys=True) for point in known[:draws]}), False
    return min(draws, int(values)), True


def _values(drawn: Any) -> float:
    """How many values a hyperparameter can take."""
    match drawn:
        case {"choice": values}:
            return len(set(values))
        case {"int_uniform": [low, high]}:
            return int(high) - int(low) + 1
        case {"constant": _} | int() | float():
            return 1
        case _:
            return math.inf
