"""What a claim is measured by: numbers with intervals, each with the side of a boundary that the claim is on."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from analysis.bootstrap import LEVEL, REPLICATES, generator, resample, take
from analysis.measures import draw_means
from analysis.statistics import Estimate, estimate, probability_to_beat
from analysis.tables import Tables

Measure = Callable[[np.ndarray], np.ndarray]
FEWEST = 5
"""Draws below which a percentile interval is narrower than what is known, so nothing is said from it."""

RISE, FALL, TURN = "rise", "fall", "turn"
REPRODUCED, NOT_REPRODUCED, TOO_FEW = "reproduced", "not reproduced", "not enough runs"


@dataclass(frozen=True)
class Evidence:
    """One number behind a claim, which is right if the number is above (or below) the boundary.

    In runs that end early some numbers may yet rise, or fall, and then say nothing from the side they would leave;
    others may turn, and say nothing at all.
    """

    what: str
    estimate: Estimate
    boundary: float
    above: bool = True
    draws: int = 10**9
    may_yet: str = ""

    @property
    def verdict(self) -> str:
        """The whole interval must be on one side."""
        low, high = self.estimate.low, self.estimate.high
        if self.draws < FEWEST or math.isnan(low) or math.isnan(high):
            return TOO_FEW
        is_above, is_below = low > self.boundary, high < self.boundary
        if (is_above and self.may_yet in ("", RISE)) or (is_below and self.may_yet in ("", FALL)):
            return REPRODUCED if is_above == self.above else NOT_REPRODUCED
        return TOO_FEW


def judge(evidence: list[Evidence]) -> str:
    """A claim holds if all its parts do, and falls with any of them."""
    verdicts = {one.verdict for one in evidence}
    if NOT_REPRODUCED in verdicts:
        return NOT_REPRODUCED
    return REPRODUCED if verdicts == {REPRODUCED} else TOO_FEW


@dataclass(frozen=True)
class Sample:
    """The scored runs of a method in a world, and which of them each replicate of the bootstrap has."""

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
        """Of the scores, and of the scores of every replicate."""
        return float(measure(self.scores[None])[0]), measure(take(self.scores, self.flat_rows))

    def share(self, holds: np.ndarray) -> tuple[float, np.ndarray]:
        """Of the runs for which something holds (R,), and by replicate."""
        return float(holds.mean()), np.nanmean(take(holds.astype(float), self.flat_rows), axis=1)


def sample(tables: Tables, world: str, method: str, seed: int = 0) -> Sample | None:
    """None where no run of the method counts."""
    runs = tables.scored
    runs = runs[(runs["world"] == world) & (runs["method"] == method)]
    if runs.empty:
        return None
    return Sample(tables, runs, resample(runs["draw"].to_numpy(), REPLICATES, generator(seed, world, method)))


def difference(what: str, measure: Measure, one: Sample, other: Sample) -> Evidence:
    """By how much one method is above another in some measure of its scores."""
    (a, many_a), (b, many_b) = one.measure(measure), other.measure(measure)
    return Evidence(what, estimate(a - b, many_a - many_b), 0.0, draws=min(one.draws, other.draws))


def superiority(what: str, one: Sample, other: Sample) -> Evidence:
    """How often a random draw of one method is above one of another."""

    def means(of: Sample) -> tuple[np.ndarray, np.ndarray]:
        return draw_means(of.runs["draw"].to_numpy(), of.scores), np.nanmean(take(of.scores, of.rows), axis=2)

    found = probability_to_beat(means(one), means(other))
    return Evidence(what, found, 0.5, draws=min(one.draws, other.draws))


def share_of_runs(what: str, holds: np.ndarray, draws: np.ndarray, boundary: float, may_yet: str = "") -> Evidence:
    """Claimed to be above the boundary, for runs (R,) and their draws; the seeds of a draw are no draws of their own.

    Wilson's interval: a bootstrap of runs that all agree would know no doubt.
    """
    shares = draw_means(draws, holds.astype(float))
    share = float(shares.mean())
    return Evidence(what, Estimate(share, *wilson(share, len(shares))), boundary, draws=len(shares), may_yet=may_yet)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Its interval for a share of n, which need not be of whole ones."""
    z = float(norm.ppf((1 + LEVEL) / 2))
    centre, reach = 2 * n * share + z**2, z * math.sqrt(4 * n * share * (1 - share) + z**2)
    low, high = ((centre + side) / (2 * (n + z**2)) for side in (-reach, reach))
    return low if share > 0 else 0.0, high if share < 1 else 1.0


def mean_of(
    what: str, values: np.ndarray, boundary: float, above: bool, name: str, draws: np.ndarray | None = None
) -> Evidence:
    """The mean over draws of numbers (R,) that are each of a run; without `draws`, each of a draw of its own."""
    draws = np.arange(len(values)) if draws is None else draws
    means = draw_means(draws, values)
    resampled = np.nanmean(take(values, resample(draws, REPLICATES, generator(0, name))), axis=2)
    return Evidence(what, estimate(float(means.mean()), resampled.mean(axis=1)), boundary, above, len(means))
