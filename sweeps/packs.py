"""A source of packs to train."""

from typing import Any, Protocol

Config = dict[str, Any]


class Packs(Protocol):
    """Gives one pack after another, as what a trial is given."""

    def total(self) -> int:
        """How many there may be at most."""

    def next(self) -> Config | None:
        """The next pack to train; None when there is none left."""

    def ended(self, name: str) -> None:
        """A pack came to its end, well or not."""


class FixedPacks:
    """Packs that are known ahead."""

    def __init__(self, configs: list[Config]) -> None:
        self._configs, self._waiting = configs, iter(configs)

    def total(self) -> int:
        return len(self._configs)

    def next(self) -> Config | None:
        return next(self._waiting, None)

    def ended(self, name: str) -> None:
        """What came of it is in the store."""
