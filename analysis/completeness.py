"""How much of a sweep there is: the runs that it plans, what became of them, and what a picture says about it."""

import math
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from mulex.store.folder import Folder

if TYPE_CHECKING:
    from sweeps.search.space import Space
    from sweeps.spec import Spec

SCORED = ("done", "diverged")
"""A diverged run was trained and evaluated to its end, so its score counts."""
OUTCOMES = ("done", "diverged", "failed", "stopped", "nan")
COUNTS = (*OUTCOMES, "missing", "perhaps")


@dataclass(frozen=True)
class Planned:
    """The runs of one method in one world: how many draws for each seed, at most where they may repeat each other.

    A draw that repeats an earlier one gives the same runs, which are trained once.
    """

    draws: dict[int, int] = field(default_factory=dict)
    may_repeat: bool = False

    def runs(self, draws_there: int) -> tuple[int, int]:
        """How many are surely planned, given that draws which are there are no repeats, and how many at most."""
        most = sum(self.draws.values())
        sure = sum(min(draws, max(draws_there, 1)) for draws in self.draws.values())
        return sure if self.may_repeat else most, most

    def joined(self, other: "Planned") -> "Planned":
        """What two sweeps plan together; a run that both plan counts once."""
        seeds = {*self.draws, *other.draws}
        draws = {seed: max(self.draws.get(seed, 0), other.draws.get(seed, 0)) for seed in seeds}
        return Planned(draws, self.may_repeat or other.may_repeat)

    def plus(self, other: "Planned") -> "Planned":
        """What two sweeps plan whose draws are not the same."""
        seeds = {*self.draws, *other.draws}
        draws = {seed: self.draws.get(seed, 0) + other.draws.get(seed, 0) for seed in seeds}
        return Planned(draws, self.may_repeat or other.may_repeat)


PlannedCounts = dict[tuple[str, str], Planned]
"""What is planned, by world and method."""


def planned_counts(spec: "Spec", folder: Folder) -> PlannedCounts:
    """Count the runs that a spec plans; only draws of finite spaces, which may repeat each other, are made for it."""
    from sweeps.confirmation import read_confirmation
    from sweeps.search import make_search
    from sweeps.search.space import may_repeat as draws_may_repeat

    search = make_search(spec)
    finite = {name: space for name, space in search.spaces.items() if draws_may_repeat(space)}
    drawn = type(search)(search.seed, search.draws, finite).drawn(folder) if finite else {}
    seeds = range(spec.search.first_seed, spec.search.first_seed + spec.search.seeds)
    confirmation = read_confirmation(folder)
    counts: PlannedCounts = {}
    for method in spec.methods:
        draws, may_repeat = search.draws, False
        if method in finite:
            known = drawn[method]
            may_repeat = search.adaptive and len(known) < search.draws
            draws = min(search.draws, _size(finite[method])) if may_repeat else _distinct(known)
        for world in spec.worlds:
            tests = dict.fromkeys(confirmation.test_seeds, len(confirmation.of(world, method)))
            counts[world, method] = Planned(dict.fromkeys(seeds, draws) | tests, may_repeat)
    return counts


def _distinct(draws: Iterable[dict[str, Any]]) -> int:
    return len({tuple(sorted(values.items())) for values in draws})


def _size(space: "Space") -> int:
    """The most different draws that a space can have; conditions may leave fewer."""
    sizes = [len(set(d.values)) if d.kind in ("choice", "constant") else d.size for d in space.values() if d.is_finite]
    return math.prod(sizes) if len(sizes) == len(space) else sys.maxsize


def join_counts(counts: Iterable[PlannedCounts]) -> PlannedCounts:
    """What several sweeps plan together."""
    joined: PlannedCounts = {}
    for of_sweep in counts:
        for key, planned in of_sweep.items():
            joined[key] = planned.joined(joined[key]) if key in joined else planned
    return joined


def outcome(runs: pd.DataFrame) -> pd.Series:
    """What became of each run: done, diverged, failed, stopped, or nan where it was trained but has no score."""
    known = runs["status"].where(runs["status"].isin([*SCORED, "stopped"]), "failed")
    return known.mask(runs["status"].isin(SCORED) & runs["score"].isna(), "nan")


@dataclass(frozen=True)
class Completeness:
    """Counts by world and method: the planned runs, each outcome, and `missing` for planned runs without a result.

    Draws of a finite space may repeat each other and are then trained once. Where an adaptive search has not made all
    its draws yet, only those that are surely different count as planned; the others are counted as `perhaps`.
    """

    counts: pd.DataFrame
    is_planned: bool

    @property
    def total(self) -> int:
        """How many runs there should be."""
        return int(self.counts["planned"].sum())

    @property
    def perhaps(self) -> int:
        """How many more there may have to be."""
        return int(self.counts["perhaps"].sum())

    @property
    def scored(self) -> int:
        """How many runs the figures are made of."""
        return int(self.counts[list(SCORED)].to_numpy().sum())

    def only(self, worlds: Collection[str]) -> "Completeness":
        """The same for some of the worlds."""
        return replace(self, counts=self.counts[self.counts["world"].isin(worlds)])

    def note(self) -> str:
        """The note on a picture of an incomplete sweep; empty for a complete one."""
        if self.scored == self.total and not self.perhaps:
            return ""
        sums = self.counts[["failed", "stopped", "nan"]].sum()
        words = {"failed": "failed", "stopped": "stopped early", "nan": "without a score"}
        others = [f"{sums[name]:,} {word}" for name, word in words.items() if sums[name]]
        most = ("at most " if self.perhaps else "") + f"{self.total + self.perhaps:,}"
        return f"{self.scored:,} of {most} runs" + (f" ({', '.join(others)})" if others else "")


def completeness(runs: pd.DataFrame, plan: PlannedCounts) -> Completeness:
    """Count the runs that are there against those that are planned."""
    keys = list(dict.fromkeys([*plan, *zip(runs["world"], runs["method"], strict=True)]))
    tally = runs.groupby(["world", "method", "outcome"]).size().to_dict()
    draws = runs.groupby(["world", "method"])["draw"].nunique().to_dict()
    rows = []
    for key in keys:
        row: dict[str, Any] = {name: int(tally.get((*key, name), 0)) for name in OUTCOMES}
        there = sum(row.values())
        sure, most = plan.get(key, Planned()).runs(draws.get(key, 0))
        row |= {"missing": max(sure - there, 0), "perhaps": max(most - max(sure, there), 0)}
        rows.append({"world": key[0], "method": key[1], "planned": there + row["missing"], **row})
    return Completeness(pd.DataFrame(rows, columns=["world", "method", "planned", *COUNTS]), bool(plan))
