"""A value with its 95 % interval, and the interval of a mean over seeds."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from analysis.bootstrap import LEVEL


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval, NaN where there is none; infinite if it is not reached within the training."""

    value: float
    low: float
    high: float

    def plain(self) -> dict[str, float | None]:
        """Return it for JSON, with null for what is not finite."""
        return {key: x if math.isfinite(x) else None for key, x in vars(self).items()}


def mean_estimate(samples: list[np.ndarray]) -> Estimate:
    """Return the mean of the means of some samples, such as the seeds of each draw, with Student's interval.

    The degrees of freedom are those of Welch and Satterthwaite. A sample of one value has no interval.
    """
    value = float(np.mean([sample.mean() for sample in samples]))
    if min(len(sample) for sample in samples) < 2:
        return Estimate(value, math.nan, math.nan)
    parts = np.array([sample.var(ddof=1) / len(sample) for sample in samples])
    if parts.sum() == 0:
        return Estimate(value, value, value)
    freedom = parts.sum() ** 2 / sum(part**2 / (len(s) - 1) for part, s in zip(parts, samples, strict=True))
    reach = float(t.ppf((1 + LEVEL) / 2, freedom) * math.sqrt(parts.sum()) / len(samples))
    return Estimate(value, value - reach, value + reach)
