"""Exploration bonuses: 1 / sqrt(how often this was seen), counted on states or on hashes of frames."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from PIL import Image

from mulex.errors import UserError
from mulex.streams import uniforms
from mulex.worlds.interface import GridWorlds, Worlds
from mulex.worlds.world import World

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


class StateBonus:
    """Counts of the states of a table world, or of classes of them."""

    def __init__(self, members: int, index: np.ndarray) -> None:
        """`index` (S,) int32 is the class that each state is counted in."""
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


class OracleBonus(StateBonus):
    """Exact counts of the states."""

    def __init__(self, members: int, states: int) -> None:
        super().__init__(members, np.arange(states, dtype=np.int32))


class StateSimHashBonus(StateBonus):
    """Counts of SimHash codes where every state has one frame: all codes are computed ahead."""

    def __init__(self, members: int, world: World) -> None:
        super().__init__(members, state_codes(world))


class SimHashBonus:
    """Counts of the SimHash codes of any frames; a code is computed once for each distinct record."""

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


def make_bonus(name: str, worlds: Worlds, members: int) -> Bonus:
    """The bonus of that name for these worlds, or why it cannot be."""
    if name == "oracle":
        if worlds.states is None:
            raise UserError("bonus oracle: this world's states cannot be counted; use simhash, or a grid world")
        return OracleBonus(members, worlds.states)
    if len(worlds.frame_shape) != 2:
        raise UserError(f"bonus simhash: frames must have two axes, this world's have {len(worlds.frame_shape)}")
    if not isinstance(worlds, GridWorlds) and worlds.record_dtype != np.uint8:
        raise UserError(
            "bonus simhash: frames must be bytes from 0 to 255 (uint8); wrap the environment so that they are"
        )
    if isinstance(worlds, GridWorlds) and not worlds.world.ghosts:
        return StateSimHashBonus(members, worlds.world)
    return SimHashBonus(members, worlds.frames)


def state_codes(world: World) -> np.ndarray:
    """(S,) int32: the SimHash code of each state's frame, codes numbered as they are met."""
    known: dict[bytes, int] = {}
    states, nobody = len(world.tables.next_state), np.empty((1, 0), dtype=np.int64)
    codes = (simhash(world.frames(np.array([state]), nobody)[0]) for state in range(states))
    return np.array([known.setdefault(code, len(known)) for code in codes], dtype=np.int32)


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
