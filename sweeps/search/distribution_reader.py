"""Distributions from plain data, and what is wrong with those that cannot be read."""

import math
from typing import Any

from mulex.messages import Path, nearest, shown
from sweeps.search.distributions import KINDS, LISTED, LOGARITHMIC, NORMAL, WHOLE, Conditions, Distribution, constant

MOST_POINTS = 1_000_000
_OPTIONS = ("step", "when")
_EXAMPLE = "for example {uniform: [0.5, 0.9]}"
_SCALAR = "a number, a text, true or false"


class WrongDistribution(ValueError):  # noqa: N818
    """Says what is wrong with a distribution, and at which key inside it."""

    def __init__(self, text: str, path: Path = ()) -> None:
        super().__init__(text)
        self.path = path


def read_distribution(plain: Any) -> Distribution:
    """Read a plain value, or a mapping of one kind to its values beside `step` and `when`."""
    if isinstance(plain, str | bool) or _is_number(plain):
        return constant(plain)
    if not isinstance(plain, dict) or not plain:
        raise WrongDistribution(f"got {shown(plain)}, allowed is a value or a distribution, {_EXAMPLE}")
    kinds = [kind for kind in plain if kind not in _OPTIONS]
    for kind in kinds:
        if kind not in KINDS:
            listed = f"no such distribution, there are {', '.join(KINDS)}"
            raise WrongDistribution(listed + nearest(kind, (*KINDS, *_OPTIONS)), (kind,))
    if len(kinds) != 1:
        got = " and ".join(kinds) or "no distribution"
        raise WrongDistribution(f"got {got}, allowed is one of {', '.join(KINDS)}")
    kind = kinds[0]
    values = _listed(kind, plain[kind]) if kind in LISTED else _pair(kind, plain[kind])
    step = _step(kind, values, plain["step"]) if "step" in plain else None
    return Distribution(kind, values, step, _conditions(plain["when"]) if "when" in plain else ())


def _listed(kind: str, plain: Any) -> tuple[Any, ...]:
    values = [plain] if kind == "constant" else plain
    if (
        not isinstance(values, list)
        or not values
        or not all(isinstance(v, str | bool) or _is_number(v) for v in values)
    ):
        raise _refused(kind, plain)
    types = {"a text" if isinstance(v, str) else "true or false" if isinstance(v, bool) else "a number" for v in values}
    if len(types) > 1:
        listed = " and ".join(sorted(types))
        raise WrongDistribution(f"got {shown(plain)}, which mixes {listed}: no column can hold both", (kind,))
    return tuple(v if isinstance(v, str | bool) else float(v) for v in values)


def _pair(kind: str, plain: Any) -> tuple[float, float]:
    whole = kind in WHOLE
    if not isinstance(plain, list) or len(plain) != 2 or not all(_is_number(v, whole) for v in plain):
        raise _refused(kind, plain)
    first, second = float(plain[0]), float(plain[1])
    if kind in NORMAL:
        if second <= 0:
            raise _refused(kind, plain)
        if not all(math.isfinite(end) for end in _ends(kind, first, second)):
            raise WrongDistribution(f"got {shown(plain)}: its values are too large to be numbers", (kind,))
    elif not first < second:
        raise WrongDistribution(f"got {shown(plain)}, allowed is [low, high] with low below high", (kind,))
    elif kind in LOGARITHMIC and first <= 0:
        raise _refused(kind, plain)
    return first, second


def _ends(kind: str, mean: float, deviation: float) -> tuple[float, float]:
    try:
        return Distribution(kind, (mean, deviation)).bounds
    except (OverflowError, ArithmeticError):
        return -math.inf, math.inf


def _step(kind: str, values: tuple[Any, ...], plain: Any) -> float:
    least = 1 if kind in LOGARITHMIC else 0
    whole = "a whole number" if kind in WHOLE else "a number"
    about = f"{whole} above 1, by which neighbours are multiplied" if least else f"{whole} above 0"
    if kind in LISTED:
        raise WrongDistribution(f"got {shown(plain)}, but {kind} has no range to divide", ("step",))
    if not _is_number(plain, kind in WHOLE) or plain <= least:
        raise WrongDistribution(f"got {shown(plain)}, allowed is {about}", ("step",))
    if kind not in NORMAL and (plain * values[0] if least else plain + values[0]) > values[1]:
        raise WrongDistribution(f"got {shown(plain)}, which is wider than the range", ("step",))
    try:
        points = Distribution(kind, values, float(plain)).size
    except (OverflowError, ZeroDivisionError):
        points = MOST_POINTS + 1
    if points > MOST_POINTS:
        raise WrongDistribution(f"got {shown(plain)}, which gives more than {MOST_POINTS:,} values", ("step",))
    return float(plain)


def _conditions(plain: Any) -> Conditions:
    if not isinstance(plain, dict) or not plain:
        example = "for example {bonus: simhash}"
        raise WrongDistribution(
            f"got {shown(plain)}, allowed is a mapping of another name to its values, {example}", ("when",)
        )
    conditions = []
    for name, allowed in plain.items():
        values = allowed if isinstance(allowed, list) else [allowed]
        if not values or not all(isinstance(v, str | bool) or _is_number(v) for v in values):
            raise WrongDistribution(f"got {shown(allowed)}, allowed is {_SCALAR}, or a list of them", ("when", name))
        conditions.append((name, tuple(v if isinstance(v, str | bool) else float(v) for v in values)))
    return tuple(conditions)


def _refused(kind: str, plain: Any) -> WrongDistribution:
    numbers = ", of numbers" if kind not in WHOLE and kind not in LISTED else ""
    return WrongDistribution(f"got {shown(plain)}, allowed is {KINDS[kind][0]}{numbers}", (kind,))


def _is_number(value: Any, whole: bool = False) -> bool:
    return isinstance(value, int if whole else int | float) and not isinstance(value, bool)
