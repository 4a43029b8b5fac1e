"""What a hyperparameter is drawn from: functions of a quantile, with the same bits on every machine."""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache, cached_property
from typing import Any

from sweeps.search.normal import LIMIT, truncated_normal

Value = float | str | bool | None
"""A hyperparameter's value; None where the condition of its distribution does not hold."""
Conditions = tuple[tuple[str, tuple[Value, ...]], ...]
"""Names of other hyperparameters, each with the values that it must have one of."""

KINDS = {
    "uniform": ("[low, high]", "Any number of the range, each as likely."),
    "log_uniform": ("[low, high], low above 0", "Any number of the range, its logarithm uniform."),
    "int_uniform": ("[low, high], whole numbers", "A whole number of the range, both ends included, each as likely."),
    "int_log_uniform": (
        "[low, high], whole numbers, low above 0",
        "A whole number of the range, both ends included, its logarithm about uniform.",
    ),
    "normal": (
        "[mean, deviation], deviation above 0",
        f"A normally distributed number, at most {LIMIT:g} standard deviations from its mean.",
    ),
    "log_normal": (
        "[mean, deviation], deviation above 0",
        "A number above 0 whose natural logarithm is drawn like `normal`.",
    ),
    "choice": ("[a, b, ...]", "One of these values, each as likely: numbers, texts, or true and false."),
    "constant": ("a number, a text, true or false", "This value; a plain value is the same."),
}
WHOLE = ("int_uniform", "int_log_uniform")
LOGARITHMIC = ("log_uniform", "int_log_uniform", "log_normal")
NORMAL = ("normal", "log_normal")
LISTED = ("choice", "constant")
_EXACT = Context(prec=30)  # libm's exp and log differ between machines in the last bit; decimal's do not


@dataclass(frozen=True)
class Distribution:
    """A function from a quantile u in [0, 1) to a value.

    Attributes:
        kind: One of KINDS.
        values: The choices, the constant, or the two numbers that describe a range or a normal distribution.
        step: The distance between neighbouring values of a range; the ratio of neighbours where it is logarithmic.
        when: Conditions under which there is a value at all.
    """

    kind: str
    values: tuple[Any, ...]
    step: float | None = None
    when: Conditions = ()

    def at(self, u: float) -> Any:
        """Return the u-quantile."""
        if self.kind in LISTED:
            return self.values[min(int(u * len(self.values)), len(self.values) - 1)]
        if self.kind in NORMAL:
            return self._normal(truncated_normal(u))
        low, high = self.values
        if self.step is not None:
            return self.point(min(int(u * self._points), self._points - 1))
        match self.kind:
            case "uniform":
                return min(max(low * (1 - u) + high * u, low), high)
            case "log_uniform":
                return min(max(_between_logs(low, high, u), low), high)
            case "int_uniform":
                return min(low + float(int(u * (high - low + 1))), high)
            case _:
                return min(max(float(math.floor(_between_logs(low, high + 1, u))), low), high)

    def _normal(self, z: float) -> float:
        """Return the value that lies z standard deviations from the mean, or the point of the steps nearest to it."""
        mean, deviation = self.values
        if self.step is not None:
            steps = math.floor(z * deviation / self._distance + 0.5)
            return self.point(min(max(steps + self._points // 2, 0), self._points - 1))
        value = mean + z * deviation
        return _exp(value) if self.kind == "log_normal" else value

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest number that can be drawn."""
        if self.kind in LISTED:
            return min(self.values), max(self.values)
        if self.kind not in NORMAL:
            return self.values[0], self.values[1]
        return self._normal(-LIMIT), self._normal(LIMIT)

    @property
    def is_constant(self) -> bool:
        """Whether there is nothing to draw."""
        return self.kind == "constant"

    @property
    def is_finite(self) -> bool:
        """Whether there are finitely many values, so that draws may repeat each other."""
        return self.kind in LISTED or self.kind in WHOLE or self.step is not None

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers, rather than texts or booleans."""
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)

    @cached_property
    def size(self) -> int:
        """The number of values of a finite distribution."""
        if self.kind in LISTED:
            return len(self.values)
        return self._points if self.step is not None else int(self.values[1] - self.values[0]) + 1

    def point(self, k: int) -> Any:
        """Return value k of a finite distribution; ranges are in ascending order."""
        if self.kind in LISTED:
            return self.values[k]
        step = Decimal(repr(self.step)) if self.step is not None else Decimal(1)
        if self.kind in NORMAL:
            k -= self._points // 2
            start = Decimal(repr(_exp(self.values[0]) if self.kind == "log_normal" else self.values[0]))
        else:
            start = Decimal(repr(self.values[0]))
        if self.kind in LOGARITHMIC and self.step is not None:
            return float(_EXACT.multiply(start, _EXACT.power(step, k)))
        return float(_EXACT.add(start, _EXACT.multiply(step, Decimal(k))))

    @cached_property
    def _distance(self) -> float:
        """The step on the axis that is divided evenly."""
        step = self.step or 1.0
        return float(_log(step)) if self.kind in LOGARITHMIC else step

    @cached_property
    def _points(self) -> int:
        """The number of values with a step; rounding must not lose the last one."""
        if self.kind in NORMAL:
            return 2 * math.floor(LIMIT * self.values[1] / self._distance + 1e-9) + 1
        low, high = self.values
        length = float(_log(high) - _log(low)) if self.kind in LOGARITHMIC else high - low
        return math.floor(length / self._distance + 1e-9) + 1

    def holds(self, value: Any) -> bool:
        """Return whether a value can be drawn."""
        if self.kind in LISTED:
            return any(same(value, own) for own in self.values)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        low, high = self.bounds
        if self.step is None:
            return low <= value <= high and (self.kind not in WHOLE or float(value).is_integer())
        index = self.index(value)
        return 0 <= index < self._points and self.point(index) == value

    def index(self, value: float) -> int:
        """Return the index of the step that is nearest to a number."""
        start = self.point(0)
        if self.kind not in LOGARITHMIC:
            return round((value - start) / self._distance)
        return round(float(_log(value) - _log(start)) / self._distance) if value > 0 else -2

    def plain(self) -> Any:
        """Return it as it is written in YAML."""
        if self.is_constant and not self.when:
            return self.values[0]
        values = [int(v) if self.kind in WHOLE else v for v in self.values]
        plain: dict[str, Any] = {self.kind: values[0] if self.is_constant else values}
        if self.step is not None:
            plain["step"] = int(self.step) if self.kind in WHOLE else self.step
        if self.when:
            plain["when"] = {name: allowed[0] if len(allowed) == 1 else list(allowed) for name, allowed in self.when}
        return plain


def constant(value: float | str | bool) -> Distribution:
    """Return the distribution that has only this value."""
    return Distribution("constant", (value if isinstance(value, str | bool) else float(value),))


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal; true is not 1 here."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _between_logs(low: float, high: float, u: float) -> float:
    start = _log(low)
    return float(_EXACT.exp(_EXACT.add(start, _EXACT.multiply(_EXACT.subtract(_log(high), start), Decimal(u)))))


def _exp(value: float) -> float:
    return float(_EXACT.exp(Decimal(value)))


@cache
def _log(value: float) -> Decimal:
    return _EXACT.ln(Decimal(value))
