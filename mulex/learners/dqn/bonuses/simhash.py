"""SimHash: visit counts of a hash of the frame, for any observation that is an array."""

from collections.abc import Callable
from functools import cache

import numpy as np
from PIL import Image

from mulex.config import RunConfig
from mulex.learners.dqn.bonuses.counts import StateBonus, bonus_of
from mulex.streams import uniforms
from mulex.worlds.interface import GridWorlds, Worlds
from mulex.worlds.world import World

HASH_SIDE, HASH_BINS, HASH_BITS = 13, 10, 256  # given
VECTOR_BITS = 32  # chosen, as Tang et al. (2017) have for vectors: more bits would tell almost all of them apart
GREY = np.array([0.299, 0.587, 0.114])
_PROJECTION_KEY = 0x51A5
MOST_REMEMBERED = 200_000  # hash codes of distinct records; bounds the memory in worlds without end

Hash = Callable[[np.ndarray], bytes]


class StateSimHashBonus(StateBonus):
    """Counts SimHash codes in a world where every state has one frame, so all codes are computed in advance."""

    def __init__(self, members: int, world: World) -> None:
        super().__init__(members, state_codes(world))


class SimHashBonus:
    """Counts SimHash codes of any frames; each distinct record is hashed once."""

    def __init__(self, members: int, frames: Callable[[np.ndarray], np.ndarray], hashed: Hash | None = None) -> None:
        """`frames` turns records (N, D) into frames, and `hashed` a frame into its code."""
        self.counts: list[dict[bytes, int]] = [{} for _ in range(members)]
        self._frames, self._hash = frames, hashed or simhash
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
        ends = np.cumsum(arrays["kinds"])
        codes = arrays["codes"].reshape(ends[-1], -1)
        for counts, start, end in zip(self.counts, ends - arrays["kinds"], ends, strict=True):
            counts.clear()
            counts.update(zip((c.tobytes() for c in codes[start:end]), arrays["seen"][start:end].tolist(), strict=True))

    def _code(self, record: np.ndarray) -> bytes:
        key = record.tobytes()
        if key not in self._codes:
            if len(self._codes) >= MOST_REMEMBERED:
                self._codes.clear()
            self._codes[key] = self._hash(self._frames(record[None])[0])
        return self._codes[key]


def make_simhash(worlds: Worlds, runs: list[RunConfig], device: str) -> StateSimHashBonus | SimHashBonus:
    """Make the bonus for any world whose observations are arrays."""
    if isinstance(worlds, GridWorlds) and not worlds.world.ghosts:
        return StateSimHashBonus(len(runs), worlds.world)
    pictures = isinstance(worlds, GridWorlds) or (worlds.record_dtype == np.uint8 and len(worlds.frame_shape) > 1)
    return SimHashBonus(len(runs), worlds.frames, simhash if pictures else vector_hash)


def state_codes(world: World) -> np.ndarray:
    """Return the SimHash code of each state's frame, codes numbered in the order they are met: (S,) int32."""
    known: dict[bytes, int] = {}
    states, nobody = len(world.tables.next_state), np.empty((1, 0), dtype=np.int64)
    codes = (simhash(world.frames(np.array([state]), nobody)[0]) for state in range(states))
    return np.array([known.setdefault(code, len(known)) for code in codes], dtype=np.int32)


def simhash(frame: np.ndarray) -> bytes:
    """Hash a frame (rows, cols) or (rows, cols, channels) to 256 bits: shrink, bin and project it, keep the signs."""
    small = Image.fromarray(_grey(frame)).resize((HASH_SIDE, HASH_SIDE), Image.Resampling.BILINEAR)
    binned = np.asarray(small, dtype=np.int64) * HASH_BINS // 256
    return np.packbits(PROJECTION @ binned.ravel() > 0).tobytes()


def _grey(frame: np.ndarray) -> np.ndarray:
    """Return the brightness of each pixel: of red, green and blue as ITU-R 601 weighs them, else the mean."""
    if frame.ndim == 2:
        return frame.astype(np.uint8)
    weights = GREY if frame.shape[2] == 3 else np.full(frame.shape[2], 1 / frame.shape[2])
    return np.round(frame @ weights).astype(np.uint8)


def vector_hash(vector: np.ndarray) -> bytes:
    """Hash any numbers to 32 bits: compress them to sign(x) log(1 + |x|), project them and a 1, keep the signs.

    The constant lets the planes miss the origin, so that vectors of one direction and different size differ too.
    """
    flat = vector.astype(np.float64).ravel()
    scaled = np.append(np.sign(flat) * np.log1p(np.abs(flat)), 1.0)
    return np.packbits(_gaussian(VECTOR_BITS, len(scaled)) @ scaled > 0).tobytes()


@cache
def _gaussian(rows: int, cols: int) -> np.ndarray:
    """Draw independent standard normal numbers by the Box-Muller rule; they are the same in every run."""
    n = rows * cols
    key = np.array([_PROJECTION_KEY], dtype=np.uint64)
    radius = np.sqrt(-2 * np.log1p(-uniforms(key, np.arange(n))))
    angle = 2 * np.pi * uniforms(key, np.arange(n, 2 * n))
    return (radius * np.cos(angle)).reshape(rows, cols)


PROJECTION = _gaussian(HASH_BITS, HASH_SIDE**2)
