"""Prioritised sampling over a pack: a shallow tree of sums with 32 children per node, each level one array.

A slot can be sampled only while its priority is positive. Axes: P members, B batch.
"""

import numpy as np

FANOUT = 32


class Priorities:
    """Priorities of `size` slots per member. Parents are summed again after every change, so sums never drift."""

    def __init__(self, members: int, size: int) -> None:
        self.members = members
        widths = [-(-size // FANOUT) * FANOUT]
        while widths[-1] > FANOUT:
            widths.append(-(-(widths[-1] // FANOUT) // FANOUT) * FANOUT)
        self.levels = [np.zeros((members, width), dtype=np.float32) for width in widths]  # leaves first
        self.largest = np.ones(members, dtype=np.float32)
        self.low = self.high = 0  # the range of transitions that can be sampled, as in Replay.usable

    def follow(self, low: int, high: int, size: int) -> None:
        """Move to the replay's usable range [low, high): slots that left get priority 0, new ones the largest yet."""
        left = np.arange(self.low, min(low, self.high)) % size
        new = np.arange(max(self.high, low), high) % size
        self.low, self.high = low, high
        for slots, priority in ((left, np.zeros_like(self.largest)), (new, self.largest)):
            if len(slots):
                shape = self.members, len(slots)
                self.set(np.broadcast_to(slots, shape), np.broadcast_to(priority[:, None], shape))

    def set(self, slot: np.ndarray, priority: np.ndarray) -> None:
        """Set the priorities (P, B) of slots (P, B)."""
        member = np.arange(self.members)[:, None]
        self.levels[0][member, slot] = priority
        for below, above in zip(self.levels[:-1], self.levels[1:], strict=True):
            slot = slot // FANOUT
            families = below.reshape(self.members, -1, FANOUT)
            above[member, slot] = families[member, slot].sum(axis=2)

    def learned(self, slot: np.ndarray, priority: np.ndarray) -> None:
        """Set the priorities (P, B) of slots that were learned from, and keep the largest for new slots."""
        self.largest = np.maximum(self.largest, priority.max(axis=1))
        self.set(slot, priority)

    def sample(self, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sample slots (P, B) in proportion to priority, one per B-th of the total; returns slots and priorities."""
        members, batch = uniform.shape
        member = np.arange(members)[:, None]
        top = np.cumsum(self.levels[-1], axis=1, dtype=np.float64)[:, -1:]
        mass = (np.arange(batch) + uniform) / batch * top  # (P, B) float64
        node = np.zeros((members, batch), dtype=np.int64)
        for level in reversed(self.levels):
            family = level.reshape(members, -1, FANOUT)[member, node].astype(np.float64)  # (P, B, FANOUT)
            node, mass = _descend(family, node, mass)
        return node, self.levels[0][member, node]

    def save(self) -> dict[str, np.ndarray]:
        levels = {f"level.{i}": level for i, level in enumerate(self.levels)}
        return levels | {"largest": self.largest, "range": np.array([self.low, self.high])}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what `save` returned."""
        for i, level in enumerate(self.levels):
            level[:] = arrays[f"level.{i}"]
        self.largest = arrays["largest"].copy()
        self.low, self.high = (int(bound) for bound in arrays["range"])


def _descend(family: np.ndarray, node: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the child that the mass falls in, never one with priority 0; returns its node and the rest of the mass."""
    sums = np.cumsum(family, axis=2)
    child = np.minimum((sums <= mass[..., None]).sum(axis=2), _last_positive(family))
    before = np.where(child > 0, np.take_along_axis(sums, np.maximum(child - 1, 0)[..., None], axis=2)[..., 0], 0.0)
    return node * FANOUT + child, mass - before


def _last_positive(family: np.ndarray) -> np.ndarray:
    return FANOUT - 1 - (family[..., ::-1] > 0).argmax(axis=2)
