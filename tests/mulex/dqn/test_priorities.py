"""Prioritised sampling: sums and membership against naive twins, frequencies and weights by statistics."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.learners.dqn.priorities import FANOUT, Priorities
from mulex.learners.dqn.torch.engine import TorchEngine
from tests.support.agents import Case, more

SIZES = st.sampled_from([1, 5, 31, 32, 33, 100, 1024, 1025, 3000])


def leaves(tree, size):
    return tree.levels[0][:, :size]


def random_tree(members, size, seed, share=0.5):
    """Some slots have a priority, among them one at least a member; sizes differ by many orders."""
    rng = np.random.default_rng(seed)
    tree = Priorities(members, size)
    priority = np.exp(rng.normal(size=(members, size)) * 3).astype(np.float32)
    priority[rng.random((members, size)) > share] = 0
    priority[:, rng.integers(size)] = 1
    tree.set(np.broadcast_to(np.arange(size), (members, size)), priority)
    return tree, priority


@given(size=SIZES, seed=st.integers(0, 2**32 - 1), rounds=st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_sums_are_exact(size, seed, rounds):
    """After any sets, every node is the float32 sum of its children, and the leaves are what was set last."""
    rng = np.random.default_rng(seed)
    tree = Priorities(2, size)
    twin = np.zeros((2, size), dtype=np.float32)
    for _ in range(rounds):
        slots = np.stack([rng.permutation(size)[: min(size, 40)] for _ in range(2)])
        priority = rng.random(slots.shape, dtype=np.float32) * (rng.random(slots.shape) < 0.8)
        tree.set(slots, priority.astype(np.float32))
        for p in range(2):
            for slot, value in zip(slots[p], priority[p], strict=True):
                twin[p, slot] = value
    np.testing.assert_array_equal(leaves(tree, size), twin)
    for below, above in zip(tree.levels[:-1], tree.levels[1:], strict=True):
        for p in range(2):
            for node in range(below.shape[1] // FANOUT):
                children = below[p, node * FANOUT : (node + 1) * FANOUT]
                assert above[p, node] == children.sum()
    top = tree.levels[-1].sum(axis=1, dtype=np.float64)
    np.testing.assert_allclose(top, twin.sum(axis=1, dtype=np.float64), rtol=1e-6)
    assert tree.levels[-1].shape[1] == FANOUT


@given(size=SIZES, seed=st.integers(0, 2**32 - 1), share=st.floats(0.0, 1.0))
@settings(max_examples=100, deadline=None)
def test_a_slot_without_priority_is_never_sampled(size, seed, share):
    """For any numbers in [0, 1), the first and the last one too."""
    tree, priority = random_tree(2, size, seed, share)
    uniform = np.random.default_rng(seed + 1).random((2, 64))
    uniform[:, 0], uniform[:, -1] = 0.0, 1 - 2.0**-53
    slots, found = tree.sample(uniform)
    assert slots.max() < size
    for p in range(2):
        assert (priority[p, slots[p]] > 0).all()
        np.testing.assert_array_equal(found[p], priority[p, slots[p]])


@given(size=SIZES, seed=st.integers(0, 2**32 - 1), batch=st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_samples_are_where_a_linear_search_finds_them(size, seed, batch):
    """The b-th sample is the slot in which the running sum passes (b + u) / B of the total."""
    rng = np.random.default_rng(seed)
    tree = Priorities(2, size)
    priority = rng.integers(0, 4, size=(2, size)).astype(np.float32)  # whole numbers: sums without rounding
    priority[:, rng.integers(size)] = 2
    tree.set(np.broadcast_to(np.arange(size), (2, size)), priority)
    uniform = rng.random((2, batch))
    slots, _ = tree.sample(uniform)
    for p in range(2):
        total = float(priority[p].sum())
        for b in range(batch):
            passed, slot = 0.0, -1
            while passed <= (b + uniform[p, b]) / batch * total:
                slot += 1
                passed += float(priority[p, slot])
            assert slots[p, b] == slot


def test_frequencies_are_in_proportion_to_priority():
    """Chi-square of 50 slots, 64,000 draws a member in batches of 32.

    A draw from each 32nd of the total varies less than independent draws, so the bound for 49 degrees of freedom,
    113 (6 in 10^7), is passed by chance less often than that.
    """
    rng = np.random.default_rng(0)
    tree = Priorities(2, 50)
    priority = (rng.random((2, 50)) + 0.05).astype(np.float32)
    tree.set(np.broadcast_to(np.arange(50), (2, 50)), priority)
    counts = np.zeros((2, 50))
    for _ in range(2000):
        slots, _ = tree.sample(rng.random((2, 32)))
        for p in range(2):
            counts[p] += np.bincount(slots[p], minlength=50)
    expected = 64_000 * priority / priority.sum(axis=1, keepdims=True)
    assert (((counts - expected) ** 2 / expected).sum(axis=1) < 113).all()
    one_slot = np.abs(counts - expected) / np.sqrt(expected)
    assert one_slot.max() < 5.5  # 100 slots: 4 in 10^6


class FollowTwin:
    """Which places take part and with what priority, as a dictionary."""

    def __init__(self):
        self.priority, self.largest = {}, 1.0

    def follow(self, low, high):
        self.priority = {place: self.priority.get(place, self.largest) for place in range(low, high)}

    def learned(self, place, value):
        self.priority[place] = value
        self.largest = max(self.largest, value)


@given(
    size=st.integers(12, 70),
    stack=st.integers(1, 4),
    n_step=st.integers(1, 4),
    gaps=st.lists(st.integers(1, 90), min_size=1, max_size=12),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=150, deadline=None)
def test_what_enters_and_leaves_against_a_naive_twin(size, stack, n_step, gaps, seed):
    """New places enter with the largest priority so far, old ones leave with their slot, whatever the gaps."""
    rng = np.random.default_rng(seed)
    tree, twin, written = Priorities(1, size), FollowTwin(), 6
    for gap in gaps:
        written += gap
        low = written - size + stack - 1 if written > size else 0
        high = written - n_step + 1
        tree.follow(low, high, size)
        twin.follow(low, high)
        expected = np.zeros(size, dtype=np.float32)
        for place, value in twin.priority.items():
            expected[place % size] = value
        np.testing.assert_array_equal(leaves(tree, size)[0], expected)
        slots, _ = tree.sample(rng.random((1, 3)))
        fresh = (rng.random((1, 3)) * 3).astype(np.float32)
        tree.learned(slots, fresh)
        for slot, value in zip(slots[0].tolist(), fresh[0].tolist(), strict=True):
            twin.learned(max(place for place in twin.priority if place % size == slot), value)
    assert tree.largest[0] == np.float32(twin.largest)


def test_the_largest_priority_is_each_members_own():
    tree = Priorities(2, 40)
    tree.follow(0, 3, 40)
    tree.learned(np.array([[0, 1], [0, 1]]), np.array([[5.0, 0.5], [0.25, 2.0]], dtype=np.float32))
    tree.follow(0, 5, 40)
    assert leaves(tree, 6).tolist() == [[5.0, 0.5, 1.0, 5.0, 5.0, 0.0], [0.25, 2.0, 1.0, 2.0, 2.0, 0.0]]
    tree.learned(np.array([[0, 0], [0, 0]]), np.full((2, 2), 0.125, dtype=np.float32))
    assert tree.largest.tolist() == [5.0, 2.0]


def test_a_loaded_tree_is_the_saved_one():
    tree, _ = random_tree(2, 100, 0)
    tree.follow(3, 60, 100)
    tree.learned(np.array([[7], [8]]), np.array([[9.0], [11.0]], dtype=np.float32))
    saved = {name: array.copy() for name, array in tree.save().items()}
    other = Priorities(2, 100)
    other.load(saved)
    for one in (tree, other):
        one.follow(10, 90, 100)
    uniform = np.random.default_rng(1).random((2, 500))
    np.testing.assert_array_equal(other.sample(uniform)[0], tree.sample(uniform)[0])
    np.testing.assert_array_equal(other.levels[0], tree.levels[0])
    assert saved["largest"].tolist() == [9.0, 11.0]  # and the saved arrays were not written to
    assert saved["range"].tolist() == [3, 60]


def test_what_the_learner_is_given_and_gives_back(monkeypatch):
    """Weights 1 / sqrt(priority), the largest of a batch 1; then the slots' priorities are sqrt(loss + 1e-10)."""
    engine = TorchEngine(Case("mulex", training={"flavour": "rainbow"}).members(3))
    checked = []
    sample, update = engine.priorities.sample, engine.learner.update
    given_slots = []

    def spying_sample(uniform):
        slots, priority = sample(uniform)
        given_slots.append((slots.copy(), leaves(engine.priorities, engine.replay.size).copy()))
        return slots, priority

    def spying_update(batches, importance):
        slots, before = given_slots[-1]
        losses = update(batches, importance)
        for p in range(3):
            raw = [1 / math.sqrt(before[p, slot]) for slot in slots[p]]
            np.testing.assert_allclose(importance[0][p], np.array(raw) / max(raw), rtol=1e-5)
        assert importance[1] is None  # the exploration head's batch is drawn evenly
        checked.append((slots, losses[0].numpy().copy()))
        return losses

    monkeypatch.setattr(engine.priorities, "sample", spying_sample)
    monkeypatch.setattr(engine.learner, "update", spying_update)
    for _ in range(2):
        more(engine, 1)
        slots, loss = checked[-1]
        for p in range(3):
            wanted = dict(zip(slots[p].tolist(), np.sqrt(loss[p] + 1e-10), strict=True))
            for slot, value in wanted.items():
                assert leaves(engine.priorities, slot + 1)[p, slot] == pytest.approx(value, rel=1e-5)
    assert len(checked) == engine.updates > 10
