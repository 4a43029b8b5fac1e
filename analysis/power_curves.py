"""How many draws and seeds a claim about two methods needs: its power by simulation, from a pilot or from guesses.

Letters: R simulated sweeps, B bootstrap replicates, D draws, S seeds.
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from analysis.bootstrap import LEVEL, expanded, generator
from analysis.errors import AnalysisError
from analysis.measures import draw_means, variance_parts
from analysis.order_statistics import BEST_OF, WEIGHTS, measured, remeasured
from mulex.messages import short, unknown

MEASURES = ("median", "mean", "best_of_10", "iqr")
SEEDS = (1, 2, 3, 5)
SIMULATED = (5, 8, 12, 18, 27, 40, 60)
"""Draws for which sweeps are simulated and judged; above them the measures are as good as normal."""
MOST = 10_000
SWEEPS, REPLICATES = 400, 400


@dataclass(frozen=True)
class Claim:
    """That a measure of one method's scores is above that of another's."""

    better: str
    worse: str


def read_claim(text: str, methods: Collection[str]) -> Claim:
    """Read a claim such as "mulex > additive".

    Raises:
        AnalysisError: It is not two methods with > or < between them, or there are no such methods.
    """
    found = re.fullmatch(r"\s*(\S+)\s*([<>])\s*(\S+)\s*", text)
    if not found or found[1] == found[3]:
        raise AnalysisError(
            f"claim: {short(text)!r}: cannot be read; write two different methods with > between them, such as "
            f"'mulex > additive'; the methods are {', '.join(methods)}"
        )
    for name in (found[1], found[3]):
        if name not in methods:
            raise AnalysisError(f"claim: {name}: {unknown('method', name, methods)}")
    return Claim(found[1], found[3]) if found[2] == ">" else Claim(found[3], found[1])


@dataclass(frozen=True)
class Population:
    """What scores of a method are drawn from: values of draws, smoothed by a kernel, and noise of seeds.

    Without values the draws are normal. `shift` and `scale` move all scores so that an effect is as large as assumed.
    """

    centre: float
    sd_draws: float
    sd_seeds: float
    values: np.ndarray | None = None
    shift: float = 0.0
    scale: float = 1.0

    def sample(self, sweeps: int, draws: int, seeds: int, rng: np.random.Generator) -> np.ndarray:
        """Return the scores of simulated sweeps (R, D, S)."""
        effects = self._effects((sweeps, draws), rng) * self.sd_draws
        noise = rng.standard_normal((sweeps, draws, seeds)) * self.sd_seeds
        return np.asarray(self.centre + self.shift + self.scale * (effects[..., None] + noise))

    def _effects(self, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
        """Return what draws add to the centre, with mean 0 and variance 1."""
        normal = rng.standard_normal(shape)
        if self.values is None or np.ptp(self.values) == 0:
            return normal
        width = 0.9 * len(self.values) ** -0.2
        standard = (self.values - self.values.mean()) / self.values.std()
        return np.asarray((rng.choice(standard, shape) + width * normal) / math.sqrt(1 + width**2))

    def value(self, measure: str) -> float:
        """Return the measure of the whole population, with one seed for each draw."""
        return float(measured(self.sample(1, 20_000, 1, np.random.default_rng(0)), measure)[0])


def pilot_population(runs: pd.DataFrame, sd_draws: float | None = None, sd_seeds: float | None = None) -> Population:
    """Return the population that a method's scored runs come from; what is stated takes the place of what is estimated.

    With one seed for each draw, what seeds add is unknown and counts as a difference between draws.
    """
    draws, scores = runs["draw"].to_numpy(), runs["score"].to_numpy(dtype=float)
    between, within = variance_parts(draws, scores)
    means = draw_means(draws, scores)
    if between is None or within is None:
        between, within = float(means.var(ddof=1)) if len(means) > 1 else math.nan, 0.0
    if sd_draws is None and math.isnan(between):
        raise AnalysisError("pilot: one draw says nothing about the spread between draws; state it with --sd-draws")
    own_draws = math.sqrt(between) if sd_draws is None else sd_draws
    own_seeds = math.sqrt(within) if sd_seeds is None else sd_seeds
    return Population(float(scores.mean()), own_draws, own_seeds, means)


def with_effect(better: Population, worse: Population, measure: str, effect: float) -> Population:
    """Return the better population moved, or for the interquartile range widened, until its lead is the effect."""
    if measure == "iqr":
        wide = better.value("iqr")
        if wide <= 0:
            raise AnalysisError("effect: scores without any spread have no interquartile range; state --sd-draws")
        return replace(better, scale=max(worse.value("iqr") + effect, 0.0) / wide)
    return replace(better, shift=effect - (better.value(measure) - worse.value(measure)))


def share_decided(one: np.ndarray, other: np.ndarray, measure: str, rng: np.random.Generator) -> float:
    """Return in how many of the simulated sweeps (R, D, S) the interval of the difference is above 0."""
    draws = one.shape[1]
    picked = [rng.integers(0, draws, (REPLICATES, draws)) for _ in range(2)]
    lead = remeasured(one, measure, picked[0]) - remeasured(other, measure, picked[1])
    return float((np.quantile(lead, expanded(draws)[0], axis=0) > 0).mean())


@dataclass(frozen=True)
class PowerCurve:
    """The power of a claim by the number of draws, for one number of seeds."""

    seeds: int
    draws: np.ndarray
    power: np.ndarray

    def needed(self, power: float) -> int | None:
        """Return the fewest draws with this power, None if more than 10,000 are not enough."""
        enough = np.flatnonzero(self.power >= power)
        return int(self.draws[enough[0]]) if len(enough) else None


def power_curve(better: Population, worse: Population, measure: str, seeds: int, seed: int = 0) -> PowerCurve:
    """Return the power for 5 to 10,000 draws: simulated up to 60, and then that of a normal difference."""
    simulated = [d for d in SIMULATED if measure != "best_of_10" or d >= BEST_OF]
    powers, rng = [], generator(seed, "power", measure, str(seeds))
    for draws in simulated:
        one, other = (population.sample(SWEEPS, draws, seeds, rng) for population in (better, worse))
        powers.append(share_decided(one, other, measure, rng))
    last = simulated[-1]
    leads = [measured(population.sample(4000, last, seeds, rng), measure) for population in (better, worse)]
    lead, spread = float(np.mean(leads[0] - leads[1])), float(np.std(leads[0] - leads[1])) * math.sqrt(last)
    grid = np.arange(simulated[0], MOST + 1)
    critical = t.ppf((1 + LEVEL) / 2, grid - 1)
    normal = norm.cdf(lead / max(spread, 1e-12) * np.sqrt(grid) - critical)
    smooth = _rising(np.array(powers), normal[np.array(simulated) - grid[0]])
    within = np.interp(np.sqrt(grid), np.sqrt(simulated), smooth)
    # Beyond the simulated draws the normal curve goes on from where the simulation ended.
    offset = within[last - grid[0]] - normal[last - grid[0]]
    fading = offset * np.sqrt(last / np.maximum(grid, last))
    power = np.where(grid <= last, within, np.clip(normal + fading, 0.0, 1.0))
    return PowerCurve(seeds, grid, np.maximum.accumulate(power))


def _rising(powers: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return simulated powers smoothed: the normal curve plus a straight line through what it lacks, in probits."""
    informative = (powers > 0.03) & (powers < 0.97)
    if informative.sum() < 3:
        return np.maximum.accumulate(powers)
    z, expected = (norm.ppf(np.clip(share, 1e-6, 1 - 1e-6)) for share in (powers, normal))
    x = np.linspace(-1, 1, len(powers))
    line = np.polyfit(x[informative], (z - expected)[informative], 1)
    return np.maximum.accumulate(np.where(informative, norm.cdf(expected + np.polyval(line, x)), powers))


def check_power(power: float, measure: str, seeds: Sequence[int]) -> None:
    """Raise AnalysisError for a power that is no probability, an unknown measure or a number of seeds below 1."""
    if not 0 < power < 1:
        raise AnalysisError(f"power: {power:g}: use a probability above 0 and below 1, such as 0.8")
    if measure not in MEASURES or measure not in WEIGHTS:
        raise AnalysisError(f"measure: {measure}: {unknown('measure', measure, MEASURES)}")
    if not seeds or min(seeds) < 1 or max(seeds) > 1000:
        raise AnalysisError(f"seeds: {', '.join(map(str, seeds)) or 'none'}: use numbers from 1 to 1000")
