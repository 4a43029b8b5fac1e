"""Measures of samples of scores. Samples are (B, N), NaN where a replicate has fewer than N values."""

import numpy as np
from scipy.stats import rankdata

BEST = 10


def ordered(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples in ascending order with NaN last, and how many values each row has (B, 1)."""
    samples = np.sort(np.atleast_2d(samples), axis=1)
    return samples, np.isfinite(samples).sum(axis=1, keepdims=True)


def _mean_of_ranks(samples: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    rank = np.arange(samples.shape[1])
    wanted = (rank >= first) & (rank < last)
    return np.where(wanted, samples, 0.0).sum(axis=1) / wanted.sum(axis=1)


def iqm(samples: np.ndarray) -> np.ndarray:
    """Return the interquartile mean: the lowest and the highest quarter of the values (rounded down) do not count."""
    values, n = ordered(samples)
    return _mean_of_ranks(values, n // 4, n - n // 4)


def median(samples: np.ndarray) -> np.ndarray:
    """Return the median of each sample."""
    values, n = ordered(samples)
    return _mean_of_ranks(values, (n - 1) // 2, n // 2 + 1)


def mean(samples: np.ndarray) -> np.ndarray:
    """Return the mean of each sample."""
    values, n = ordered(samples)
    return _mean_of_ranks(values, np.zeros_like(n), n)


def iqr(samples: np.ndarray) -> np.ndarray:
    """Return the interquartile range of each sample."""
    low, high = np.nanquantile(np.atleast_2d(samples), [0.25, 0.75], axis=1)
    return np.asarray(high - low)


def worst_decile(samples: np.ndarray) -> np.ndarray:
    """Return the mean of the lowest tenth of the values (rounded up)."""
    values, n = ordered(samples)
    return _mean_of_ranks(values, np.zeros_like(n), -(-n // 10))


def best(samples: np.ndarray) -> np.ndarray:
    """Return the highest value of each sample."""
    values, n = ordered(samples)
    return np.take_along_axis(values, n - 1, axis=1)[:, 0]


def worst(samples: np.ndarray) -> np.ndarray:
    """Return the lowest value of each sample."""
    return ordered(samples)[0][:, 0]


def optimality_gap(samples: np.ndarray) -> np.ndarray:
    """Return by how much the mean is short of 1, where a score above 1 counts as 1."""
    return 1 - mean(np.minimum(np.atleast_2d(samples), 1.0))


MEASURES = {
    "iqm": iqm,
    "median": median,
    "mean": mean,
    "worst_decile": worst_decile,
    "best": best,
    "worst": worst,
    "optimality_gap": optimality_gap,
}
"""Measures of a method's scores, as rliable defines them where it does. A gap needs scores whose ideal is 1."""


def beats(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how often a value of `first` (B, N) is above one of `second` (B, M); a tie counts half."""
    n, m = first.shape[1], second.shape[1]
    ranks = rankdata(np.concatenate([first, second], axis=1), axis=1)[:, :n].sum(axis=1)
    return (ranks - n * (n + 1) / 2) / (n * m)


def draw_means(draws: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the mean over seeds of each draw, in the order of the draws' numbers."""
    _, code, seeds = np.unique(draws, return_inverse=True, return_counts=True)
    return np.bincount(code, weights=scores) / seeds


def variance_parts(draws: np.ndarray, scores: np.ndarray) -> tuple[float | None, float | None]:
    """Return the variances between draws and between their seeds (one-way random effects), None without enough runs."""
    _, code, seeds = np.unique(draws, return_inverse=True, return_counts=True)
    d, n = len(seeds), len(scores)
    if d < 2 or n == d:
        return None, None
    means = np.bincount(code, weights=scores) / seeds
    within = float(((scores - means[code]) ** 2).sum() / (n - d))
    between = float((seeds * (means - scores.mean()) ** 2).sum() / (d - 1))
    usual = (n - (seeds**2).sum() / n) / (d - 1)
    return max((between - within) / usual, 0.0), within


def best_rows(scores: np.ndarray) -> np.ndarray:
    """Return the positions of the best runs by score, ten at most; of equal ones the earlier comes first."""
    return np.argsort(-scores, kind="stable")[:BEST]


def first_at_ideal(curves: np.ndarray, share: float = 1.0) -> np.ndarray:
    """Return the first iteration at which mean normalised curves (B, T) reach a share of 1, or infinity."""
    reached = curves >= share - 1e-9
    return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, np.inf)
