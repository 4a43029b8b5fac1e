"""How robust each method is: measures of its scores in each world, with intervals."""

import math
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import LEVEL, REPLICATES, generator, interval, resample_some, take
from analysis.errors import NotApplicableError
from analysis.estimates import Estimate
from analysis.measures import MEASURES, beats, best_rows, draw_means, first_at_ideal, variance_parts
from analysis.one_setting import AcrossWorlds, across_worlds
from analysis.probability import newcombe
from analysis.selection import Confirmed, confirmed
from analysis.tables import Tables

CHUNK = 100
BEATS, CONFIRMED, BIAS, IDEAL = "probability_to_beat", "confirmed", "selection_bias", "iterations_to_ideal"
FRAME_COLUMNS = ["world", "method", "measure", "other", "value", "low", "high", "runs", "draws"]
UNSCORED = ("failed", "stopped", "nan")


@dataclass(frozen=True)
class MethodStatistics:
    """The statistics of one method in one world."""

    world: str
    method: str
    runs: int
    draws: int
    measures: dict[str, Estimate]
    variance_draws: float | None
    variance_seeds: float | None
    iterations_to_ideal: Estimate | None
    best_runs: int
    iterations: int
    tested: bool = False
    """Whether the best runs are the test runs of the best draw, not the best ten of the tuning runs."""

    def plain(self) -> dict[str, Any]:
        """Return it for JSON: iterations_to_ideal is null without an ideal, its value if the ideal is never reached."""
        ideal = self.iterations_to_ideal
        return {
            **{key: getattr(self, key) for key in ("world", "method", "runs", "draws")},
            **{name: estimate.plain() for name, estimate in self.measures.items()},
            "variance_draws": self.variance_draws,
            "variance_seeds": self.variance_seeds,
            "iterations_to_ideal": None if ideal is None else {**ideal.plain(), "censored_at": self.iterations},
            "best_runs": self.best_runs,
            "best_runs_are_tests": self.tested,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure; the variances have no interval."""
        estimates = dict(self.measures)
        for name, variance in (("variance_draws", self.variance_draws), ("variance_seeds", self.variance_seeds)):
            if variance is not None:
                estimates[name] = Estimate(variance, math.nan, math.nan)
        if self.iterations_to_ideal is not None:
            estimates[IDEAL] = self.iterations_to_ideal
        size = {"runs": self.runs, "draws": self.draws}
        return [
            {"world": self.world, "method": self.method, "measure": name, **vars(estimate), **size}
            for name, estimate in estimates.items()
        ]


@dataclass(frozen=True)
class Comparison:
    """The probability that a random draw of one method beats one of another in a world."""

    world: str
    method: str
    other: str
    probability: Estimate


@dataclass(frozen=True)
class Statistics:
    """Everything that `mulex stats` shows."""

    score: str
    seed: int
    replicates: int
    methods: list[MethodStatistics]
    comparisons: list[Comparison]
    counts: pd.DataFrame
    unscored: list[dict[str, Any]] = field(default_factory=list)
    across: list[AcrossWorlds] = field(default_factory=list)
    """One setting for all worlds, where there are several."""
    confirmed: list[Confirmed] = field(default_factory=list)
    """The confirmed draws of each method and world, where there are test runs."""
    level: float = LEVEL
    """The level of the intervals over draws: above 95 % if a sweep looked at its draws several times."""

    def frame(self) -> pd.DataFrame:
        """Return one row for each world, method and measure; see `analysis.stats`."""
        rows = [row for method in self.methods for row in method.rows()]
        rows += [
            {
                "world": pair.world,
                "method": pair.method,
                "measure": BEATS,
                "other": pair.other,
                **vars(pair.probability),
            }
            for pair in self.comparisons
        ]
        rows += [row for one in self.confirmed for row in _confirmed_rows(one)]
        frame = pd.DataFrame(rows, columns=FRAME_COLUMNS)
        frame = frame.astype({"runs": "Int64", "draws": "Int64", **dict.fromkeys(("value", "low", "high"), "float64")})
        frame.attrs = {"score": self.score, "seed": self.seed, "replicates": self.replicates, "level": self.level}
        return frame

    def plain(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "score": self.score,
            "seed": self.seed,
            "replicates": self.replicates,
            "level": self.level,
            "methods": [method.plain() for method in self.methods],
            "beats": [{**vars(pair), "probability": pair.probability.plain()} for pair in self.comparisons],
            "counts": self.counts.to_dict("records"),
            "unscored": self.unscored,
            "across_worlds": [one.plain() for one in self.across],
            "confirmed": [one.plain() for one in self.confirmed],
        }


def compute_statistics(tables: Tables, seed: int = 0, replicates: int = REPLICATES) -> Statistics:
    """Compute all measures of all methods and worlds, and all pairs of methods, from one resampling of each method."""
    methods, comparisons = [], []
    means: dict[str, dict[str, np.ndarray]] = {}
    try:
        tested = confirmed(tables)
    except NotApplicableError:
        tested = []
    for world, method, runs in tables.groups():
        normalised = tables.matrices["normalised_return"][runs.index]
        names = [n for n in MEASURES if n != "optimality_gap" or tables.score_names[world].startswith("Normalised")]
        found = _method(world, method, runs, normalised, names, tables.level, seed, replicates)
        methods.append(_with_tests(found, tables, tested, seed, replicates))
        means.setdefault(world, {})[method] = draw_means(runs["draw"].to_numpy(), runs["score"].to_numpy())
    for world, of_method in means.items():
        for other, one in combinations(of_method, 2):
            probability = probability_to_beat(of_method[one], of_method[other], tables.level)
            comparisons.append(Comparison(world, one, other, probability))
    try:
        across = across_worlds(tables)
    except NotApplicableError:
        across = []
    counts, unscored = tables.complete.counts, unscored_runs(tables)
    parts = methods, comparisons, counts, unscored, across, tested
    return Statistics(tables.score_name, seed, replicates, *parts, tables.level)


def _confirmed_rows(one: Confirmed) -> list[dict[str, Any]]:
    """Return the confirmed score of the best draw and the selection bias as rows of the frame."""
    best, runs = one.draws[0], sum(len(draw.scores) for draw in one.draws)
    place = {"world": one.world, "method": one.method}
    return [
        {**place, "measure": CONFIRMED, **vars(best.confirmed), "runs": len(best.scores), "draws": 1},
        {**place, "measure": BIAS, **vars(one.bias), "runs": runs, "draws": len(one.draws)},
    ]


def _with_tests(
    found: MethodStatistics, tables: Tables, tested: list[Confirmed], seed: int, replicates: int
) -> MethodStatistics:
    """Take the iterations to the ideal from the test runs of the best draw, where there are any."""
    best = next((one.draws[0] for one in tested if (one.world, one.method) == (found.world, found.method)), None)
    if best is None or found.iterations_to_ideal is None:
        return found
    runs = tables.tested
    runs = runs[(runs["world"] == found.world) & (runs["method"] == found.method) & (runs["draw"] == best.draw)]
    curves = tables.matrices["normalised_return"][runs.index]
    picked = generator(seed, found.world, found.method, "tests").integers(0, len(runs), (replicates, len(runs)))
    samples = np.concatenate([first_at_ideal(curves[part].mean(axis=1)) for part in np.array_split(picked, 20)])
    low, high = interval(samples, len(runs), whole=True)
    ideal = Estimate(float(first_at_ideal(curves.mean(axis=0, keepdims=True))[0]), float(low), float(high))
    return replace(found, iterations_to_ideal=ideal, best_runs=len(runs), tested=True)


def unscored_runs(tables: Tables) -> list[dict[str, Any]]:
    """Return the runs that count in no statistic, and why."""
    left_out = tables.runs[tables.runs["outcome"].isin(UNSCORED)]
    named = left_out[["run", "world", "method", "draw", "seed", "outcome", "error"]].astype(object)
    return [
        {str(key): value if pd.notna(value) else None for key, value in row.items()} for row in named.to_dict("records")
    ]


def _method(
    world: str,
    method: str,
    runs: pd.DataFrame,
    normalised: np.ndarray,
    names: list[str],
    level: float,
    seed: int,
    replicates: int,
) -> MethodStatistics:
    draws, scores = runs["draw"].to_numpy(), runs["score"].to_numpy()
    n_draws, has_curves = len(np.unique(draws)), bool(np.isfinite(normalised).any())
    samples = {name: np.empty(replicates) for name in [*names, IDEAL]}
    start = 0
    for rows in resample_some(draws, replicates, generator(seed, world, method)):
        flat, some = rows.reshape(len(rows), -1), slice(start, start + len(rows))
        values = take(scores, flat)
        for name in names:
            samples[name][some] = MEASURES[name](values)
        if has_curves:
            samples[IDEAL][some] = _at_ideal(scores, normalised, flat)
        start += len(rows)
    measures = {name: estimate(float(MEASURES[name](scores)[0]), samples[name], n_draws, level) for name in names}
    between, within = variance_parts(draws, scores)
    chosen = best_rows(scores)
    ideal = _to_ideal(scores, normalised, samples[IDEAL], n_draws, level) if has_curves else None
    longest = int(np.isfinite(normalised).any(axis=0).sum()) if ideal else 0
    return MethodStatistics(world, method, len(runs), n_draws, measures, between, within, ideal, len(chosen), longest)


def estimate(value: float, samples: np.ndarray, draws: int, level: float = LEVEL) -> Estimate:
    """Return a value that was measured on so many draws, with the interval of its samples (B,)."""
    low, high = interval(samples, draws, level=level)
    return Estimate(value, float(low), float(high))


def probability_to_beat(one: np.ndarray, other: np.ndarray, level: float = LEVEL) -> Estimate:
    """Return how often a draw of one method beats one of another, given the means of their draws, (D,) each.

    The interval is Newcombe's: where all draws of a method are ahead of all of the other, a bootstrap has no width.
    """
    value = float(beats(one[None], other[None])[0])
    if min(len(one), len(other)) < 2:
        return Estimate(value, math.nan, math.nan)
    return Estimate(value, *newcombe(value, len(one), len(other), level))


def _to_ideal(scores: np.ndarray, normalised: np.ndarray, samples: np.ndarray, draws: int, level: float) -> Estimate:
    """Return the iterations until the best runs' mean is ideal; each replicate chooses its best runs anew."""
    value = first_at_ideal(normalised[best_rows(scores)].mean(axis=0, keepdims=True))[0]
    low, high = interval(samples, draws, whole=True, level=level)
    return Estimate(float(value), float(low), float(high))


def _at_ideal(scores: np.ndarray, normalised: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the iterations until the mean of the best runs is ideal, for replicates with these rows (b, N)."""
    n, samples = len(best_rows(scores)), []
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        order = np.argpartition(-np.where(part >= 0, scores[part], -np.inf), n - 1, axis=1)
        chosen = np.take_along_axis(part, order[:, :n], axis=1)
        there = (chosen >= 0)[..., None]
        samples.append(first_at_ideal(np.where(there, normalised[chosen], 0.0).sum(axis=1) / there.sum(axis=1)))
    return np.concatenate(samples)
