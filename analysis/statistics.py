"""How robust each method is: what its scores come to, with intervals, by world."""

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import REPLICATES, generator, interval, resample, take
from analysis.measures import MEASURES, beats, best_rows, draw_means, first_at_ideal, variance_parts
from analysis.tables import Tables

CHUNK = 100
UNSCORED = ("failed", "stopped", "nan")


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval; infinite means not within the training."""

    value: float
    low: float
    high: float

    def plain(self) -> dict[str, float | None]:
        """For JSON, where what is not finite is null."""
        return {key: x if math.isfinite(x) else None for key, x in vars(self).items()}


@dataclass(frozen=True)
class MethodStatistics:
    """One method in one world."""

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

    def plain(self) -> dict[str, Any]:
        """For JSON; iterations_to_ideal is null where the world has no ideal, its value where it is never reached."""
        ideal = self.iterations_to_ideal
        return {
            **{key: getattr(self, key) for key in ("world", "method", "runs", "draws")},
            **{name: estimate.plain() for name, estimate in self.measures.items()},
            "variance_draws": self.variance_draws,
            "variance_seeds": self.variance_seeds,
            "iterations_to_ideal": None if ideal is None else {**ideal.plain(), "censored_at": self.iterations},
            "best_runs": self.best_runs,
        }


@dataclass(frozen=True)
class Comparison:
    """How often a random draw of one method beats one of another in a world."""

    world: str
    method: str
    other: str
    probability: Estimate


@dataclass(frozen=True)
class Statistics:
    """Everything `mulex stats` shows."""

    score: str
    seed: int
    replicates: int
    methods: list[MethodStatistics]
    comparisons: list[Comparison]
    counts: pd.DataFrame
    unscored: list[dict[str, Any]] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "score": self.score,
            "seed": self.seed,
            "replicates": self.replicates,
            "methods": [method.plain() for method in self.methods],
            "beats": [{**vars(pair), "probability": pair.probability.plain()} for pair in self.comparisons],
            "counts": self.counts.to_dict("records"),
            "unscored": self.unscored,
        }


def compute_statistics(tables: Tables, seed: int = 0, replicates: int = REPLICATES) -> Statistics:
    """Every measure of every method and world, and every pair of methods, from one resampling of each method."""
    methods, comparisons = [], []
    means: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    for world, method, runs in tables.groups():
        rows = resample(runs["draw"].to_numpy(), replicates, generator(seed, world, method))
        normalised = tables.curves["normalised_return"][runs.index]
        methods.append(_method(world, method, runs, rows, normalised))
        scores = runs["score"].to_numpy()
        resampled = np.nanmean(take(scores, rows), axis=2)
        means.setdefault(world, {})[method] = (draw_means(runs["draw"].to_numpy(), scores), resampled)
    for world, of_method in means.items():
        for other, one in combinations(of_method, 2):
            comparisons.append(Comparison(world, one, other, probability_to_beat(of_method[one], of_method[other])))
    counts = tables.complete.counts
    return Statistics(tables.score_name, seed, replicates, methods, comparisons, counts, unscored_runs(tables))


def unscored_runs(tables: Tables) -> list[dict[str, Any]]:
    """The runs that count in no statistic, and why."""
    left_out = tables.runs[tables.runs["outcome"].isin(UNSCORED)]
    named = left_out[["run", "world", "method", "draw", "seed", "outcome", "error"]].astype(object)
    return [
        {str(key): value if pd.notna(value) else None for key, value in row.items()} for row in named.to_dict("records")
    ]


def _method(world: str, method: str, runs: pd.DataFrame, rows: np.ndarray, normalised: np.ndarray) -> MethodStatistics:
    draws, scores = runs["draw"].to_numpy(), runs["score"].to_numpy()
    samples = take(scores, rows).reshape(len(rows), -1)
    measures = {name: estimate(float(measure(scores)[0]), measure(samples)) for name, measure in MEASURES.items()}
    between, within = variance_parts(draws, scores)
    chosen = best_rows(scores)
    ideal = _to_ideal(scores, normalised, rows) if np.isfinite(normalised).any() else None
    n_draws = len(np.unique(draws))
    longest = int(np.isfinite(normalised).any(axis=0).sum()) if ideal else 0
    return MethodStatistics(world, method, len(runs), n_draws, measures, between, within, ideal, len(chosen), longest)


def estimate(value: float, samples: np.ndarray) -> Estimate:
    """With the samples' 95 % percentile interval."""
    low, high = interval(samples)
    return Estimate(value, float(low), float(high))


def probability_to_beat(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> Estimate:
    """How often a draw of one method is above one of another: each is its draws' means (D,), and resampled (B, D)."""
    value = float(beats(one[0][None], other[0][None])[0])
    return estimate(value, beats(one[1], other[1]))


def _to_ideal(scores: np.ndarray, normalised: np.ndarray, rows: np.ndarray) -> Estimate:
    """The best runs are chosen anew in each replicate, as they were in the sweep."""
    value = first_at_ideal(normalised[best_rows(scores)].mean(axis=0, keepdims=True))[0]
    flat, n = rows.reshape(len(rows), -1), len(best_rows(scores))
    samples = []
    for start in range(0, len(flat), CHUNK):
        part = flat[start : start + CHUNK]
        order = np.argpartition(-np.where(part >= 0, scores[part], -np.inf), n - 1, axis=1)
        chosen = np.take_along_axis(part, order[:, :n], axis=1)
        there = (chosen >= 0)[..., None]
        samples.append(first_at_ideal(np.where(there, normalised[chosen], 0.0).sum(axis=1) / there.sum(axis=1)))
    low, high = np.quantile(np.concatenate(samples), [0.025, 0.975], method="inverted_cdf")
    return Estimate(float(value), float(low), float(high))
