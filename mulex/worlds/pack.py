"""P copies of one world that are stepped together as arrays. Axes: P members, G ghosts."""

from typing import NamedTuple

import numpy as np

from mulex.streams import below, words
from mulex.worlds.tables import ACTIONS
from mulex.worlds.world import World

_62, _60 = np.uint64(62), np.uint64(60)
_3 = np.uint64(3)
_ACTIONS, _ONE = np.array(ACTIONS), np.array(1)  # arrays, because NumPy takes twice as long for Python's numbers


class Outcome(NamedTuple):
    """The result of a step for each member."""

    reward: np.ndarray  # (P,) float32
    terminal: np.ndarray  # (P,) bool: the game is over
    truncated: np.ndarray  # (P,) bool: the time limit was reached first


class WorldPack:
    """The changing part of P worlds. `advance` restarts ended episodes; `step` leaves them in their last state."""

    def __init__(self, world: World, keys: np.ndarray) -> None:
        """`keys` (P,) uint64 are the keys of the members' ghost streams."""
        members = len(keys)
        self.world = world
        self.keys = keys[:, None]
        self.words_used = np.zeros((members, 1), dtype=np.int64)  # of the ghosts' streams
        self.state = np.zeros(members, dtype=np.int64)
        self.steps = np.zeros(members, dtype=np.int64)
        self.ghosts = np.zeros((members, world.ghosts), dtype=np.int64)
        self.directions = np.zeros((members, world.ghosts), dtype=np.int64)
        tables = world.tables
        self._next = tables.next_state.ravel()
        self._reward = tables.reward.ravel()
        self._terminal = tables.terminal.ravel()
        self._limit = np.array(world.time_limit)
        self.restart(np.ones(members, dtype=bool))

    def restart(self, who: np.ndarray) -> None:
        """Begin a new episode for the members of a mask (P,)."""
        self.state[who] = 0
        self.steps[who] = 0
        if self.world.ghosts:
            drawn = self._ghost_words(who)
            starts = self.world.ghost_starts
            self.ghosts[who] = starts[below(drawn, len(starts))]
            self.directions[who] = (drawn >> _62).astype(np.int64)

    def step(self, actions: np.ndarray) -> Outcome:
        """Move every member by its action (P,)."""
        entry = self.state * _ACTIONS + actions  # of the flat tables
        before, self.state = self.state, self._next[entry]
        reward = self._reward[entry]
        terminal = self._terminal[entry]
        self.steps = self.steps + _ONE
        if self.world.ghosts:
            caught = self._move_ghosts(before)
            reward[caught] = 0.0
            terminal |= caught
        truncated = (self.steps >= self._limit) > terminal  # over time and not terminal
        return Outcome(reward, terminal, truncated)

    def advance(self, actions: np.ndarray) -> Outcome:
        """Take a step, then begin a new episode for every member whose episode ended with it."""
        outcome = self.step(actions)
        ended = outcome.terminal | outcome.truncated
        if ended.any():
            self.restart(ended)
        return outcome

    def frames(self) -> np.ndarray:
        """Draw what each member sees now: (P, *frame_shape) uint8."""
        return self.world.frames(self.state, self.ghosts)

    def _ghost_words(self, who: np.ndarray) -> np.ndarray:
        """Draw the next word of each ghost of the members of a mask: (n, G)."""
        drawn = words(self.keys[who], self.words_used[who] + np.arange(self.world.ghosts))
        self.words_used[who] += self.world.ghosts
        return drawn

    def _move_ghosts(self, before: np.ndarray) -> np.ndarray:
        """Move all ghosts; returns which agents (P,) met one, on the same cell or by swapping cells."""
        world = self.world
        drawn = self._ghost_words(np.ones(len(before), dtype=bool))
        turns = (drawn >> _62) == 0  # one word in four: the given 25 %
        self.directions = np.where(turns, ((drawn >> _60) & _3).astype(np.int64), self.directions)
        items = world.tables.items[self.state][:, None]
        old, self.ghosts = self.ghosts, world.ghost_moves[items, self.ghosts, self.directions]
        here, there = world.positions[self.state][:, None], world.positions[before][:, None]
        real = world.tables.world[self.state] == 0
        was_real = (world.tables.world[before] == 0)[:, None]
        met = (self.ghosts == here) | ((self.ghosts == there) & (old == here) & was_real)
        return np.asarray(met.any(axis=1) & real)
