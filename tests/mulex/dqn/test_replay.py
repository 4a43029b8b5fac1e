"""The replay against a naive twin that keeps whole episodes in lists."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.learners.dqn.replay import TERMINAL, TRUNCATED, Replay, flags_of
from mulex.learners.dqn.torch import engine as torch_engine
from mulex.streams import uniforms
from tests.support.agents import Case, train

GOES_ON, OVER, LATE = 0, 1, 2  # how a step ends


@dataclass
class Episode:
    """One member's episode: frames 0 to T, and what was done between them."""

    frames: list[list[int]]
    actions: list[int] = field(default_factory=list)
    rewards: list[tuple[float, float]] = field(default_factory=list)
    end: int = GOES_ON

    def stack(self, t, frames):
        """The last frames up to frame t; where the episode is too young its first one instead."""
        return [self.frames[max(0, t - back)] for back in reversed(range(frames))]


class Twin:
    """Writes the same to a replay and to lists. Every frame is a number that never comes again."""

    def __init__(self, members, size, stack, seed):
        self.replay = Replay(members, size, (2,), np.dtype(np.uint16), signals=2, stack=stack)
        self.rng = np.random.default_rng(seed)
        self.drawn = 0
        self.episodes = [[Episode([self._frame()])] for _ in range(members)]
        self.places = [[] for _ in range(members)]  # by step ever written: its episode and its number in it

    def _frame(self):
        self.drawn += 1
        return [self.drawn, 7 * self.drawn % 1000]

    def write(self, ends):
        """One step of every member, ending as told."""
        steps = [self._step(p, end) for p, end in enumerate(ends)]
        record, action, reward, after, age = (np.array(column) for column in zip(*steps, strict=True))
        ends = np.array(ends)
        slot = self.replay.add(record, action, reward, after, flags_of(age, ends == OVER, ends == LATE))
        assert slot == (self.replay.written - 1) % self.replay.size
        for episodes, end in zip(self.episodes, ends, strict=True):
            if end != GOES_ON:
                episodes.append(Episode([self._frame()]))

    def _step(self, p, end):
        episode = self.episodes[p][-1]
        t = len(episode.actions)
        episode.actions.append(int(self.rng.integers(256)))
        episode.rewards.append(tuple(self.rng.normal(size=2).astype(np.float32).tolist()))
        episode.frames.append(self._frame())
        episode.end = end
        self.places[p].append((episode, t))
        return episode.frames[t], episode.actions[t], episode.rewards[t], episode.frames[t + 1], t

    def check(self, p, place, batch, b, n_step, at_limit, entered):
        """Row b of member p's batch is the transition at a place."""
        episode, t = self.places[p][place]
        steps = min(n_step, len(episode.actions) - t)
        finished = episode.end != GOES_ON and t + steps == len(episode.actions)
        terminal = finished and (episode.end == OVER or not at_limit)
        assert batch.stack[p, b].tolist() == episode.stack(t, self.replay.stack)
        assert batch.next_stack[p, b].tolist() == episode.stack(t + steps, self.replay.stack)
        assert batch.action[p, b] == episode.actions[t]
        rewards = [*episode.rewards[t : t + steps], *[(0.0, 0.0)] * (n_step - steps)]
        assert batch.rewards[p, b].tolist() == [list(reward) for reward in rewards]
        assert batch.counts[p, b].tolist() == [True] * steps + [False] * (n_step - steps)
        assert (batch.steps[p, b], batch.terminal[p, b]) == (steps, terminal)
        seen = episode.frames[t + entered : t + steps + entered]
        assert batch.records[p, b, :steps].tolist() == seen


@given(
    members=st.integers(1, 3),
    size=st.integers(12, 40),
    stack=st.integers(1, 4),
    n_step=st.integers(1, 5),
    steps=st.integers(6, 100),
    restless=st.floats(0.02, 0.5),
    at_limit=st.booleans(),
    entered=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=150, deadline=None)
def test_every_usable_transition_is_as_it_happened(
    members, size, stack, n_step, steps, restless, at_limit, entered, seed
):
    """Stacks never cross an episode's start, returns stop at its end, and the ring may have gone round."""
    twin = Twin(members, size, stack, seed)
    ends = np.random.default_rng(seed).choice(3, size=(steps, members), p=[1 - restless, restless / 2, restless / 2])
    for row in ends.tolist():
        twin.write(row)
    low, high = twin.replay.usable(n_step)
    places = np.arange(low, high)
    slots = np.broadcast_to(places % size, (members, len(places)))
    batch = twin.replay.batch(slots, n_step, at_limit, entered)
    assert batch.slot.tolist() == slots.tolist()
    for p in range(members):
        for b, place in enumerate(places.tolist()):
            twin.check(p, place, batch, b, n_step, at_limit, entered)


@pytest.mark.parametrize("stack", [1, 4])
@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("written", [5, 19, 20, 21, 50])
def test_which_places_are_usable(written, n_step, stack):
    """All that have their n steps; once the ring has gone round, not those whose stack may be overwritten."""
    twin = Twin(1, 20, stack, seed=0)
    for _ in range(written):
        twin.write([GOES_ON])
    low, high = twin.replay.usable(n_step)
    assert high == written - n_step + 1
    assert low == (0 if written <= 20 else written - 20 + stack - 1)


@given(written=st.integers(8, 60), n_step=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_sampling_gives_usable_slots_only(written, n_step, seed):
    """For any numbers in [0, 1), the first and the last one too."""
    twin = Twin(2, 20, 4, seed)
    for _ in range(written):
        twin.write([GOES_ON, GOES_ON])
    uniform = np.random.default_rng(seed).random((2, 50))
    uniform[:, :2] = 0.0, 1 - 2.0**-53
    slots = twin.replay.uniform_slots(uniform, n_step)
    low, high = twin.replay.usable(n_step)
    usable = {place % 20 for place in range(low, high)}
    assert set(slots.ravel().tolist()) <= usable
    assert (slots[0, 0], slots[0, 1]) == (low % 20, (high - 1) % 20)


def test_sampling_is_even():
    """Chi-square of 17 slots, 34,000 draws: above 55.6 (16 degrees of freedom) by chance in 3 of 10^6."""
    twin = Twin(1, 20, 4, 0)
    for _ in range(45):
        twin.write([GOES_ON])
    slots = twin.replay.uniform_slots(np.random.default_rng(0).random((1, 34_000)), 1)
    counts = np.unique(slots, return_counts=True)[1]
    assert len(counts) == 17
    assert ((counts - 2000) ** 2 / 2000).sum() < 55.6


@pytest.mark.parametrize("flavour", ["dqn", "rainbow"])
def test_no_number_is_drawn_twice(flavour, monkeypatch):
    """Each update, each source of batches (two with Rainbow) and each member samples by numbers of its own."""
    drawn = []

    def spying_uniforms(keys, places):
        drawn.append(uniforms(keys, places))
        return drawn[-1]

    monkeypatch.setattr(torch_engine, "uniforms", spying_uniforms)
    engine, _ = train(Case("mulex", training={"flavour": flavour}).members(3), 2)
    assert len(drawn) == engine.updates * (2 if flavour == "rainbow" else 1)
    numbers = np.stack(drawn)
    assert numbers.shape == (len(drawn), 3, 8)
    assert len(np.unique(numbers)) == numbers.size


def test_flags_by_hand():
    age = np.array([0, 1, 3, 4, 100])
    terminal = np.array([False, True, False, False, True])
    truncated = np.array([False, False, True, False, False])
    assert flags_of(age, terminal, truncated).tolist() == [0, 1 | TERMINAL, 3 | TRUNCATED, 3, 3 | TERMINAL]
    assert flags_of(age, terminal, truncated).dtype == np.uint8


@pytest.mark.parametrize("written", [7, 20, 33])
def test_a_loaded_replay_is_the_saved_one(written):
    twin = Twin(2, 20, 4, 0)
    rng = np.random.default_rng(3)
    for _ in range(written):
        twin.write(rng.integers(0, 3, size=2).tolist())
    saved = {name: array.copy() for name, array in twin.replay.save().items()}
    assert saved["record"].shape == (2, min(written, 20), 2)
    other = Replay(2, 20, (2,), np.dtype(np.uint16), signals=2, stack=4)
    other.load(saved)
    assert other.usable(3) == twin.replay.usable(3)
    low, high = other.usable(3)
    slots = np.broadcast_to(np.arange(low, high) % 20, (2, high - low))
    for name, array in vars(other.batch(slots, 3, False, False)).items():
        np.testing.assert_array_equal(array, getattr(twin.replay.batch(slots, 3, False, False), name))


def test_members_rings_do_not_touch():
    """Writing one member's frames leaves the others' where they are."""
    twin = Twin(3, 12, 2, 0)
    for _ in range(30):
        twin.write([GOES_ON] * 3)
    numbers = [set(twin.replay.record[p, :, 0].tolist()) for p in range(3)]
    assert all(len(mine) == 12 for mine in numbers)
    assert not numbers[0] & numbers[1]
    assert not numbers[1] & numbers[2]
