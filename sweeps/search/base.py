"""The contract of a search: it chooses the draws that a sweep trains."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from operator import eq
from typing import Any, ClassVar

import numpy as np

from mulex.store.folder import Folder
from mulex.store.layout import draws_name
from sweeps.search.space import Space, Values, conditional, may_repeat

Drawn = dict[str, Sequence[Values]]
"""The draws of each method, in order."""


class QuantileDraws(Sequence[Values]):
    """Draws that are computed from their quantiles when they are asked for, so that a million of them take no memory.

    They can be compared with a list of draws.
    """

    def __init__(self, space: Space, quantiles: Mapping[str, np.ndarray], count: int) -> None:
        self._space, self._quantiles, self._count = space, quantiles, count
        self._last: tuple[int, Values] = -1, {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        number = index + self._count if index < 0 else index
        if not 0 <= number < self._count:
            raise IndexError(index)
        last, values = self._last
        if last != number:
            values = self._values(number)
            self._last = number, values
        return values

    def _values(self, number: int) -> Values:
        values = {
            name: distribution.at(float(self._quantiles[name][number]) if name in self._quantiles else 0.0)
            for name, distribution in self._space.items()
        }
        return conditional(self._space, values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


class Search(ABC):
    """Chooses the draws of every method of one sweep.

    Draw i of a method depends on the sweep's seed, the method's name and i alone, so more draws never change earlier
    ones. An adaptive search also depends on the scores of the draws before it.

    Attributes:
        name: The word for it in a spec.
        description: A phrase that says how it chooses draws; the spec's documentation lists it.
        adaptive: Whether draws are chosen one by one from the scores of earlier ones.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    adaptive: ClassVar[bool] = False

    def __init__(self, seed: int, draws: int, spaces: Mapping[str, Space]) -> None:
        """Search the spaces of some methods, each given by the method's name."""
        self.seed, self.draws, self.spaces = seed, draws, dict(spaces)

    @classmethod
    def problems(cls, space: Space) -> Iterator[tuple[str, str]]:
        """Yield the hyperparameters that this search cannot draw, each with the reason; '' stands for the space."""
        yield from ()

    @classmethod
    def size(cls, space: Space, draws: int) -> int:
        """Return how many draws of a space there are, where a spec asks for this many."""
        return draws

    @abstractmethod
    def drawn(self, folder: Folder) -> Drawn:
        """Return every draw that is known now; `folder` is the sweep's."""

    def forecast(self, folder: Folder) -> Drawn:
        """Return all draws, with stand-ins of the same cost for those that are not known yet."""
        return self.drawn(folder)

    def record(self, folder: Folder, drawn: Drawn) -> None:
        """Write draws that may repeat each other to the sweep's folder, where they tell readers which are equal."""
        for method, draws in drawn.items():
            if may_repeat(self.spaces[method]):
                folder.write(draws_name(method), json.dumps(list(draws)).encode())


class PresetSearch(Search):
    """A search whose draws are all known before anything is trained."""

    def drawn(self, folder: Folder) -> Drawn:
        return {method: self.draw(method, space) for method, space in self.spaces.items()}

    @abstractmethod
    def draw(self, method: str, space: Space) -> Sequence[Values]:
        """Return the draws of one method."""


class QuantileSearch(PresetSearch):
    """A search that draws quantiles, and takes the values of every distribution at them."""

    def draw(self, method: str, space: Space) -> Sequence[Values]:
        searched = sorted(name for name, distribution in space.items() if not distribution.is_constant)
        return QuantileDraws(space, self.quantiles(method, searched), self.draws)

    @abstractmethod
    def quantiles(self, method: str, names: list[str]) -> Mapping[str, np.ndarray]:
        """Return a number in [0, 1) for each of these hyperparameters and each draw."""
