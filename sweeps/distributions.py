"""What a hyperparameter is drawn from. A value depends on its place u alone, to the last bit, on every machine."""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from typing import Any

from sweeps.spec_problems import Path, nearest, shown

KINDS = {
    "uniform": ("[low, high]", "Any number of the range, each as likely."),
    "log_uniform": ("[low, high], low above 0", "Any number of the range, its logarithm uniform."),
    "int_uniform": ("[low, high], whole numbers", "A whole number of the range, both ends included, each as likely."),
    "choice": ("[a, b, ...]", "One of these numbers, each as likely."),
    "constant": ("a number", "This number; a plain number is the same."),
}
_EXACT = Context(prec=30)  # libm's exp and log differ between machines in the last bit, these do not


@dataclass(frozen=True)
class Distribution:
    """A way to turn a place u in [0, 1) into a value."""

    kind: str
    values: tuple[float, ...]

    def at(self, u: float) -> float:
        """The value at a place."""
        low, high = self.values[0], self.values[-1]
        match self.kind:
            case "uniform":
                return min(max(low * (1 - u) + high * u, low), high)
            case "log_uniform":
                return min(max(_between_logs(low, high, u), low), high)
            case "int_uniform":
                return min(low + float(int(u * (high - low + 1))), high)
            case _:
                return self.values[min(int(u * len(self.values)), len(self.values) - 1)]

    @property
    def is_constant(self) -> bool:
        """Whether there is nothing to draw."""
        return self.kind == "constant"

    @property
    def is_finite(self) -> bool:
        """Whether draws of it may repeat each other."""
        return self.kind in ("constant", "choice", "int_uniform")

    def plain(self) -> Any:
        """As it is written in YAML."""
        if self.is_constant:
            return self.values[0]
        return {self.kind: [int(v) if self.kind == "int_uniform" else v for v in self.values]}


def constant(value: float) -> Distribution:
    """Always the same."""
    return Distribution("constant", (float(value),))


def _between_logs(low: float, high: float, u: float) -> float:
    start = _log(low)
    return float(_EXACT.exp(_EXACT.add(start, _EXACT.multiply(_EXACT.subtract(_log(high), start), Decimal(u)))))


@cache
def _log(value: float) -> Decimal:
    return _EXACT.ln(Decimal(value))


class WrongDistribution(ValueError):  # noqa: N818
    """What is wrong with a distribution, and at which key inside it."""

    def __init__(self, text: str, path: Path = ()) -> None:
        super().__init__(text)
        self.path = path


def read_distribution(plain: Any) -> Distribution:
    """From plain data: a number, or a mapping of one kind to its values."""
    if _is_number(plain):
        return constant(plain)
    if not isinstance(plain, dict) or not plain:
        example = "for example {uniform: [0.5, 0.9]}"
        raise WrongDistribution(f"got {shown(plain)}, allowed is a number or a distribution, {example}")
    for kind in plain:
        if kind not in KINDS:
            listed = f"no such distribution, there are {', '.join(KINDS)}"
            raise WrongDistribution(listed + nearest(kind, KINDS), (kind,))
    if len(plain) > 1:
        raise WrongDistribution(f"got {' and '.join(plain)}, allowed is one of them")
    kind, values = next(iter(plain.items()))
    return Distribution(kind, _values(kind, values))


def _values(kind: str, plain: Any) -> tuple[float, ...]:
    values = [plain] if kind == "constant" else plain
    whole = kind == "int_uniform"
    if not isinstance(values, list) or not values or not all(_is_number(v, whole) for v in values):
        raise _refused(kind, plain)
    if kind in ("choice", "constant"):
        return tuple(float(v) for v in values)
    if len(values) != 2:
        raise _refused(kind, plain)
    low, high = float(values[0]), float(values[1])
    if not low < high:
        raise WrongDistribution(f"got {shown(plain)}, allowed is [low, high] with low below high", (kind,))
    if kind == "log_uniform" and low <= 0:
        raise _refused(kind, plain)
    return low, high


def _refused(kind: str, plain: Any) -> WrongDistribution:
    numbers = "" if kind in ("constant", "int_uniform") else ", of numbers"
    return WrongDistribution(f"got {shown(plain)}, allowed is {KINDS[kind][0]}{numbers}", (kind,))


def _is_number(value: Any, whole: bool = False) -> bool:
    return isinstance(value, int if whole else int | float) and not isinstance(value, bool)
