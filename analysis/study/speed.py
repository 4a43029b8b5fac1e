"""Claims about how soon the best runs of MuleX and of Additive reach the top."""

import numpy as np

from analysis.bootstrap import REPLICATES, generator, interval
from analysis.errors import NotApplicableError
from analysis.estimates import Estimate
from analysis.measures import BEST, first_at_ideal
from analysis.selection import confirmed
from analysis.study.evidence import Evidence, Sample
from analysis.study.samples import NEARLY, Sweeps, pair_of
from analysis.tables import Tables

SHARES = (0.01, 0.05, 0.1)
"""The best shares of all runs whose speed is compared."""
NOTHING = Estimate(np.nan, np.nan, np.nan)
Curves = tuple[np.ndarray, np.ndarray]


def best_curves(of: Sample, best: int = BEST) -> Curves:
    """Return the mean normalised curve of the best runs (T,), and of the best runs of every replicate (B, T)."""
    curves, scores, rows = of.tables.matrices["normalised_return"][of.runs.index], of.scores, of.flat_rows
    curves, best = curves[:, np.isfinite(curves).all(axis=0)], min(best, len(scores))
    order = np.argsort(-np.where(rows >= 0, scores[rows], -np.inf), axis=1, kind="stable")[:, :best]
    chosen = np.take_along_axis(rows, order, axis=1)
    first = np.argsort(-scores, kind="stable")[:best]
    return curves[first].mean(axis=0), np.stack([curves[row[row >= 0]].mean(axis=0) for row in chosen])


def speed_of_the_best(tables: Tables, _: Sweeps) -> list[Evidence]:
    """Measure how many times as long Additive's best ten need to reach the top."""
    if not (pair := pair_of(tables)):
        return []
    best = f"the best {min(BEST, len(pair[0].scores))}"
    mine, theirs = (best_curves(of) for of in pair)
    return [_ratio(best, mine, theirs, min(of.draws for of in pair))]


def speed_by_share(tables: Tables, _: Sweeps) -> list[Evidence]:
    """Measure the same of the best 1 %, 5 % and 10 % of all runs, where these are at least one run of each method."""
    if not (pair := pair_of(tables)):
        return []
    return [_of_share(pair, share) for share in SHARES]


def _of_share(pair: tuple[Sample, Sample], share: float) -> Evidence:
    runs = [len(of.scores) for of in pair]
    best = [int(share * n + 1e-9) for n in runs]
    if min(best) < 1:
        what = (
            f"the best {100 * share:.0f} % of {min(runs)} runs is less than one run; {round(1 / share)} runs are needed"
        )
        return Evidence(what, NOTHING, 1.0)
    sizes = " and ".join(dict.fromkeys(f"{count} run{'s'[: count > 1]}" for count in best))
    mine, theirs = (best_curves(of, count) for of, count in zip(pair, best, strict=True))
    return _ratio(f"the best {100 * share:.0f} % ({sizes})", mine, theirs, min(of.draws for of in pair))


def speed_of_the_confirmed(tables: Tables, _: Sweeps) -> list[Evidence]:
    """Measure the same of the test runs of each method's best draw, where there are any."""
    try:
        draws = {one.method: one.draws[0].draw for one in confirmed(tables)}
    except NotApplicableError:
        return []
    if not {"mulex", "additive"} <= draws.keys():
        return []
    mine, theirs = (_test_curves(tables, method, draws[method]) for method in ("mulex", "additive"))
    seeds = min(len(curves) for curves in (mine, theirs))
    both = [_resampled(curves, method) for curves, method in ((mine, "mulex"), (theirs, "additive"))]
    return [_ratio(f"the best draw with {seeds} test seeds", both[0], both[1], seeds)]


def _test_curves(tables: Tables, method: str, draw: int) -> np.ndarray:
    runs = tables.tested
    here = (runs["world"] == tables.worlds[0]) & (runs["method"] == method) & (runs["draw"] == draw)
    curves = tables.matrices["normalised_return"][runs[here].index]
    return np.asarray(curves[:, np.isfinite(curves).all(axis=0)])


def _resampled(curves: np.ndarray, method: str) -> Curves:
    picked = generator(0, "confirmed speed", method).integers(0, len(curves), (REPLICATES, len(curves)))
    return curves.mean(axis=0), np.stack([curves[rows].mean(axis=0) for rows in picked])


def _ratio(best: str, mine: Curves, theirs: Curves, sample: int) -> Evidence:
    """Compare the iterations until a mean is at 95 % of the ideal; `sample` is how many draws or seeds there are."""
    (one, many_one), (other, many_other) = mine, theirs
    value, samples = float(_times(one[None], other[None])[0]), _times(many_one, many_other)
    known = samples[~np.isnan(samples)]
    what = f"Additive's iterations / MuleX's until the mean of {best} is at 95 % ({_when(other)} / {_when(one)})"
    if np.isnan(value) or len(known) < 0.975 * len(samples):
        peaks = f"the highest means are {other.max():.2f} / {one.max():.2f} of the ideal"
        return Evidence(f"{what}, where often neither gets there and {peaks}", NOTHING, 1.0)
    low, high = interval(known, sample, whole=True)
    return Evidence(what, Estimate(value, float(low), float(high)), 1.0, draws=sample)


def _times(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return how many times as long their curves need as mine (B,), NaN where neither gets there."""
    a, b = first_at_ideal(mine, NEARLY), first_at_ideal(theirs, NEARLY)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(a) & np.isinf(b), np.nan, b / a)


def _when(curve: np.ndarray) -> str:
    first = first_at_ideal(curve[None], NEARLY)[0]
    return f"{first:.0f}" if np.isfinite(first) else "never"
