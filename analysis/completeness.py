"""How much of a sweep there is: what came of what was planned, and what to say about it on a picture."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from analysis.planned import Plan, Planned

SCORED = ("done", "diverged")
"""A diverged run was trained and evaluated to its end, so its score counts."""
OUTCOMES = ("done", "diverged", "failed", "stopped", "nan")
COUNTS = (*OUTCOMES, "missing", "perhaps")


def outcome(runs: pd.DataFrame) -> pd.Series:
    """What became of each run: done, diverged, failed, stopped, or nan where it was trained but has no score."""
    known = runs["status"].where(runs["status"].isin([*SCORED, "stopped"]), "failed")
    return known.mask(runs["status"].isin(SCORED) & runs["score"].isna(), "nan")


@dataclass(frozen=True)
class Completeness:
    """By world and method: planned and each outcome, `missing` being what was planned and is not there.

    Of draws from few values, which may repeat each other and then are trained once, no more count as planned than
    surely are; the others are `perhaps` missing too.
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
        """These worlds."""
        return replace(self, counts=self.counts[self.counts["world"].isin(worlds)])

    def note(self) -> str:
        """What a picture says of a sweep that is not whole; nothing of one that is."""
        if self.scored == self.total and not self.perhaps:
            return ""
        sums = self.counts[["failed", "stopped", "nan"]].sum()
        words = {"failed": "failed", "stopped": "stopped early", "nan": "without a score"}
        others = [f"{sums[name]:,} {word}" for name, word in words.items() if sums[name]]
        most = ("at most " if self.perhaps else "") + f"{self.total + self.perhaps:,}"
        return f"{self.scored:,} of {most} runs" + (f" ({', '.join(others)})" if others else "")


def completeness(runs: pd.DataFrame, plan: Plan) -> Completeness:
    """Count what there is against what was planned."""
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
