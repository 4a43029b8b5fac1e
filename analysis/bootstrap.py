"""The bootstrap: draws are resampled with replacement, each with all its seeds; and the interval that all numbers have.

docs/statistics.md has the simulation by which both were chosen.

Letters: R runs, D draws, S the most seeds of a draw, B replicates.
"""

import zlib
from collections.abc import Iterator

import numpy as np

from sweeps.search.intervals import LEVEL, expanded

REPLICATES = 2000
AT_ONCE = 2**20
"""Values of replicates that are in memory at a time: 8 MB of numbers."""
__all__ = [
    "LEVEL",
    "REPLICATES",
    "by_draw",
    "expanded",
    "generator",
    "interval",
    "resample",
    "resample_some",
    "resampled_means",
    "take",
    "weights",
]


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return a generator of its own for these names, so that a method's interval does not depend on other methods."""
    return np.random.default_rng([seed, *[zlib.crc32(name.encode()) for name in names]])


def by_draw(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the runs of each draw (D, S), padded with -1, and how many runs each draw has (D,)."""
    _, code, seeds = np.unique(draws, return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    within = np.arange(len(code)) - np.repeat(np.cumsum(seeds) - seeds, seeds)
    table = np.full((len(seeds), seeds.max(initial=0)), -1, np.int32)
    table[code[order], within] = order
    return table, seeds


def resample(draws: np.ndarray, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of the runs of resampled draws (B, D, S), -1 where a draw has fewer than S seeds.

    Seeds are not resampled: the spread of the draws' runs contains that of their seeds already.
    """
    return np.concatenate(list(resample_some(draws, replicates, rng)))


def resample_some(draws: np.ndarray, replicates: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the same rows for some of the replicates at a time (b, D, S), so that memory does not grow with the runs.

    How many replicates come at a time changes no number: the generator goes on where it was.
    """
    table, _ = by_draw(draws)
    most = max(1, AT_ONCE // max(1, table.size))
    for start in range(0, replicates, most):
        picked = rng.integers(0, len(table), size=(min(most, replicates - start), len(table)))
        yield np.asarray(table[picked])


def resampled_means(draws: np.ndarray, values: np.ndarray, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """Return the mean over runs of values (R, ...) in every replicate (B, ...)."""
    parts = [weights(rows, len(values)) @ values for rows in resample_some(draws, replicates, rng)]
    return np.concatenate(parts)


def take(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the values at these rows, NaN where the row is -1."""
    return np.where(rows >= 0, values[rows], np.nan)


def weights(rows: np.ndarray, runs: int) -> np.ndarray:
    """Return the share of each run in each replicate (B, R); each row sums to 1."""
    flat = rows.reshape(len(rows), -1)
    replicate = np.repeat(np.arange(len(rows)), flat.shape[1]).reshape(flat.shape)
    known = flat >= 0
    counts = np.bincount(replicate[known] * runs + flat[known], minlength=len(rows) * runs).reshape(len(rows), runs)
    return counts / counts.sum(axis=1, keepdims=True)


def interval(
    samples: np.ndarray, draws: int, whole: bool = False, level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval of what was measured on so many draws; one draw has none, and both ends are NaN.

    Args:
        samples: The values of the bootstrap's replicates (B, ...).
        draws: How many draws there are; of two methods, of the one that has fewer.
        whole: Whether the ends must be values of the samples, which may then be infinite.
        level: The level of the interval; 95 % unless the sweep looked at its draws several times.
    """
    if draws < 2:
        unknown = np.full(samples.shape[1:], np.nan)
        return unknown, unknown
    low, high = np.quantile(samples, expanded(draws, level), axis=0, method="inverted_cdf" if whole else "linear")
    return low, high
