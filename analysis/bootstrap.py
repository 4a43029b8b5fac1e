"""The bootstrap: draws are resampled with replacement, each with all its seeds; and the interval that all numbers have.

docs/statistics.md has the simulation by which both were chosen.

Letters: R runs, D draws, S the most seeds of a draw, B replicates.
"""

import zlib

import numpy as np

from sweeps.search.intervals import LEVEL, expanded

REPLICATES = 2000
__all__ = ["LEVEL", "REPLICATES", "by_draw", "expanded", "generator", "interval", "resample", "take", "weights"]


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return a generator of its own for these names, so that a method's interval does not depend on other methods."""
    return np.random.default_rng([seed, *[zlib.crc32(name.encode()) for name in names]])


def by_draw(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the runs of each draw (D, S), padded with -1, and how many runs each draw has (D,)."""
    _, code, seeds = np.unique(draws, return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    within = np.arange(len(code)) - np.repeat(np.cumsum(seeds) - seeds, seeds)
    table = np.full((len(seeds), seeds.max(initial=0)), -1)
    table[code[order], within] = order
    return table, seeds


def resample(draws: np.ndarray, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of the runs of resampled draws (B, D, S), -1 where a draw has fewer than S seeds.

    Seeds are not resampled: the spread of the draws' runs contains that of their seeds already.
    """
    table, _ = by_draw(draws)
    return np.asarray(table[rng.integers(0, len(table), size=(replicates, len(table)))])


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
