"""Measures that are weighted sums of ordered values, which can be resampled for many samples at once."""

from collections.abc import Callable

import numpy as np

from analysis.figures.budget import best_of

BEST_OF = 10
Weights = Callable[[int], np.ndarray]


def mean(n: int) -> np.ndarray:
    """Return the weights of the mean."""
    return np.full(n, 1 / n)


def median(n: int) -> np.ndarray:
    """Return the weights of the median."""
    return quantile(n, 0.5)


def iqm(n: int) -> np.ndarray:
    """Return the weights of the interquartile mean."""
    inside = (np.arange(n) >= n // 4) & (np.arange(n) < n - n // 4)
    return inside / inside.sum()


def quantile(n: int, share: float) -> np.ndarray:
    """Return the weights of a quantile, interpolated as numpy does."""
    at = share * (n - 1)
    return np.maximum(1 - np.abs(np.arange(n) - at), 0.0)


def iqr(n: int) -> np.ndarray:
    """Return the weights of the interquartile range."""
    return quantile(n, 0.75) - quantile(n, 0.25)


def best_of_10(n: int) -> np.ndarray:
    """Return the weights of the expected best of ten."""
    return np.asarray(best_of(n, np.array([BEST_OF]))[0])


WEIGHTS: dict[str, Weights] = {"median": median, "mean": mean, "iqm": iqm, "iqr": iqr, "best_of_10": best_of_10}
"""By measure the weights of n ordered values. The best of ten is one of draws, the others are measures of runs."""


def measured(samples: np.ndarray, measure: str) -> np.ndarray:
    """Return a measure of samples of draws and seeds (R, D, S)."""
    values = _values(samples, measure).reshape(len(samples), -1)
    return np.asarray(np.sort(values, axis=1) @ WEIGHTS[measure](values.shape[1]))


def remeasured(samples: np.ndarray, measure: str, picked: np.ndarray) -> np.ndarray:
    """Return the same with resampled draws (B, R): `picked` (B, D) are the draws of each replicate, with repeats."""
    values = _values(samples, measure)
    r, d, s = values.shape
    flat = values.reshape(r, d * s)
    order = np.argsort(flat, axis=1)
    ordered = np.take_along_axis(flat, order, axis=1).astype(np.float32)
    counts = np.stack([np.bincount(row, minlength=d) for row in picked]).astype(np.int32)  # (B, D)
    below = np.concatenate([[0.0], np.cumsum(WEIGHTS[measure](d * s))]).astype(np.float32)
    found = np.empty((len(picked), r), np.float32)
    for i in range(r):
        last = np.cumsum(counts[:, order[i] // s], axis=1)  # how many values of a replicate are up to each value
        found[:, i] = np.diff(below[last], prepend=np.float32(0), axis=1) @ ordered[i]
    return found


def _values(samples: np.ndarray, measure: str) -> np.ndarray:
    return samples.mean(axis=2, keepdims=True) if measure == "best_of_10" else samples
