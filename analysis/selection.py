"""Confirmed draws: what the best draws of a method score with test seeds, and by how much their tuned scores were high.

A draw was chosen by its tuned score, which is a fact. What is uncertain is its score with other seeds, so the interval
of the difference is that of the confirmed score.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.errors import NotApplicableError
from analysis.estimates import Estimate, mean_estimate
from analysis.tables import Tables


@dataclass(frozen=True)
class ConfirmedDraw:
    """A draw with its mean score over the tuning seeds and over the test seeds."""

    draw: int
    tuned: float
    tune_seeds: int
    scores: np.ndarray  # (S,) of the test seeds

    @property
    def confirmed(self) -> Estimate:
        """The mean score over test seeds."""
        return mean_estimate([self.scores])

    @property
    def bias(self) -> Estimate:
        """The tuned score less the confirmed one."""
        return less(self.tuned, self.confirmed)


@dataclass(frozen=True)
class Confirmed:
    """The confirmed draws of a method in a world, the one with the highest tuned score first."""

    world: str
    method: str
    draws: list[ConfirmedDraw]

    @property
    def bias(self) -> Estimate:
        """The selection bias: the tuned score less the confirmed one, on average over the confirmed draws."""
        tuned = float(np.mean([one.tuned for one in self.draws]))
        return less(tuned, mean_estimate([one.scores for one in self.draws]))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each draw."""
        place = {"world": self.world, "method": self.method}
        return [
            {
                **place,
                "rank": rank,
                "draw": one.draw,
                "tuned": one.tuned,
                "confirmed": one.confirmed.value,
                "low": one.confirmed.low,
                "high": one.confirmed.high,
                "bias": one.bias.value,
                "bias_low": one.bias.low,
                "bias_high": one.bias.high,
                "tune_seeds": one.tune_seeds,
                "test_seeds": len(one.scores),
            }
            for rank, one in enumerate(self.draws, start=1)
        ]

    def plain(self) -> dict[str, Any]:
        """Return it for JSON, with null for intervals that there are not."""
        rows = [{k: None if isinstance(x, float) and np.isnan(x) else x for k, x in row.items()} for row in self.rows()]
        return {"world": self.world, "method": self.method, "bias": self.bias.plain(), "draws": rows}


def less(value: float, estimate: Estimate) -> Estimate:
    """Return a known value less an estimate."""
    return Estimate(value - estimate.value, value - estimate.high, value - estimate.low)


def confirmed(tables: Tables) -> list[Confirmed]:
    """Return the confirmed draws of each method and world.

    Raises:
        NotApplicableError: No draw has both tuning runs and test runs with a score.
    """
    tests = dict(list(tables.tested.groupby(["world", "method"])))
    found = [
        Confirmed(world, method, draws)
        for world, method, runs in tables.groups()
        if (world, method) in tests and (draws := _draws(runs, tests[world, method]))
    ]
    if not found:
        raise NotApplicableError("confirmed: there are no test runs; mulex confirm trains them")
    return found


def _draws(tuning: pd.DataFrame, tests: pd.DataFrame) -> list[ConfirmedDraw]:
    draws = []
    for draw in tests["draw"].unique().tolist():
        tuned, scores = (of.loc[of["draw"] == draw, "score"].to_numpy(dtype=float) for of in (tuning, tests))
        if len(tuned):
            draws.append(ConfirmedDraw(draw, float(tuned.mean()), len(tuned), scores))
    return sorted(draws, key=lambda one: (-one.tuned, one.draw))
