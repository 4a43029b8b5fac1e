"""Quantiles of the standard normal distribution, equal to the last bit on every machine."""

import math
from decimal import Context, Decimal

LIMIT = 4.0
"""Normal draws lie within this many standard deviations of their mean."""
_BELOW = 3.167124183311992e-05  # the probability below -LIMIT

# Acklam's rational approximation of the inverse distribution function; its relative error is below 1.2e-9.
_CENTRE_ABOVE = (
    -3.969683028665376e01,
    2.209460984245205e02,
    -2.759285104469687e02,
    1.383577518672690e02,
    -3.066479806614716e01,
    2.506628277459239e00,
)
_CENTRE_BELOW = (
    -5.447609879822406e01,
    1.615858368580409e02,
    -1.556989798598866e02,
    6.680131188771972e01,
    -1.328068155288572e01,
    1.0,
)
_TAIL_ABOVE = (
    -7.784894002430293e-03,
    -3.223964580411365e-01,
    -2.400758277161838e00,
    -2.549732539343734e00,
    4.374664141464968e00,
    2.938163982698783e00,
)
_TAIL_BELOW = (7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e00, 3.754408661907416e00, 1.0)
_TAIL = 0.02425
_EXACT = Context(prec=30)  # libm's logarithms differ between machines in the last bit; decimal's do not


def truncated_normal(u: float) -> float:
    """Return the u-quantile of the standard normal distribution between -LIMIT and LIMIT."""
    p = _BELOW + (1 - 2 * _BELOW) * u
    return min(max(_inverse(p), -LIMIT), LIMIT)


def _inverse(p: float) -> float:
    if p > 0.5:
        return -_inverse(1 - p)
    if p < _TAIL:
        q = math.sqrt(-2 * float(_EXACT.ln(Decimal(p))))
        return _polynomial(_TAIL_ABOVE, q) / _polynomial(_TAIL_BELOW, q)
    q = p - 0.5
    return q * _polynomial(_CENTRE_ABOVE, q * q) / _polynomial(_CENTRE_BELOW, q * q)


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    value = 0.0
    for coefficient in coefficients:
        value = value * x + coefficient
    return value
