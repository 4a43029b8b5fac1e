"""The two-level bootstrap: draws with replacement, then seeds with replacement within each draw that came up.

Letters: R runs, D draws, S the most seeds of a draw, B replicates.
"""

import zlib

import numpy as np

REPLICATES = 2000
LEVEL = 0.95


def generator(seed: int, *names: str) -> np.random.Generator:
    """A stream of its own for each name, so that one method's interval does not depend on which others there are."""
    return np.random.default_rng([seed, *[zlib.crc32(name.encode()) for name in names]])


def by_draw(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the runs of each draw (D, S), padded with -1, and how many each draw has (D,)."""
    _, code, seeds = np.unique(draws, return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    within = np.arange(len(code)) - np.repeat(np.cumsum(seeds) - seeds, seeds)
    table = np.full((len(seeds), seeds.max(initial=0)), -1)
    table[code[order], within] = order
    return table, seeds


def resample(draws: np.ndarray, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """Row numbers of resampled runs (B, D, S), -1 where a draw has fewer than S seeds."""
    table, seeds = by_draw(draws)
    d, s = table.shape
    picked = rng.integers(0, d, size=(replicates, d))
    seed = np.floor(rng.random((replicates, d, s)) * seeds[picked][..., None]).astype(np.intp)
    rows = table[picked[..., None], seed]
    return np.where(np.arange(s) < seeds[picked][..., None], rows, -1)


def take(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The values at these rows, not a number where the row is -1."""
    return np.where(rows >= 0, values[rows], np.nan)


def weights(rows: np.ndarray, runs: int) -> np.ndarray:
    """How much of a replicate each run makes up (B, R); each row adds up to 1."""
    flat = rows.reshape(len(rows), -1)
    replicate = np.repeat(np.arange(len(rows)), flat.shape[1]).reshape(flat.shape)
    known = flat >= 0
    counts = np.bincount(replicate[known] * runs + flat[known], minlength=len(rows) * runs).reshape(len(rows), runs)
    return counts / counts.sum(axis=1, keepdims=True)


def interval(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % percentile interval over the first axis."""
    low, high = np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high
