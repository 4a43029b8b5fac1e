"""Random numbers as a function of (key, index): word n of a stream can be computed without the words before it.

A stream is a 64-bit key, and its words are those of SplitMix64. So a member's numbers never depend on its index in a
pack, a checkpoint needs only one counter per stream, and compiled code reproduces the numbers in a few lines.
"""

import hashlib

import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11, _32 = (np.uint64(n) for n in (30, 27, 31, 11, 32))
_ONE = np.uint64(1)


def stream_key(owner: str, purpose: str) -> int:
    """Return the key of one of an owner's streams, for example of the ghosts of a run."""
    digest = hashlib.sha256(f"{owner}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def stream_keys(owners: list[str], purpose: str) -> np.ndarray:
    """Return the key of the same stream for every owner: (P,) uint64."""
    return np.array([stream_key(owner, purpose) for owner in owners], dtype=np.uint64)


def words(keys: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the 64-bit words of the streams at these indices; the two arrays broadcast."""
    z = keys + (indices.astype(np.uint64) + _ONE) * _STEP
    z ^= z >> _30
    z *= _MIX_1
    z ^= z >> _27
    z *= _MIX_2
    z ^= z >> _31
    return z


def uniforms(keys: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1) with 53 random bits."""
    return (words(keys, indices) >> _11).astype(np.float64) * 2.0**-53


def below(low_words: np.ndarray, n: int) -> np.ndarray:
    """Map the low 32 bits of words to whole numbers in [0, n), where n is at most 2**32."""
    low = low_words & np.uint64(0xFFFFFFFF)
    return ((low * np.uint64(n)) >> _32).astype(np.int64)
