"""What a sample of scores comes to. Samples are (B, N), not a number where a replicate has fewer than N values."""

import numpy as np
from scipy.stats import rankdata

BEST = 10


def ordered(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted upwards with the gaps last, and how many values each row has (B, 1)."""
    samples = np.sort(np.atleast_2d(samples), axis=1)
    return samples, np.isfinite(samples).sum(axis=1, keepdims=True)


def _mean_of_ranks(samples: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    rank = np.arange(samples.shape[1])
    wanted = (rank >= first) & (rank < last)
    return np.where(wanted, samples, 0.0).sum(axis=1) / wanted.sum(axis=1)


def iqm(samples: np.ndarray) -> np.ndarray:
    """Interquartile mean: without the lowest and the highest quarter (rounded down) of the values."""
    values, n = ordered(samples)
    return _mean_of_ranks(values, n // 4, n - n // 4)


def median(samples: np.ndarray) -> np.ndarray:
    """The value in the middle."""
    values, n = ordered(samples)
    return _mean_of_ranks(values, (n - 1) // 2, n // 2 + 1)


def mean(samples: np.ndarray) -> np.ndarray:
    """Of all values."""
    values, n = ordered(samples)
    return _mean_of_ranks(values, np.zeros_like(n), n)


def iqr(samples: np.ndarray) -> np.ndarray:
    """Interquartile range."""
    low, high = np.nanquantile(np.atleast_2d(samples), [0.25, 0.75], axis=1)
    return np.asarray(high - low)


def worst_decile(samples: np.ndarray) -> np.ndarray:
    """Mean of the lowest tenth of the values (rounded up)."""
    values, n = ordered(samples)
    return _mean_of_ranks(values, np.zeros_like(n), -(-n // 10))


def best(samples: np.ndarray) -> np.ndarray:
    """The highest value."""
    values, n = ordered(samples)
    return np.take_along_axis(values, n - 1, axis=1)[:, 0]


def worst(samples: np.ndarray) -> np.ndarray:
    """The lowest value."""
    return ordered(samples)[0][:, 0]


MEASURES = {"iqm": iqm, "median": median, "worst_decile": worst_decile, "best": best, "worst": worst}


def beats(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How often a value of `first` (B, N) is above one of `second` (B, M); a tie counts half."""
    n, m = first.shape[1], second.shape[1]
    ranks = rankdata(np.concatenate([first, second], axis=1), axis=1)[:, :n].sum(axis=1)
    return (ranks - n * (n + 1) / 2) / (n * m)


def draw_means(draws: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The mean over seeds of each draw, in the order of the draws' numbers."""
    _, code, seeds = np.unique(draws, return_inverse=True, return_counts=True)
    return np.bincount(code, weights=scores) / seeds


def variance_parts(draws: np.ndarray, scores: np.ndarray) -> tuple[float | None, float | None]:
    """Variance between draws and between the seeds of a draw (one-way random effects); None where there are too few."""
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
    """Positions of the best runs by score, ten at most; the earlier one where they are equal."""
    return np.argsort(-scores, kind="stable")[:BEST]


def first_at_ideal(curves: np.ndarray, share: float = 1.0) -> np.ndarray:
    """For mean normalised curves (B, T) the first iteration at 1, or at a share of it; infinite where there is none."""
    reached = curves >= share - 1e-9
    return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, np.inf)
