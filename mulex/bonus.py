"""Exploration bonuses: 1 / sqrt(how often this was seen), counted on states or on hashes of frames."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from PIL import Image

from mulex.streams import uniforms

HASH_SIDE, HASH_BINS, HASH_BITS = 13, 10, 256  # given
_PROJECTION_KEY = 0x51A5
MOST_REMEMBERED = 200_000  # codes of distinct records, so that endless worlds do not fill the memory


class Bonus(Protocol):
    """Counts of one kind, for P members. A record is what the replay keeps of a frame (D numbers)."""

    def visit(self, record: np.ndarray) -> np.ndarray:
        """Count the records (P, D), then give their bonuses (P,) float32."""

    def value(self, record: np.ndarray) -> np.ndarray:
        """The bonuses (P, B) float32 of records (P, B, D) by the counts of this moment."""

    def save(self) -> dict[str, np.ndarray]:
        """The counts as arrays."""

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Take the counts of `save`."""


class OracleBonus:
    """Exact counts of the states of a table world."""

    def __init__(self, members: int, states: int) -> None:
        self.counts = np.zeros((members, states), dtype=np.int32)
        self._member = np.arange(members)

    def visit(self, record: np.ndarray) -> np.ndarray:
        state = record[:, 0].astype(np.int64)
        self.counts[self._member, state] += 1
        return bonus_of(self.counts[self._member, state])

    def value(self, record: np.ndarray) -> np.ndarray:
        return bonus_of(self.counts[self._member[:, None], record[..., 0].astype(np.int64)])

    def save(self) -> dict[str, np.ndarray]:
        return {"counts": self.counts}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.counts[:] = arrays["counts"]


class SimHashBonus:
    """Counts of the SimHash codes of frames; a code is computed once for each distinct record."""

    def __init__(self, members: int, frames: Callable[[np.ndarray], np.ndarray]) -> None:
        """`frames` draws records (N, D) as frames (N, rows, cols)."""
        self.counts: list[dict[bytes, int]] = [{} for _ in range(members)]
        self._frames = frames
        self._codes: dict[bytes, bytes] = {}

    def visit(self, record: np.ndarray) -> np.ndarray:
        seen = np.empty(len(record), dtype=np.int64)
        for p, (counts, one) in enumerate(zip(self.counts, record, strict=True)):
            code = self._code(one)
            seen[p] = counts[code] = counts.get(code, 0) + 1
        return bonus_of(seen)

    def value(self, record: np.ndarray) -> np.ndarray:
        seen = [
            [counts.get(self._code(one), 1) for one in row] for counts, row in zip(self.counts, record, strict=True)
        ]
        return bonus_of(np.array(seen))

    def save(self) -> dict[str, np.ndarray]:
        codes = [np.frombuffer(b"".join(counts), dtype=np.uint8) for counts in self.counts]
        return {
            "codes": np.concatenate(codes),
            "seen": np.array([n for counts in self.counts for n in counts.values()], dtype=np.int64),
            "kinds": np.array([len(counts) for counts in self.counts], dtype=np.int64),
        }

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        codes = arrays["codes"].reshape(-1, HASH_BITS // 8)
        ends = np.cumsum(arrays["kinds"])
        for counts, start, end in zip(self.counts, ends - arrays["kinds"], ends, strict=True):
            counts.clear()
            counts.update(zip((c.tobytes() for c in codes[start:end]), arrays["seen"][start:end].tolist(), strict=True))

    def _code(self, record: np.ndarray) -> bytes:
        key = record.tobytes()
        if key not in self._codes:
            if len(self._codes) >= MOST_REMEMBERED:
                self._codes.clear()
            self._codes[key] = simhash(self._frames(record[None])[0])
        return self._codes[key]


def bonus_of(counts: np.ndarray) -> np.ndarray:
    """1 / sqrt(N), in float32; what was never seen counts as seen once."""
    return (1.0 / np.sqrt(np.maximum(counts, 1))).astype(np.float32)


def simhash(frame: np.ndarray) -> bytes:
    """The 256 bits of a frame (rows, cols): shrunk, binned, projected, and the signs kept."""
    small = Image.fromarray(frame.astype(np.uint8)).resize((HASH_SIDE, HASH_SIDE), Image.Resampling.BILINEAR)
    binned = np.asarray(small, dtype=np.int64) * HASH_BINS // 256
    return np.packbits(PROJECTION @ binned.ravel() > 0).tobytes()


def _projection() -> np.ndarray:
    """(256, 169): independent standard normal numbers by the Box-Muller rule, the same in every run."""
    n = HASH_BITS * HASH_SIDE**2
    key = np.array([_PROJECTION_KEY], dtype=np.uint64)
    radius = np.sqrt(-2 * np.log1p(-uniforms(key, np.arange(n))))
    angle = 2 * np.pi * uniforms(key, np.arange(n, 2 * n))
    return (radius * np.cos(angle)).reshape(HASH_BITS, HASH_SIDE**2)


PROJECTION = _projection()
