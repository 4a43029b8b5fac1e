"""How often 95 % intervals contain the truth, by simulation: `make coverage` writes the table into docs/statistics.md.

Every sample of n draws comes from a known distribution of scores, so the true value of each measure is known. Letters:
R simulated samples, B bootstrap replicates, N draws of a sample.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import norm

from analysis.bootstrap import expanded
from analysis.measures import beats
from analysis.probability import newcombe
from analysis.study.claims_table import markdown_table

PAGE = Path("docs/statistics.md")
SIZES = (5, 8, 16, 24, 100)
SAMPLES, REPLICATES, CHUNK = 1000, 500, 50
TAIL = 0.025
BEST_OF = 5
Scores = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Most scores are low, few are high."""
    return rng.beta(1.0, 5.0, shape)


def bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Three of five draws fail, the others come close to the ideal."""
    return np.where(rng.random(shape) < 0.6, rng.beta(2.0, 20.0, shape), rng.beta(20.0, 3.0, shape))


SCORES: dict[str, Scores] = {"skewed": skewed, "bimodal": bimodal}


def weights_of_mean(n: int) -> np.ndarray:
    return np.full(n, 1 / n)


def weights_of_iqm(n: int) -> np.ndarray:
    inside = (np.arange(n) >= n // 4) & (np.arange(n) < n - n // 4)
    return inside / inside.sum()


def weights_of_median(n: int) -> np.ndarray:
    inside = (np.arange(n) >= (n - 1) // 2) & (np.arange(n) <= n // 2)
    return inside / inside.sum()


def weights_of_best(n: int) -> np.ndarray:
    from analysis.figures.budget import best_of

    return best_of(n, np.array([min(BEST_OF, n)]))[0]


MEASURES = {
    "mean": weights_of_mean,
    "IQM": weights_of_iqm,
    "median": weights_of_median,
    f"best of {BEST_OF}": weights_of_best,
}
"""By measure the weights of the ordered scores of a sample of n; each measure is their weighted sum."""


def without_each(ordered: np.ndarray, weights: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return the measure of ordered samples (..., N) without each of their values in turn, (..., N)."""
    fewer = weights(ordered.shape[-1] - 1)
    below, above = np.append(fewer, 0.0), np.insert(fewer, 0, 0.0)
    left = np.cumsum(ordered * below, axis=-1) - ordered * below
    right = np.cumsum((ordered * above)[..., ::-1], axis=-1)[..., ::-1] - ordered * above
    return left + right


def standard_error(ordered: np.ndarray, name: str) -> np.ndarray:
    """Return the jackknife's standard error; for the median, where it fails, that of McKean and Schrader (1984)."""
    n = ordered.shape[-1]
    if name == "median":
        rank = max(round((n + 1) / 2 - norm.ppf(1 - TAIL) * np.sqrt(n / 4)), 1)
        return np.asarray((ordered[..., n - rank] - ordered[..., rank - 1]) / (2 * norm.ppf(1 - TAIL)))
    left_out = without_each(ordered, MEASURES[name])
    return np.asarray(np.sqrt((n - 1) / n * ((left_out - left_out.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)))


@dataclass(frozen=True)
class Resampled:
    """A measure of R samples: its value (R,), that of B replicates (R, B), and what the intervals need beside it."""

    value: np.ndarray
    replicates: np.ndarray
    error: np.ndarray
    errors: np.ndarray
    acceleration: np.ndarray
    draws: int


def percentile(of: Resampled) -> tuple[np.ndarray, np.ndarray]:
    """Return the quantiles of the replicates."""
    low, high = np.quantile(of.replicates, [TAIL, 1 - TAIL], axis=1)
    return low, high


def expanded_percentile(of: Resampled) -> tuple[np.ndarray, np.ndarray]:
    """Return wider quantiles, as the analysis uses them."""
    low, high = np.quantile(of.replicates, expanded(of.draws), axis=1)
    return low, high


def bca(of: Resampled) -> tuple[np.ndarray, np.ndarray]:
    """Return bias-corrected and accelerated quantiles (Efron 1987)."""
    below = (of.replicates < of.value[:, None]).mean(axis=1) + (of.replicates == of.value[:, None]).mean(axis=1) / 2
    bias = norm.ppf(np.clip(below, 1 / (2 * REPLICATES), 1 - 1 / (2 * REPLICATES)))
    ends = []
    for z in norm.ppf([TAIL, 1 - TAIL]):
        share = norm.cdf(bias + (bias + z) / (1 - of.acceleration * (bias + z)))
        rank = np.clip((share * REPLICATES).astype(int), 0, REPLICATES - 1)
        ends.append(np.take_along_axis(np.sort(of.replicates, axis=1), rank[:, None], axis=1)[:, 0])
    return ends[0], ends[1]


def studentised(of: Resampled) -> tuple[np.ndarray, np.ndarray]:
    """Return the bootstrap-t interval; replicates without any spread are left out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(of.errors > 1e-12, (of.replicates - of.value[:, None]) / of.errors, np.nan)
    t[np.isnan(t).all(axis=1)] = 0.0
    low, high = np.nanquantile(t, [TAIL, 1 - TAIL], axis=1)
    return of.value - high * of.error, of.value - low * of.error


INTERVALS = {
    "percentile": percentile,
    "BCa": bca,
    "studentised": studentised,
    "expanded percentile": expanded_percentile,
}


def of_measure(samples: np.ndarray, name: str, rng: np.random.Generator) -> Resampled:
    """Resample a measure of samples (R, N)."""
    ordered, n = np.sort(samples, axis=1), samples.shape[1]
    picked = np.sort(np.take_along_axis(ordered[:, None], rng.integers(0, n, (len(samples), REPLICATES, n)), 2), axis=2)
    weights = MEASURES[name](n)
    left_out = without_each(ordered, MEASURES[name])
    off = left_out.mean(axis=1, keepdims=True) - left_out
    acceleration = (off**3).sum(axis=1) / np.maximum(6 * (off**2).sum(axis=1) ** 1.5, 1e-300)
    errors = standard_error(ordered, name), standard_error(picked, name)
    return Resampled(ordered @ weights, picked @ weights, *errors, acceleration, n)


def of_improvement(one: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> Resampled:
    """Resample the probability that a value of `one` (R, N) is above one of `other`; a tie counts half."""
    n, m = one.shape[1], other.shape[1]
    wins = (one[:, :, None] > other[:, None]) + 0.5 * (one[:, :, None] == other[:, None])  # (R, N, M)
    first, second = (rng.multinomial(k, np.full(k, 1 / k), (len(one), REPLICATES)) for k in (n, m))
    of_first = wins.mean(axis=2), np.einsum("rnm,rbm->rbn", wins, second / m)
    of_second = wins.mean(axis=1), np.einsum("rnm,rbn->rbm", wins, first / n)
    value, values = of_first[0].mean(axis=1), (of_first[1] * first).sum(axis=2) / n

    def spread(placements: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
        k = placements.shape[-1]
        share = 1 / k if counts is None else counts / k
        mean = (placements * share).sum(axis=-1, keepdims=True)
        return np.asarray(((placements - mean) ** 2 * share).sum(axis=-1) / (k - 1))

    error = np.sqrt(spread(of_first[0], None) + spread(of_second[0], None))
    errors = np.sqrt(spread(of_first[1], first) + spread(of_second[1], second))
    influence = np.concatenate([(of_first[0] - value[:, None]) / n, (of_second[0] - value[:, None]) / m], axis=1)
    acceleration = (influence**3).sum(axis=1) / np.maximum(6 * (influence**2).sum(axis=1) ** 1.5, 1e-300)
    return Resampled(value, values, error, errors, acceleration, min(n, m))


def shares_of(
    make: Callable[[np.random.Generator], Resampled],
    truth: float,
    n: int,
    newcombes: bool = False,
    samples: int = SAMPLES,
) -> dict[str, float]:
    """Return how often each interval contains the truth."""
    rng = np.random.default_rng([n, 7])
    held: dict[str, list[np.ndarray]] = {}
    for _ in range(samples // CHUNK):
        found = make(rng)
        ends = {name: interval(found) for name, interval in INTERVALS.items()}
        if newcombes:
            pairs = [newcombe(float(value), n, n) for value in found.value]
            ends["Newcombe"] = np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])
        for name, (low, high) in ends.items():
            held.setdefault(name, []).append((low <= truth + 1e-12) & (truth - 1e-12 <= high))
    return {name: float(np.concatenate(parts).mean()) for name, parts in held.items()}


def true_value(name: str, scores: Scores) -> float:
    """Return a measure of the distribution itself, from a large sample."""
    values = np.sort(scores(np.random.default_rng(1), (1_000_000,)))
    if name.startswith("best"):
        return float(scores(np.random.default_rng(1), (400_000, BEST_OF)).max(axis=1).mean())
    return float(values @ MEASURES[name](len(values)))


def true_probability(scores: Scores, shift: float) -> float:
    rng = np.random.default_rng(1)
    return float(beats(scores(rng, (1, 400_000)) + shift, scores(rng, (1, 400_000)))[0])


def rows() -> Iterator[list[str]]:
    """Return a row for each measure, distribution and interval."""
    for name in MEASURES:
        for kind, scores in SCORES.items():
            truth = true_value(name, scores)
            by_size = [
                shares_of(lambda rng, n=n, s=scores, m=name: of_measure(s(rng, (CHUNK, n)), m, rng), truth, n)
                for n in SIZES
            ]
            yield from _rows(name, kind, by_size)
    for shift in (0.0, 0.15, 0.4):
        for kind, scores in SCORES.items():
            truth = true_probability(scores, shift)

            def pair(rng: np.random.Generator, n: int, s: Scores = scores, shift: float = shift) -> Resampled:
                return of_improvement(s(rng, (CHUNK, n)) + shift, s(rng, (CHUNK, n)), rng)

            by_size = [shares_of(lambda rng, n=n: pair(rng, n), truth, n, True) for n in SIZES]
            yield from _rows(f"probability of improvement ({truth:.2f})", kind, by_size)


def _rows(measure: str, kind: str, by_size: list[dict[str, float]]) -> Iterator[list[str]]:
    for interval in by_size[0]:
        print(measure, kind, interval, *[f"{held[interval]:.3f}" for held in by_size], file=sys.stderr, flush=True)
        yield [measure, kind, interval, *[f"{held[interval]:.1%}".replace("%", " %") for held in by_size]]


def main() -> None:
    """Write the table between its two comments."""
    head = ["measure", "scores", "interval", *[f"{n} draws" for n in SIZES]]
    table = "\n".join(markdown_table(head, list(rows())))
    between = re.compile(r"(<!-- coverage -->\n).*?(<!-- end of coverage -->)", re.DOTALL)
    PAGE.write_text(between.sub(lambda found: f"{found[1]}{table}\n{found[2]}", PAGE.read_text()))


if __name__ == "__main__":
    main()
