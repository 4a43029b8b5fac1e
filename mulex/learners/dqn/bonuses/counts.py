"""Visit counts of the states of a table world, or of classes of states."""

import numpy as np


class StateBonus:
    """Counts visits of the classes of states; both engines have it."""

    def __init__(self, members: int, index: np.ndarray) -> None:
        """`index` (S,) int32 has the class of each state."""
        self.index = index
        self.counts = np.zeros((members, int(index.max()) + 1), dtype=np.int32)
        self._member = np.arange(members)

    def visit(self, record: np.ndarray) -> np.ndarray:
        counted = self.index[record[:, 0]]
        self.counts[self._member, counted] += 1
        return bonus_of(self.counts[self._member, counted])

    def value(self, record: np.ndarray) -> np.ndarray:
        return bonus_of(self.counts[self._member[:, None], self.index[record[..., 0]]])

    def save(self) -> dict[str, np.ndarray]:
        return {"counts": self.counts}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.counts[:] = arrays["counts"]


def bonus_of(counts: np.ndarray) -> np.ndarray:
    """Return 1 / sqrt(N) in float32; a count of 0 is taken as 1."""
    return (1.0 / np.sqrt(np.maximum(counts, 1))).astype(np.float32)
