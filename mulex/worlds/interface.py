"""What an agent needs of the worlds of a pack, whatever they are made of.

A *record* is the little that a frame can be drawn from again: it is what the replay keeps. Axes: P members, N frames.
"""

from typing import Protocol

import numpy as np

from mulex.worlds.pack import Outcome, WorldPack
from mulex.worlds.world import World


class Worlds(Protocol):
    """P worlds stepped together."""

    actions: int
    record_shape: tuple[int, ...]
    record_dtype: np.dtype
    frame_shape: tuple[int, ...]  # rows, cols (and channels), or one number for a flat observation
    states: int | None  # how many states can be counted; None if they cannot
    repeats: bool  # whether equal actions always give equal episodes
    time_limit: int | None
    ideal_return: float | None

    def observe(self) -> np.ndarray:
        """The records of what is seen now: (P, *record_shape)."""

    def step(self, actions: np.ndarray) -> Outcome:
        """Move every member by its action (P,)."""

    def restart(self, who: np.ndarray) -> None:
        """Begin a new episode for the members of a mask (P,)."""

    def frames(self, records: np.ndarray) -> np.ndarray:
        """Draw records (N, *record_shape): (N, *frame_shape)."""

    def save(self) -> dict[str, np.ndarray]:
        """All that changes, as arrays."""

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Take what `save` gave."""

    def close(self) -> None:
        """Let go of what the worlds hold."""


class GridWorlds(WorldPack):
    """Table worlds: a record is the state's id and the ghosts' cells."""

    def __init__(self, world: World, keys: np.ndarray) -> None:
        super().__init__(world, keys)
        tables = world.tables
        self.actions = tables.next_state.shape[1]
        self.record_shape: tuple[int, ...] = (1 + world.ghosts,)
        most = max(len(tables.next_state), int(np.prod(tables.layout.shape)))
        self.record_dtype = np.dtype(np.uint16 if most <= 2**16 else np.int32)
        self.frame_shape: tuple[int, ...] = world.frame_shape
        self.states: int | None = len(tables.next_state)
        self.repeats = world.ghosts == 0
        self.time_limit: int | None = world.time_limit
        self.ideal_return: float | None = tables.layout.ideal_return

    def observe(self) -> np.ndarray:
        if not self.world.ghosts:
            return self.state[:, None].astype(self.record_dtype)
        return np.concatenate([self.state[:, None], self.ghosts], axis=1).astype(self.record_dtype)

    def frames(self, records: np.ndarray) -> np.ndarray:  # type: ignore[override]
        return self.world.frames(records[:, 0].astype(np.int64), records[:, 1:].astype(np.int64))

    def save(self) -> dict[str, np.ndarray]:
        names = ("state", "steps", "places", "ghosts", "directions")
        return {name: getattr(self, name).copy() for name in names}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            getattr(self, name)[:] = array

    def close(self) -> None:
        """Tables hold nothing that must be let go of."""
