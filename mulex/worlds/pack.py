"""P copies of one world, stepped together. Arrays in, arrays out: axis P is the members, G the ghosts."""

from typing import NamedTuple

import numpy as np

from mulex.streams import below, words
from mulex.worlds.tables import ACTIONS
from mulex.worlds.world import World

_62, _60 = np.uint64(62), np.uint64(60)
_3 = np.uint64(3)
_ACTIONS, _ONE = np.array(ACTIONS), np.array(1)  # arrays: NumPy takes twice as long over Python's numbers


class Outcome(NamedTuple):
    """What a step brought each member."""

    reward: np.ndarray  # (P,) float32
    terminal: np.ndarray  # (P,) bool: the game is over
    truncated: np.ndarray  # (P,) bool: the time limit was reached first


class WorldPack:
    """The changing part of P worlds. `advance` restarts ended episodes; after `step` their last state can be seen."""

    def __init__(self, world: World, keys: np.ndarray) -> None:
        """`keys` (P,) uint64 are the members' ghost streams."""
        members = len(keys)
        self.world = world
        self.keys = keys[:, None]
        self.places = np.zeros((members, 1), dtype=np.int64)  # how many ghost words are used up
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
        place = self.state * _ACTIONS + actions
        before, self.state = self.state, self._next[place]
        reward = self._reward[place]
        terminal = self._terminal[place]
        self.steps = self.steps + _ONE
        if self.world.ghosts:
            caught = self._move_ghosts(before)
            reward[caught] = 0.0
            terminal |= caught
        truncated = (self.steps >= self._limit) > terminal  # late, and not over
        return Outcome(reward, terminal, truncated)

    def advance(self, actions: np.ndarray) -> Outcome:
        """A step, and a new episode at once for every member whose episode ended with it."""
        outcome = self.step(actions)
        ended = outcome.terminal | outcome.truncated
        if ended.any():
            self.restart(ended)
        return outcome

    def frames(self) -> np.ndarray:
        """What each member sees now: (P, *frame_shape) uint8."""
        return self.world.frames(self.state, self.ghosts)

    def _ghost_words(self, who: np.ndarray) -> np.ndarray:
        """The next word of each ghost of the members of a mask: (n, G)."""
        drawn = words(self.keys[who], self.places[who] + np.arange(self.world.ghosts))
        self.places[who] += self.world.ghosts
        return drawn

    def _move_ghosts(self, before: np.ndarray) -> np.ndarray:
        """All ghosts move while the agents do; (P,) bool says who met one, on a cell or by swapping cells."""
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
