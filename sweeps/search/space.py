"""The search space of a method: its hyperparameters by name, some of which exist only under conditions on others."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mulex.messages import Path, nearest, shown
from sweeps.search.distributions import Distribution, Value, same

Space = dict[str, Distribution]
Values = dict[str, Any]
"""A value for each hyperparameter of a space; None where its condition does not hold."""


class WrongCondition(NamedTuple):
    """A condition that cannot be used."""

    path: Path
    text: str


def applies(distribution: Distribution, values: Mapping[str, Value]) -> bool:
    """Return whether the conditions of a distribution hold; `values` has the hyperparameters that they name."""
    return all(any(same(values[name], one) for one in allowed) for name, allowed in distribution.when)


def conditional(space: Space, values: Values) -> Values:
    """Return a draw with None for every value whose condition does not hold."""
    if not any(distribution.when for distribution in space.values()):
        return values
    kept = dict(values)
    for name in ordered(space):
        if not applies(space[name], kept):
            kept[name] = None
    return kept


def may_repeat(space: Space) -> bool:
    """Return whether two draws can be equal: they cannot where some value always comes from a continuous range."""
    return all(distribution.is_finite or distribution.when for distribution in space.values())


def ordered(space: Space) -> list[str]:
    """Return the names of a space so that each comes after those that its conditions name."""
    names: dict[str, None] = {}

    def add(name: str) -> None:
        if name not in names:
            for other, _ in space[name].when:
                add(other)
            names[name] = None

    for name in space:
        add(name)
    return list(names)


def is_draw_of(space: Space, values: Values) -> str | None:
    """Return the first name whose value cannot be drawn from a space, or None if all can."""
    for name in ordered(space):
        holds = space[name].holds(values[name]) if applies(space[name], values) else values[name] is None
        if not holds:
            return name
    return None


def wrong_conditions(space: Space) -> list[WrongCondition]:
    """Return what is wrong with the conditions of a space, each with the key that it is at."""
    wrong = [
        WrongCondition((name, "when", other), text)
        for name, distribution in space.items()
        for other, allowed in distribution.when
        if (text := _wrong_condition(space, name, other, allowed))
    ]
    return wrong or [
        WrongCondition((name, "when"), f"depends on itself: {' -> '.join(cycle)}")
        for name in space
        if (cycle := _cycle(space, name))
    ]


def _wrong_condition(space: Space, name: str, other: str, allowed: tuple[Value, ...]) -> str:
    if other == name:
        return "a condition on itself; name another hyperparameter"
    if other not in space:
        return f"no such hyperparameter, there are {', '.join(space)}{nearest(other, space)}"
    if not space[other].is_finite:
        return f"{other} is drawn from a continuous range; a condition needs a choice, whole numbers or a step"
    never = [value for value in allowed if not space[other].holds(value)]
    drawn = shown(space[other].plain())
    return f"got {shown(never[0])}, which {other} never is: it is drawn from {drawn}" if never else ""


def _cycle(space: Space, start: str) -> list[str]:
    """Return a way from a name over its conditions back to the name; an empty list if there is none."""
    waiting = [[start]]
    seen: set[str] = set()
    while waiting:
        way = waiting.pop()
        for other, _ in space[way[-1]].when:
            if other == start:
                return [*way, start]
            if other not in seen:
                seen.add(other)
                waiting.append([*way, other])
    return []
