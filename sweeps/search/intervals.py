"""The interval that all numbers about a method's draws have; docs/statistics.md says why it is this one."""

import math

LEVEL = 0.95


def expanded(draws: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the two quantiles of the expanded percentile interval (Hesterberg 2015) for a sample of so many draws.

    A percentile interval is too narrow in small samples: the bootstrap's variance is short of a factor n / (n - 1), and
    it takes quantiles of the normal distribution where Student's t has wider ones. These quantiles make up for both.
    """
    from scipy.stats import norm, t

    tail = norm.cdf(-math.sqrt(draws / (draws - 1)) * t.ppf((1 + level) / 2, draws - 1)) if draws > 1 else 0.0
    return float(tail), float(1 - tail)
