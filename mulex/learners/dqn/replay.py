"""The replay of a pack: rings of records, from which stacks of frames are assembled when they are sampled.

A record is what a world needs to draw a frame again: a state id (and the ghosts' cells), or the frame itself. Axes: P
members, N slots, D numbers of a record, B batch, C frames of a stack.
"""

from dataclasses import dataclass

import numpy as np

TERMINAL, TRUNCATED = 4, 8  # flags; the two bits below hold the step in its episode, up to 3
_AGE = 3  # so a stack has at most 4 frames


@dataclass(frozen=True)
class Batch:
    """A batch that heads learn from. Rewards are kept by signal, the task first, then the bonuses."""

    slot: np.ndarray  # (P, B) int64: the transitions' slots in the rings
    stack: np.ndarray  # (P, B, C, D): records of the frames seen before acting, oldest first
    next_stack: np.ndarray  # (P, B, C, D): of the frames after the last step of the return
    action: np.ndarray  # (P, B) int64
    rewards: np.ndarray  # (P, B, n, signals) float32, zero after an end
    records: np.ndarray  # (P, B, n, D): the state of each step that the bonus is for
    steps: np.ndarray  # (P, B) int64: number of steps in the return
    terminal: np.ndarray  # (P, B) bool: no bootstrapping after the last step
    counts: np.ndarray  # (P, B, n) bool: which steps belong to the return


class Replay:
    """Rings of `size` transitions; all members write at the same slot."""

    def __init__(
        self, members: int, size: int, record: tuple[int, ...], dtype: np.dtype, signals: int, stack: int
    ) -> None:
        self.size, self.members, self.stack = size, members, stack
        self.written = 0
        self.record = np.zeros((members, size, *record), dtype=dtype)
        self.next_record = np.zeros((members, size, *record), dtype=dtype)
        self.action = np.zeros((members, size), dtype=np.uint8)
        self.reward = np.zeros((members, size, signals), dtype=np.float32)
        self.flags = np.zeros((members, size), dtype=np.uint8)
        self._base = np.arange(members)[:, None] * size  # (P, 1)

    def add(
        self,
        record: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        next_record: np.ndarray,
        flags: np.ndarray,
    ) -> int:
        """Write one transition per member; returns its slot."""
        slot = self.written % self.size
        self.record[:, slot] = record
        self.next_record[:, slot] = next_record
        self.action[:, slot] = action
        self.reward[:, slot] = reward
        self.flags[:, slot] = flags
        self.written += 1
        return slot

    def usable(self, n_step: int) -> tuple[int, int]:
        """Return the range of transitions with a full stack and n steps, counted from the first ever written."""
        full = self.written > self.size
        oldest = self.written - self.size + self.stack - 1 if full else 0
        return oldest, self.written - (n_step - 1)

    def uniform_slots(self, uniform: np.ndarray, n_step: int) -> np.ndarray:
        """Map numbers in [0, 1) of shape (P, B) to slots, all usable ones equally likely."""
        low, high = self.usable(n_step)
        return (low + (uniform * (high - low)).astype(np.int64)) % self.size

    def batch(self, slot: np.ndarray, n_step: int, bootstrap_at_limit: bool, entered: bool) -> Batch:
        """Assemble the transitions at slots (P, B)."""
        path = (slot[..., None] + np.arange(n_step)) % self.size  # (P, B, n)
        flags = self._take(self.flags, path)
        ends = flags >= TERMINAL
        counts = np.ones_like(ends)
        counts[..., 1:] = ~np.logical_or.accumulate(ends[..., :-1], axis=2)
        steps = counts.sum(axis=2)
        last = (slot + steps - 1) % self.size
        last_flags = self._take(self.flags, last)
        over = (last_flags & TERMINAL) > 0 if bootstrap_at_limit else last_flags >= TERMINAL
        return Batch(
            slot=slot,
            stack=self._stack(slot, flags[..., 0]),
            next_stack=self._next_stack(last, last_flags),
            action=self._take(self.action, slot).astype(np.int64),
            rewards=self._take(self.reward, path) * counts[..., None],
            records=self._take(self.next_record if entered else self.record, path),
            steps=steps,
            terminal=over,
            counts=counts,
        )

    def save(self) -> dict[str, np.ndarray]:
        """Return the part of the rings that has been written."""
        used = min(self.written, self.size)
        rings = {name: ring[:, :used] for name, ring in self._rings().items()}
        return rings | {"written": np.array(self.written)}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what `save` returned."""
        self.written = int(arrays["written"])
        for name, ring in self._rings().items():
            ring[:, : arrays[name].shape[1]] = arrays[name]

    def _rings(self) -> dict[str, np.ndarray]:
        names = ("record", "next_record", "action", "reward", "flags")
        return {name: getattr(self, name) for name in names}

    def _take(self, ring: np.ndarray, slots: np.ndarray) -> np.ndarray:
        base = self._base.reshape(self.members, *[1] * (slots.ndim - 1))
        return ring.reshape(self.members * self.size, *ring.shape[2:])[slots + base]

    def _behind(self, flags: np.ndarray, frames: int) -> np.ndarray:
        """Return how many slots back the last frames lie, never before the episode's first: (..., frames)."""
        age = (flags & _AGE).astype(np.int64)[..., None]
        return np.minimum(np.arange(frames - 1, -1, -1), age)

    def _stack(self, slot: np.ndarray, flags: np.ndarray) -> np.ndarray:
        slots = (slot[..., None] - self._behind(flags, self.stack)) % self.size
        return self._take(self.record, slots)

    def _next_stack(self, slot: np.ndarray, flags: np.ndarray) -> np.ndarray:
        newest = self._take(self.next_record, slot)[:, :, None]
        if self.stack == 1:
            return newest
        slots = (slot[..., None] - self._behind(flags, self.stack - 1)) % self.size
        return np.concatenate([self._take(self.record, slots), newest], axis=2)


def flags_of(age: np.ndarray, terminal: np.ndarray, truncated: np.ndarray) -> np.ndarray:
    """Encode the step in the episode and how the step ended as flags (P,) uint8."""
    return (np.minimum(age, _AGE) | terminal * TERMINAL | truncated * TRUNCATED).astype(np.uint8)
