"""Bonuses: exact counts, SimHash against a twin written from the paper's words, and what the learner is paid."""

import itertools
import math

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mulex.learners.dqn.bonuses.simhash
from mulex.config import GridWorldConfig, GymWorldConfig, HeadConfig
from mulex.errors import UserError
from mulex.learners.dqn.bonuses.oracle import OracleBonus
from mulex.learners.dqn.bonuses.simhash import PROJECTION, SimHashBonus, simhash, state_codes, vector_hash
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import MULEX, make_run
from mulex.worlds.interface import GridWorlds
from mulex.worlds.world import build_world
from tests.support.agents import Case, Watch, check_targets, more

GOLDEN_PROJECTION = [1.1177517023183163, -0.6875570283377962, -0.48142116962420306]  # runs must not change
BRIEF = {"batch_size": 5, "hidden": 4, "update_every": 8}
SHORT_EPISODES = GridWorldConfig(map="two_rooms", room_size=3, time_limit=9)


def textured_frames():
    """(S, 48, 40) uint8: every state of a small textured world."""
    worlds = GridWorlds(build_world("two_rooms", 3, textured=True), np.zeros(1, dtype=np.uint64))
    return worlds.frames(np.arange(worlds.states)[:, None])


@given(visits=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_oracle_bonus_against_plain_counting(visits):
    """The count is raised first; ghosts (the second number of a record) play no part; members count apart."""
    bonus = OracleBonus(2, 5)
    seen = [[], []]
    for i, states in enumerate(visits):
        found = bonus.visit(np.array([[state, i] for state in states], dtype=np.uint16))
        for p, state in enumerate(states):
            seen[p].append(state)
            assert found[p] == np.float32(1 / math.sqrt(seen[p].count(state)))
        assert found.dtype == np.float32
    everything = np.broadcast_to(np.array([[state, 9] for state in range(5)]), (2, 5, 2))
    expected = [[1 / math.sqrt(max(1, seen[p].count(state))) for state in range(5)] for p in range(2)]
    np.testing.assert_array_equal(bonus.value(everything), np.array(expected, dtype=np.float32))
    assert bonus.counts.sum(axis=1).tolist() == [len(visits)] * 2


def naive_resize(frame, side=13):
    """Bilinear with a filter as wide as the shrinking needs, first along rows, then along columns, in whole levels."""

    def along(line):
        scale = len(line) / side
        reach = max(scale, 1.0)
        result = []
        for i in range(side):
            centre = (i + 0.5) * scale
            inside = [x for x in range(len(line)) if abs(x + 0.5 - centre) < reach]
            weights = [1 - abs(x + 0.5 - centre) / reach for x in inside]
            total = sum(w * line[x] for w, x in zip(weights, inside, strict=True)) / sum(weights)
            result.append(math.floor(total + 0.5))
        return result

    rows = [along(row) for row in frame.tolist()]
    return np.array([along(list(column)) for column in zip(*rows, strict=True)]).T


def naive_simhash(small):
    """Values in 10 bins, projected by a fixed Gaussian matrix; 256 signs."""
    bins = [int(value / 25.6) for value in small.ravel().tolist()]
    sums = [sum(a * b for a, b in zip(row, bins, strict=True)) for row in PROJECTION.tolist()]
    return [value > 0 for value in sums]


def bits(code):
    return np.unpackbits(np.frombuffer(code, dtype=np.uint8)).astype(bool).tolist()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_simhash_of_small_frames_against_its_definition(seed):
    """A frame of 13 x 13 is not resized, so every bit is the definition's."""
    frame = np.random.default_rng(seed).integers(0, 256, (13, 13)).astype(np.uint8)
    assert bits(simhash(frame)) == naive_simhash(frame)


def test_simhash_of_larger_frames_against_its_definition():
    """Pillow's fixed-point sums may differ by a level from exact ones: at most 4 of 256 bits may, most frames none."""
    frames = textured_frames()
    differences = [sum(np.not_equal(bits(simhash(f)), naive_simhash(naive_resize(f)))) for f in frames[::3]]
    assert max(differences) <= 4
    assert sum(d == 0 for d in differences) > len(differences) / 2


def test_values_fall_into_ten_even_bins():
    """A change within a bin is not seen, a change to another bin is."""
    half = np.zeros((13, 13), dtype=np.uint8)
    half[:, 6:] = 128

    def code(value):
        return simhash(np.maximum(half, np.array([value] * 6 + [0] * 7, dtype=np.uint8)))

    edges = [math.ceil(25.6 * k) for k in range(11)]  # 0, 26, 52, ..., 256
    kinds = [{code(value) for value in range(low, high)} for low, high in itertools.pairwise(edges)]
    assert all(len(kind) == 1 for kind in kinds)
    assert len(set.union(*kinds)) == 10


def test_the_projection_is_gaussian_and_fixed():
    """43,264 numbers: mean, variance and fourth moment within 5 standard deviations; false alarms 2 in 10^6."""
    n = PROJECTION.size
    assert PROJECTION.shape == (256, 169)
    assert abs(PROJECTION.mean()) < 5 / math.sqrt(n)
    assert abs((PROJECTION**2).mean() - 1) < 5 * math.sqrt(2 / n)
    assert abs((PROJECTION**4).mean() - 3) < 5 * math.sqrt(96 / n)
    columns = np.corrcoef(PROJECTION.T) - np.eye(169)
    assert np.abs(columns).max() < 6 / math.sqrt(256)
    assert PROJECTION[0, :3].tolist() == pytest.approx(GOLDEN_PROJECTION, abs=1e-12)


@pytest.mark.parametrize("textured", [False, True])
def test_no_two_states_of_the_papers_rooms_share_a_code(textured):
    """So counting codes is counting states there, as docs/deviations.md says."""
    codes = state_codes(build_world(room_size=5, textured=textured))
    assert len(codes) == len(set(codes.tolist())) == 279


def test_states_of_a_textured_world_mostly_have_codes_of_their_own():
    frames = textured_frames()
    codes = {simhash(frame) for frame in frames}
    assert all(len(code) == 32 for code in codes)
    assert len(codes) > 0.9 * len(frames)


@pytest.mark.parametrize("most", [200_000, 3])
def test_simhash_bonus_counts_codes(most, monkeypatch):
    """Members count apart; how many codes are remembered changes nothing; frames that look alike count as one."""
    monkeypatch.setattr(mulex.learners.dqn.bonuses.simhash, "MOST_REMEMBERED", most)
    frames = textured_frames()[:6]
    frames[5] = frames[4]
    bonus = SimHashBonus(2, lambda records: frames[records[:, 0]])
    rng = np.random.default_rng(0)
    seen = [[], []]
    for states in rng.integers(0, 6, size=(40, 2)).tolist():
        found = bonus.visit(np.array(states)[:, None])
        for p, state in enumerate(states):
            seen[p].append(min(state, 4))
            assert found[p] == np.float32(1 / math.sqrt(seen[p].count(min(state, 4))))
    everything = np.broadcast_to(np.arange(6)[:, None], (2, 6, 1))
    expected = [[1 / math.sqrt(seen[p].count(min(state, 4))) for state in range(6)] for p in range(2)]
    np.testing.assert_array_equal(bonus.value(everything), np.array(expected, dtype=np.float32))
    assert SimHashBonus(1, lambda records: frames[records[:, 0]]).value(everything[:1]).tolist() == [[1.0] * 6]


def test_states_of_one_code_are_counted_as_one(monkeypatch):
    """With codes of three kinds only, so that every kind is met again; kinds are numbered as they are met."""
    monkeypatch.setattr(mulex.learners.dqn.bonuses.simhash, "simhash", lambda frame: bytes([int(frame.sum()) % 3]))
    world = build_world("two_rooms", 3)
    states = len(world.tables.next_state)
    frames = world.frames(np.arange(states), np.empty((states, 0), dtype=np.int64))
    kinds = [int(frame.sum()) % 3 for frame in frames]
    order = list(dict.fromkeys(kinds))
    assert len(order) == 3
    assert state_codes(world).tolist() == [order.index(kind) for kind in kinds]


def test_loaded_bonuses_go_on_counting():
    frames = textured_frames()
    rng = np.random.default_rng(1)
    makers = (lambda: OracleBonus(3, len(frames)), lambda: SimHashBonus(3, lambda records: frames[records[:, 0]]))
    for make in makers:
        bonus, other = make(), make()
        for states in rng.integers(0, 10, size=(30, 3)):
            bonus.visit(states[:, None])
        other.visit(np.zeros((3, 1), dtype=np.int64))  # what it counted before is forgotten
        other.load({name: array.copy() for name, array in bonus.save().items()})
        for states in rng.integers(0, 20, size=(30, 3)):
            np.testing.assert_array_equal(other.visit(states[:, None]), bonus.visit(states[:, None]))


@pytest.mark.parametrize("flavour", ["dqn", "rainbow"])
@pytest.mark.parametrize("bonus_at", ["collection", "replay"])
@pytest.mark.parametrize("bonus_of", ["left", "entered"])
def test_the_bonus_that_the_learner_is_paid(bonus_of, bonus_at, flavour):
    """Of the state left or entered, counted at collection or at replay, against naive counting over the whole run."""
    training = BRIEF | {"bonus_of": bonus_of, "bonus_at": bonus_at, "flavour": flavour}
    for method in ("mulex", "additive"):
        check_targets(Case(method, SHORT_EPISODES, training=training))


@pytest.mark.parametrize("bonus_at", ["collection", "replay"])
def test_the_simhash_bonus_that_the_learner_is_paid(bonus_at):
    check_targets(Case("mulex", SHORT_EPISODES, "simhash", BRIEF | {"bonus_at": bonus_at, "update_every": 20}))


def test_two_exploration_heads_each_on_its_own_bonus():
    """A method that is composed, not coded: MuleX with an oracle head and a SimHash head."""
    heads = {**MULEX.heads, "hashed": HeadConfig(reward={"simhash": 1.0}, flavour="dqn")}
    recipe = MULEX.model_copy(update={"heads": heads})
    watch = check_targets(Case("mulex", SHORT_EPISODES, training=BRIEF, composed=recipe))
    rows = watch.engine.iterate()
    assert {"acted_task", "acted_explore", "acted_hashed", "loss_hashed"} <= rows[0].keys()


def test_the_four_choices_pay_differently():
    """Else the comparisons above would not tell them apart."""
    paid = set()
    for bonus_of in ("left", "entered"):
        for bonus_at in ("collection", "replay"):
            engine = TorchEngine(
                Case("mulex", training=BRIEF | {"bonus_of": bonus_of, "bonus_at": bonus_at}).members(1)
            )
            watch = Watch(engine)
            more(engine, 1)
            paid.add(watch.updates[-1].targets[1].reward.numpy().tobytes())
    assert len(paid) == 4


def test_mean_bonus_is_the_mean_over_the_iterations_steps():
    engine = TorchEngine(Case("mulex").members(2))
    watch = Watch(engine)
    rows = more(engine, 1)[0]
    for p, row in enumerate(rows):
        states = [int(step.before[p, 0]) for step in watch.steps]
        bonuses = [1 / math.sqrt(states[: i + 1].count(state)) for i, state in enumerate(states)]
        assert row["mean_bonus"] == pytest.approx(sum(bonuses) / len(bonuses), rel=1e-5)


class Shades(gymnasium.Env):
    """Frames of fractions, which as bytes would all be the same."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (8, 8), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}


def test_frames_that_are_no_bytes_are_hashed_as_vectors(monkeypatch):
    spec = gymnasium.envs.registration.EnvSpec("Shades-v0", entry_point=Shades)
    monkeypatch.setitem(gymnasium.registry, "Shades-v0", spec)
    engine = TorchEngine([Case("mulex", GymWorldConfig(id="Shades-v0"), "simhash").run()])
    assert engine.bonuses[0]._hash is vector_hash


def test_colours_are_hashed_by_their_brightness():
    """Red, green and blue weigh 0.299, 0.587 and 0.114; other channels weigh the same."""
    grey = np.random.default_rng(0).integers(0, 256, (13, 13)).astype(np.uint8)
    assert simhash(np.repeat(grey[..., None], 3, axis=2)) == simhash(grey)
    assert simhash(np.repeat(grey[..., None], 2, axis=2)) == simhash(grey)
    colours = np.zeros((13, 13, 3), dtype=np.uint8)
    colours[..., 1] = grey
    assert simhash(colours) == simhash(np.round(0.587 * grey.astype(float)).astype(np.uint8))


def test_vectors_near_each_other_share_a_code_and_others_do_not():
    """A bit differs with the angle between the compressed vectors, each with a constant 1, divided by pi."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 200, 4)) * 3
    assert all(vector_hash(v) == vector_hash(v + 1e-9) for v in a)
    scaled = [np.c_[np.sign(v) * np.log1p(abs(v)), np.ones(200)] for v in (a, b)]
    cosine = (scaled[0] * scaled[1]).sum(1) / np.prod([np.linalg.norm(s, axis=1) for s in scaled], axis=0)
    expected = np.arccos(cosine).mean() / np.pi
    found = np.mean(
        [np.not_equal(bits(vector_hash(v)), bits(vector_hash(w))).mean() for v, w in zip(a, b, strict=True)]
    )
    assert found == pytest.approx(expected, abs=0.06)


def test_rnd_falls_where_it_was_and_is_high_elsewhere():
    """After 300 visits of one state its bonus is far below that of a state that was never visited."""
    case = Case("mulex", bonus="rnd")
    engine = TorchEngine(case.members(2))
    bonus = engine.bonuses[0]
    known, new = np.full((2, 1), 3), np.full((2, 1), 9)
    for _ in range(300):
        bonus.visit(known)
    values = bonus.value(np.stack([known, new], axis=1))
    assert values.dtype == np.float32
    assert (values[:, 0] * 20 < values[:, 1]).all()


def test_a_bonus_that_a_world_cannot_have_is_refused():
    case = Case("mulex", GymWorldConfig(id="CartPole-v1"), "oracle")
    with pytest.raises(UserError, match="cannot be counted"):
        TorchEngine([case.run()])
    assert make_run(case.world, "epsilon_greedy", case.run().training).recipe.signals == ()
