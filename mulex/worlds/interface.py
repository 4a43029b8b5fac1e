"""The interface of the worlds of a pack, and its implementation for grid worlds.

A *record* is the compact data that a frame can be drawn from; the replay keeps records. Axes: P members, N frames.
"""

from typing import Protocol

import numpy as np

from mulex.worlds.pack import Outcome, WorldPack
from mulex.worlds.world import World


class Worlds(Protocol):
    """P worlds that are stepped together."""

    actions: int
    record_shape: tuple[int, ...]
    record_dtype: np.dtype
    frame_shape: tuple[int, ...]  # rows, cols (and channels), or one number for a flat observation
    states: int | None  # the number of states; None if they cannot be counted
    repeats: bool  # whether equal actions always give equal episodes
    time_limit: int | None
    ideal_return: float | None

    def observe(self) -> np.ndarray:
        """Return the records of the present observations: (P, *record_shape)."""

    def step(self, actions: np.ndarray) -> Outcome:
        """Move every member by its action (P,)."""

    def restart(self, who: np.ndarray) -> None:
        """Begin a new episode for the members of a mask (P,)."""

    def frames(self, records: np.ndarray) -> np.ndarray:
        """Draw the frames (N, *frame_shape) of records (N, *record_shape)."""

    def save(self) -> dict[str, np.ndarray]:
        """Return the state of all worlds as arrays."""

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state that `save` returned."""

    def close(self) -> None:
        """Close the worlds."""


class GridWorlds(WorldPack):
    """Worlds stepped by their tables. A record is the state's id and the ghosts' cells."""

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
        return {name: array.copy() for name, array in self._changing().items()}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        for name, array in self._changing().items():
            array[:] = arrays[name]

    def _changing(self) -> dict[str, np.ndarray]:
        """Return the arrays of a checkpoint by their names on disk."""
        return {
            "state": self.state,
            "steps": self.steps,
            "places": self.words_used,
            "ghosts": self.ghosts,
            "directions": self.directions,
        }

    def close(self) -> None:
        """Do nothing: tables need no closing."""
