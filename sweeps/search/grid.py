"""Every combination of the values of a finite space."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from sweeps.search.base import PresetSearch
from sweeps.search.space import Space, Values, applies, ordered

MOST_POINTS = 1_000_000


class GridSearch(PresetSearch):
    """Trains every point once; the hyperparameter that the spec names last varies fastest.

    A hyperparameter whose condition does not hold multiplies nothing: such points differ in the others alone.
    """

    name = "grid"
    description = "every combination of choices, whole numbers and ranges with a `step`"

    @classmethod
    def problems(cls, space: Space) -> Iterator[tuple[str, str]]:
        endless = [name for name, distribution in space.items() if not distribution.is_finite]
        for name in endless:
            yield name, "a grid cannot have all values of a continuous range; give it a step, or use choice"
        if not endless and _size(space) > MOST_POINTS:
            yield "", f"the grid has more than {MOST_POINTS:,} points; leave out values, or use random"

    @classmethod
    def size(cls, space: Space, draws: int) -> int:
        return _size(space)

    def draw(self, method: str, space: Space) -> list[Values]:
        return list(points(space))


def points(space: Space) -> Iterator[Values]:
    """Yield every point of a finite space, in an order that depends on the space alone."""
    names = ordered(space)
    conditions = {other for distribution in space.values() for other, _ in distribution.when}
    if not conditions:
        for values in product(*(_values(space, name) for name in names)):
            yield dict(zip(names, values, strict=True))
        return
    for point in _under_conditions(space, names, {}):
        yield {name: point[name] for name in space}


def _under_conditions(space: Space, names: list[str], chosen: Values) -> Iterator[Values]:
    if not names:
        yield chosen
        return
    name, *rest = names
    values = _values(space, name) if applies(space[name], chosen) else [None]
    for value in values:
        yield from _under_conditions(space, rest, {**chosen, name: value})


def _values(space: Space, name: str) -> Iterator[Any]:
    distribution = space[name]
    return (distribution.point(k) for k in range(distribution.size))


def _size(space: Space) -> int:
    """Return the number of points, or a number above MOST_POINTS where there are more.

    Only the hyperparameters that conditions name, or that have conditions, are counted one by one.
    """
    named = {other for distribution in space.values() for other, _ in distribution.when}
    free = {n: d for n, d in space.items() if not d.when and n not in named}
    size = 1
    for distribution in free.values():
        size *= distribution.size
    tied = {name: distribution for name, distribution in space.items() if name not in free}
    if not tied:
        return min(size, MOST_POINTS + 1)
    most = MOST_POINTS // size if size <= MOST_POINTS else 0
    count = 0
    for _ in _under_conditions(tied, ordered(tied), {}):
        count += 1
        if count > most:
            return MOST_POINTS + 1
    return size * count
