"""Newcombe's interval for the probability that a draw of one method beats one of another."""

from scipy.optimize import brentq
from scipy.stats import norm

from analysis.bootstrap import LEVEL

NEARLY_0 = 1e-9
"""0 and 1 themselves always solve the equation, beside the end that is looked for."""


def newcombe(value: float, one: int, other: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a probability to beat, measured on so many draws of one method and of the other.

    This is method 5 of Newcombe (2006, Statistics in Medicine 25:559-573): like Wilson's interval for a share, it takes
    the variance at the end of the interval and not at the value, so that it has a width where every draw of a method
    beats every draw of the other, and a bootstrap has none.
    """
    z = float(norm.ppf((1 + level) / 2))
    spare = (one + other) / 2 - 1

    def off(end: float) -> float:
        parts = 1 + spare * ((1 - end) / (2 - end) + end / (1 + end))
        return (value - end) ** 2 - z**2 * end * (1 - end) * parts / (one * other)

    low = 0.0 if value <= 0 else brentq(off, 0.0, min(value, 1 - NEARLY_0))
    high = 1.0 if value >= 1 else brentq(off, max(value, NEARLY_0), 1.0)
    return float(low), float(high)
