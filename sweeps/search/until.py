"""Draws until an interval is narrow enough, with the repeated looking accounted for.

The looks are planned: at the first number of draws, at twice as many, and so on up to `max_draws`. The 5 % by which an
interval may miss are shared equally among them, so each interval has the level 1 - 0.05 / looks. Whenever the search
stops, the interval that it stops with holds with at least 95 %.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mulex.streams import stream_key
from sweeps.search.intervals import LEVEL, expanded

if TYPE_CHECKING:
    import numpy as np

    from sweeps.spec.models import Search, Until

REPLICATES = 4000
Scores = Mapping[tuple[str, str], Mapping[int, list[float]]]
"""By world and method, the scores of each draw's seeds."""


@dataclass(frozen=True)
class Look:
    """What a look at a sweep found: the interval of every method in every world."""

    draws: int
    intervals: dict[tuple[str, str], tuple[float, float]]

    @property
    def widest(self) -> tuple[str, str]:
        """The world and the method whose interval is widest."""
        return max(self.intervals, key=lambda key: self.intervals[key][1] - self.intervals[key][0])

    @property
    def width(self) -> float:
        """The width of the widest interval."""
        low, high = self.intervals[self.widest]
        return high - low


def planned_looks(first: int, most: int) -> list[int]:
    """Return the numbers of draws at which a search looks."""
    looks = [first]
    while looks[-1] < most:
        looks.append(min(2 * looks[-1], most))
    return looks


def level_of(search: "Search") -> float:
    """Return the level of an interval that holds with 95 % although a search looks at its draws several times."""
    if search.until is None:
        return LEVEL
    return _level(search.until.first or search.draws, search.until.max_draws)


def _level(first: int, most: int) -> float:
    return 1 - (1 - LEVEL) / len(planned_looks(first, most))


def look(scores: Scores, until: "Until", first: int, draws: int) -> Look:
    """Measure every method in every world; one without two draws has an endless interval."""
    level = _level(first, until.max_draws)
    found = {}
    for (world, method), by_draw in scores.items():
        seed = stream_key(f"{world}/{method}", f"look {draws}") % 2**32
        found[world, method] = interval(list(by_draw.values()), until.measure, level, seed)
    return Look(draws, found)


def interval(by_draw: Iterable[list[float]], measure: str, level: float, seed: int) -> tuple[float, float]:
    """Return the interval of a measure of all scores, by a bootstrap over draws, each with all its seeds."""
    import numpy as np

    draws = list(by_draw)
    if len(draws) < 2:
        return -math.inf, math.inf
    seeds = max(map(len, draws))
    table = np.array([of + [math.nan] * (seeds - len(of)) for of in draws])  # (D, S)
    picked = np.random.default_rng(seed).integers(0, len(draws), (REPLICATES, len(draws)))
    samples = _measured(table[picked].reshape(REPLICATES, -1), measure)
    low, high = np.quantile(samples, expanded(len(draws), level))
    return float(low), float(high)


def _measured(samples: "np.ndarray", measure: str) -> "np.ndarray":
    """Return a measure of samples (B, N), NaN where a draw has fewer seeds."""
    import numpy as np

    if measure == "mean":
        return np.asarray(np.nanmean(samples, axis=1))
    if measure == "median":
        return np.asarray(np.median(samples, axis=1) if np.isfinite(samples).all() else np.nanmedian(samples, axis=1))
    ordered, n = np.sort(samples, axis=1), np.isfinite(samples).sum(axis=1, keepdims=True)
    rank = np.arange(samples.shape[1])
    inside = (rank >= n // 4) & (rank < n - n // 4)
    return np.asarray(np.where(inside, ordered, 0.0).sum(axis=1) / inside.sum(axis=1))
