"""Random streams: the published sequence, the right distributions, and keys of their own for everybody."""

import itertools

import numpy as np
import pytest

from mulex import streams
from mulex.config import GridWorldConfig
from mulex.streams import below, stream_key, stream_keys, uniforms, words
from tests.support.agents import Case, train

# The reference SplitMix64 (Steele, Lea, Flood; Vigna's C code) seeded with 1234567.
REFERENCE_SEED = 1234567
REFERENCE = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]
GOLDEN_KEY = 11034249528738026866
KEYS = stream_keys([str(i) for i in range(100)], "test")[:, None]
PLACES = np.arange(1000)


def splitmix64(state):
    """The reference algorithm in plain Python: one word after another."""
    mask = 2**64 - 1
    while True:
        state = state + 0x9E3779B97F4A7C15 & mask
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        yield z ^ z >> 31


def test_words_are_the_published_sequence():
    key = np.array([REFERENCE_SEED], dtype=np.uint64)
    assert words(key, np.arange(5)).tolist() == REFERENCE
    assert list(itertools.islice(splitmix64(REFERENCE_SEED), 5)) == REFERENCE


@pytest.mark.parametrize("key", [0, 1, 2**63, 2**64 - 1])
def test_words_of_extreme_keys(key):
    found = words(np.array([key], dtype=np.uint64), np.arange(100))
    assert found.tolist() == list(itertools.islice(splitmix64(key), 100))


def test_a_word_depends_on_its_key_and_place_alone():
    """Any word can be asked for, in any order and company."""
    whole = words(KEYS, PLACES)
    assert whole.shape == (100, 1000)
    some = np.array([999, 3, 500])
    np.testing.assert_array_equal(words(KEYS[[7, 2]], some), whole[[7, 2]][:, some])
    np.testing.assert_array_equal(words(KEYS, np.full((100, 1), 17)), whole[:, 17:18])


def test_words_leave_their_arguments_alone():
    keys, places = KEYS.copy(), PLACES.copy()
    words(keys, places)
    np.testing.assert_array_equal(keys, KEYS)
    np.testing.assert_array_equal(places, PLACES)


def test_uniforms_have_the_right_range_mean_and_variance():
    """100,000 numbers; mean and variance within 5 standard deviations: false alarms 1 in 10^6."""
    drawn = uniforms(KEYS, PLACES)
    assert drawn.dtype == np.float64
    assert drawn.min() >= 0
    assert drawn.max() < 1
    n = drawn.size
    assert abs(drawn.mean() - 1 / 2) < 5 * np.sqrt(1 / 12 / n)
    assert abs(((drawn - 1 / 2) ** 2).mean() - 1 / 12) < 5 * np.sqrt(1 / 180 / n)


def test_uniforms_are_the_highest_53_bits():
    drawn = uniforms(KEYS, PLACES)
    expected = [[(word >> 11) / 2**53 for word in row] for row in words(KEYS, PLACES).tolist()]
    assert drawn.tolist() == expected


@pytest.mark.parametrize(
    ("n", "bound"),
    [(4, 30.7), (7, 38.3), (10, 44.8), (22, 67.1), (100, 180.8)],  # chi-square, n - 1 degrees of freedom
)
def test_below_is_uniform(n, bound):
    """100,000 numbers each; false alarms 1 in 10^6."""
    drawn = below(words(KEYS, PLACES), n)
    counts = np.bincount(drawn.ravel(), minlength=n)
    assert len(counts) == n
    expected = drawn.size / n
    assert ((counts - expected) ** 2 / expected).sum() < bound


def test_below_at_the_edges_of_its_range():
    """The lowest word gives 0 and the highest n - 1, up to the largest n; the high 32 bits play no part."""
    extremes = np.array([0, 2**32 - 1, 2**64 - 2**32, 2**64 - 1], dtype=np.uint64)
    assert below(extremes, 1).tolist() == [0, 0, 0, 0]
    assert below(extremes, 22).tolist() == [0, 21, 0, 21]
    assert below(extremes, 2**32).tolist() == [0, 2**32 - 1, 0, 2**32 - 1]


def test_keys_differ_by_owner_and_by_purpose():
    names = [f"run-{i}" for i in range(50)]
    keys = {stream_key(owner, purpose) for owner in names for purpose in ("ghost", "acting", "replay")}
    assert len(keys) == 150
    assert all(0 <= key < 2**64 for key in keys)


def test_keys_are_the_same_on_every_machine_and_day():
    """Results must come out the same for ever: the first eight bytes of SHA-256 of "run/ghost", little-endian."""
    assert stream_key("run", "ghost") == GOLDEN_KEY
    found = stream_keys(["other", "run"], "ghost")
    assert found.dtype == np.uint64
    assert found.tolist() == [stream_key("other", "ghost"), GOLDEN_KEY]


def test_no_two_parts_of_a_pack_share_a_stream(monkeypatch):
    """Every member asks for each of its streams once: also no two evaluations are played with the same chance."""
    asked = []

    def spying_key(owner, purpose):
        asked.append((owner, purpose))
        return stream_key(owner, purpose)

    monkeypatch.setattr(streams, "stream_key", spying_key)
    engine, _ = train(
        Case("mulex", GridWorldConfig(map="two_rooms", room_size=3, ghosts=1, time_limit=25)).members(3), 2
    )
    assert len(set(asked)) == len(asked)
    purposes = [{purpose for owner, purpose in asked if owner == run} for run in engine.ids]
    assert purposes[0] == purposes[1] == purposes[2]
    assert 3 * len(purposes[0]) == len(asked)


def test_streams_of_different_keys_are_uncorrelated():
    """All pairs of neighbours among 100 streams together, within 5 standard deviations: false alarms 1 in 10^6."""
    drawn = uniforms(KEYS, PLACES) - 0.5
    product = drawn[1:] * drawn[:-1]
    assert abs(product.mean()) < 5 / 12 / np.sqrt(product.size)
