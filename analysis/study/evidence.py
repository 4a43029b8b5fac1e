"""The numbers by which a claim is judged: each has an interval and a boundary that the claim puts it above or below."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom, norm, t

from analysis.bootstrap import LEVEL, REPLICATES, generator, resample, take
from analysis.estimates import Estimate
from analysis.measures import draw_means, iqr, mean, median
from analysis.power_curves import pilot_population, power_curve
from analysis.statistics import estimate, probability_to_beat
from analysis.tables import Tables

Measure = Callable[[np.ndarray], np.ndarray]
FEWEST = 5
"""With fewer draws than this an interval is too narrow, so no conclusion is drawn from it."""

POWER = 0.8
"""The probability with which the expected number of draws should decide a claim."""
SIMULATED, BINOMIAL, BY_RULE = "simulated", "binomial", "square-root rule"
MOST_DRAWS = 10_000
RISE, FALL, TURN = "rise", "fall", "turn"
REPRODUCED, NOT_REPRODUCED, TOO_FEW = "reproduced", "not reproduced", "not enough runs"


class Need(NamedTuple):
    """How many draws would be expected to decide something, and by which method that was found."""

    draws: int
    method: str


@dataclass(frozen=True)
class Evidence:
    """One number behind a claim, which is right if the number is above (or below) the boundary.

    In runs shorter than the paper's, `may_yet` says how longer training could move the number. One that may rise is
    no evidence below the boundary, one that may fall none above it, and one that may turn none at all.
    """

    what: str
    estimate: Estimate
    boundary: float
    above: bool = True
    draws: int = 10**9
    may_yet: str = ""
    pilot: "Pilot | None" = None
    """Where `mulex plan` can simulate this number: what it is simulated from."""
    is_share: bool = False
    """Whether it is a share of draws, with Wilson's interval."""

    @property
    def verdict(self) -> str:
        """The verdict, which needs the whole interval on one side of the boundary."""
        low, high = self.estimate.low, self.estimate.high
        if self.draws < FEWEST or math.isnan(low) or math.isnan(high):
            return TOO_FEW
        is_above, is_below = low > self.boundary, high < self.boundary
        if (is_above and self.may_yet in ("", RISE)) or (is_below and self.may_yet in ("", FALL)):
            return REPRODUCED if is_above == self.above else NOT_REPRODUCED
        return TOO_FEW

    @cached_property
    def need(self) -> Need | None:
        """The draws with which this number would be expected to decide, None if that cannot be said.

        It is the number for a power of 80 %, simulated as `mulex plan` does where it can simulate the number, and
        binomial for a share. Otherwise, and above 10,000 draws, the number itself stays as it is, and its interval
        shrinks with the square root of the draws. More draws do not
        help a number that longer training may move across its boundary.
        """
        low, high, lead = self.estimate.low, self.estimate.high, abs(self.estimate.value - self.boundary)
        if self.may_yet or self.draws < 2 or not all(map(math.isfinite, (low, high, lead))) or lead == 0 or high <= low:
            return None
        least = max(self.draws + 1, FEWEST)
        simulated = self.pilot.draws_needed(self.estimate.value > self.boundary) if self.pilot else None
        if simulated is not None:
            return Need(max(simulated, least), SIMULATED)
        if self.is_share and (counted := self._draws_of_a_share(least)):
            return Need(counted, BINOMIAL)
        error = (high - low) / (2 * float(t.ppf((1 + LEVEL) / 2, self.draws - 1)))
        reach = float(norm.ppf((1 + LEVEL) / 2) + norm.ppf(POWER))
        return Need(max(math.ceil(self.draws * (reach * error / lead) ** 2), least), BY_RULE)

    def _draws_of_a_share(self, least: int) -> int | None:
        """Return the draws with which Wilson's interval is beyond the boundary with a power of 80 %."""
        share, is_above = self.estimate.value, self.estimate.value > self.boundary
        for n in range(least, MOST_DRAWS + 1):
            low, high = wilson(np.arange(n + 1) / n, n)
            decides = low > self.boundary if is_above else high < self.boundary
            if decides.any() and binom.pmf(np.flatnonzero(decides), n, share).sum() >= POWER:
                return n
        return None

    @property
    def draws_needed(self) -> int | None:
        """The draws of `need`."""
        return self.need.draws if self.need else None


def judge(evidence: list[Evidence]) -> str:
    """Judge a claim: it holds if all its parts do, and fails if any of them does."""
    verdicts = {one.verdict for one in evidence}
    if NOT_REPRODUCED in verdicts:
        return NOT_REPRODUCED
    return REPRODUCED if verdicts == {REPRODUCED} else TOO_FEW


@dataclass(frozen=True)
class Sample:
    """The scored runs of a method in a world, and the rows of each bootstrap replicate."""

    tables: Tables
    runs: pd.DataFrame
    rows: np.ndarray  # (B, D, S)

    @property
    def scores(self) -> np.ndarray:
        return self.runs["score"].to_numpy()

    @property
    def draws(self) -> int:
        return int(self.runs["draw"].nunique())

    @property
    def flat_rows(self) -> np.ndarray:
        return self.rows.reshape(len(self.rows), -1)

    def measure(self, measure: Measure) -> tuple[float, np.ndarray]:
        """Return a measure of the scores, and of the scores of every replicate."""
        return float(measure(self.scores[None])[0]), measure(take(self.scores, self.flat_rows))

    def share(self, holds: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the share of runs for which something holds (R,), and the same by replicate."""
        return float(holds.mean()), np.nanmean(take(holds.astype(float), self.flat_rows), axis=1)


class Pilot(NamedTuple):
    """Two samples, the difference of which in a measure `mulex plan` can simulate."""

    measure: str
    one: Sample
    other: Sample

    def draws_needed(self, one_leads: bool) -> int | None:
        """The draws of each method for a power of 80 %, with as many seeds as there are; None above 10,000."""
        pair = self.one, self.other
        better, worse = (pilot_population(of.runs) for of in (pair if one_leads else pair[::-1]))
        seeds = max(round(len(of.runs) / of.draws) for of in pair)
        return power_curve(better, worse, self.measure, seeds).needed(POWER)


PLANNED: dict[Measure, str] = {mean: "mean", median: "median", iqr: "iqr"}
"""The measures of both methods' scores that `mulex plan` knows too."""


def sample(tables: Tables, world: str, method: str, seed: int = 0) -> Sample | None:
    """Return the sample of a method in a world, None if none of its runs has a score."""
    runs = tables.scored
    runs = runs[(runs["world"] == world) & (runs["method"] == method)]
    if runs.empty:
        return None
    return Sample(tables, runs, resample(runs["draw"].to_numpy(), REPLICATES, generator(seed, world, method)))


def difference(what: str, measure: Measure, one: Sample, other: Sample) -> Evidence:
    """Measure by how much one method is above another in some measure of its scores."""
    (a, many_a), (b, many_b) = one.measure(measure), other.measure(measure)
    draws = min(one.draws, other.draws)
    pilot = Pilot(PLANNED[measure], one, other) if measure in PLANNED and draws > 1 else None
    return Evidence(what, estimate(a - b, many_a - many_b, draws), 0.0, draws=draws, pilot=pilot)


def superiority(what: str, one: Sample, other: Sample) -> Evidence:
    """Measure how often a random draw of one method is above one of another."""
    mine, theirs = (draw_means(of.runs["draw"].to_numpy(), of.scores) for of in (one, other))
    found = probability_to_beat(mine, theirs)
    return Evidence(what, found, 0.5, draws=min(one.draws, other.draws))


def share_of_runs(what: str, holds: np.ndarray, draws: np.ndarray, boundary: float, may_yet: str = "") -> Evidence:
    """Measure a share of runs that is claimed to be above the boundary; the seeds of a draw count as one.

    `holds` and `draws` are (R,). The interval is Wilson's, since a bootstrap of runs that all agree has no width.
    """
    shares = draw_means(draws, holds.astype(float))
    share = float(shares.mean())
    low, high = wilson(np.array([share]), len(shares))
    found = Estimate(share, float(low[0]), float(high[0]))
    return Evidence(what, found, boundary, draws=len(shares), may_yet=may_yet, is_share=True)


def wilson(shares: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's intervals for shares of n; a share need not be a whole number of them."""
    z = float(norm.ppf((1 + LEVEL) / 2))
    centre, reach = 2 * n * shares + z**2, z * np.sqrt(4 * n * shares * (1 - shares) + z**2)
    low, high = ((centre + side) / (2 * (n + z**2)) for side in (-reach, reach))
    return np.where(shares > 0, low, 0.0), np.where(shares < 1, high, 1.0)


def mean_of(
    what: str, values: np.ndarray, boundary: float, above: bool, name: str, draws: np.ndarray | None = None
) -> Evidence:
    """Measure the mean over draws of values (R,), one for each run; without `draws` every run is a draw of its own."""
    draws = np.arange(len(values)) if draws is None else draws
    means = draw_means(draws, values)
    resampled = np.nanmean(take(values, resample(draws, REPLICATES, generator(0, name))), axis=2)
    found = estimate(float(means.mean()), resampled.mean(axis=1), len(means))
    return Evidence(what, found, boundary, above, len(means))
