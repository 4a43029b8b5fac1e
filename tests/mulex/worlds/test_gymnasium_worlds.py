"""Gymnasium environments as worlds: the same steps as the environment itself, and honest refusals."""

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.config import GymWorldConfig, TrainingConfig
from mulex.errors import UserError
from mulex.learners.dqn.network_shape import picture_shape
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.learners.dqn.torch.frames import FrameDrawer
from mulex.methods import make_run
from mulex.streams import stream_keys, words
from mulex.worlds.gymnasium_worlds import GymWorlds
from mulex.worlds.interface import GridWorlds
from mulex.worlds.make import make_worlds
from mulex.worlds.world import build_world
from tests.support.agents import Case, more, train

KEYS = stream_keys(["a", "b", "c"], "ghosts")


class Pictures(gymnasium.Env):
    """Colour pictures, actions that begin at 5, and an end that is both a terminal and a time limit."""

    action_space = gymnasium.spaces.Discrete(3, start=5)
    observation_space = gymnasium.spaces.Box(0, 255, (6, 7, 3), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._picture(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.steps += 1
        over = self.steps == 4
        return self._picture(), float(action), over, over, {}

    def _picture(self):
        return self.np_random.integers(0, 256, (6, 7, 3), dtype=np.uint8)


@pytest.fixture
def pictures():
    gymnasium.register("Pictures-v0", entry_point=Pictures)
    yield "Pictures-v0"
    del gymnasium.registry["Pictures-v0"]


@pytest.fixture
def cart_poles():
    worlds = GymWorlds("CartPole-v1", {}, None, KEYS)
    yield worlds
    worlds.close()


def test_steps_are_the_environments_own(cart_poles):
    """Each member is one seeded environment; episode n of a member has a seed of its own."""
    rng = np.random.default_rng(0)
    envs = [gymnasium.make("CartPole-v1") for _ in KEYS]
    episodes = [0, 0, 0]

    def begin(p):
        seed = int(words(KEYS[p : p + 1], np.array([episodes[p]]))[0] >> np.uint64(33))
        episodes[p] += 1
        return envs[p].reset(seed=seed)[0]

    seen = [begin(p) for p in range(3)]
    for _ in range(120):
        np.testing.assert_array_equal(cart_poles.observe(), np.array(seen, dtype=np.float32))
        actions = rng.integers(0, 2, 3)
        outcome = cart_poles.step(actions)
        ended = np.zeros(3, dtype=bool)
        for p in range(3):
            seen[p], reward, terminal, truncated, _ = envs[p].step(int(actions[p]))
            assert (outcome.reward[p], outcome.terminal[p], outcome.truncated[p]) == (reward, terminal, truncated)
            ended[p] = terminal or truncated
        np.testing.assert_array_equal(cart_poles.observe(), np.array(seen, dtype=np.float32))
        cart_poles.restart(ended)
        for p in np.nonzero(ended)[0]:
            seen[p] = begin(p)
    assert min(episodes) > 2
    assert outcome.reward.dtype == np.float32


def test_what_the_worlds_say_of_themselves(cart_poles):
    assert (cart_poles.actions, cart_poles.record_shape, cart_poles.frame_shape) == (2, (4,), (4,))
    assert (cart_poles.record_dtype, cart_poles.states, cart_poles.repeats) == (np.float32, None, False)
    assert (cart_poles.time_limit, cart_poles.ideal_return) == (500, None)


@given(before=st.integers(0, 60), after=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_loading_plays_the_running_episode_again(before, after, seed):
    rng = np.random.default_rng(seed)
    worlds = GymWorlds("CartPole-v1", {}, None, KEYS)

    def go(actions, among):
        outcomes = [one.step(actions) for one in among]
        for one, outcome in zip(among, outcomes, strict=True):
            one.restart(outcome.terminal | outcome.truncated)

    for _ in range(before):
        go(rng.integers(0, 2, 3), [worlds])
    saved = {name: array.copy() for name, array in worlds.save().items()}
    other = GymWorlds("CartPole-v1", {}, None, KEYS)
    other.step(np.zeros(3, dtype=np.int64))
    other.load(saved)
    for _ in range(after):
        np.testing.assert_array_equal(other.observe(), worlds.observe())
        go(rng.integers(0, 2, 3), [worlds, other])
    for name, array in worlds.save().items():
        np.testing.assert_array_equal(other.save()[name], array)


def test_equal_keys_agree_and_different_keys_differ():
    worlds = GymWorlds("CartPole-v1", {}, None, KEYS[[0, 1, 0]])
    seen = worlds.observe()
    np.testing.assert_array_equal(seen[0], seen[2])
    assert not np.array_equal(seen[0], seen[1])


def test_what_was_observed_does_not_change_later(cart_poles):
    first = cart_poles.observe()
    copy = first.copy()
    cart_poles.step(np.zeros(3, dtype=np.int64))
    np.testing.assert_array_equal(first, copy)


def test_picture_worlds(pictures):
    """Bytes stay bytes, actions count from 0, and an end that is both is a terminal."""
    worlds = GymWorlds(pictures, {}, 9.0, KEYS)
    assert (worlds.actions, worlds.record_dtype, worlds.record_shape) == (3, np.uint8, (6, 7, 3))
    assert (worlds.time_limit, worlds.ideal_return) == (None, 9.0)
    outcomes = [worlds.step(np.array([0, 1, 2])) for _ in range(4)]
    assert outcomes[0].reward.tolist() == [5.0, 6.0, 7.0]
    assert outcomes[3].terminal.all()
    assert not outcomes[3].truncated.any()
    np.testing.assert_array_equal(worlds.frames(worlds.observe()), worlds.observe())


def test_colour_pictures_train(pictures):
    case = Case("epsilon_greedy", GymWorldConfig(id=pictures), training={"evaluation_steps": 10})
    engine, rows = train([case.run(seed=seed, epsilon=0.2) for seed in range(2)], 2)
    assert engine.stack == 4
    assert engine.learner.shape.layers[0].channels == 12
    assert rows[-1][0]["eval_episode_length"] == 4
    assert np.isfinite(rows[-1][0]["loss_task"])


def test_pictures_are_shown_with_the_newest_frame_last(pictures):
    """Channel 3 c + k of a pixel is colour k of frame c of the stack, scaled."""
    worlds = GymWorlds(pictures, {}, None, KEYS)
    records = np.random.default_rng(0).integers(0, 256, (3, 5, 4, 6, 7, 3), dtype=np.uint8)  # (P, B, C, D)
    assert picture_shape(worlds, 4, flat=False) == (6, 7, 12)
    shown = FrameDrawer(worlds, (6, 7, 12), 1 / 255, torch.device("cpu")).draw(records)
    assert shown.shape == (3, 5, 6, 7, 12)
    for c in range(4):
        for k in range(3):
            expected = records[:, :, c, :, :, k].astype(np.float32) * np.float32(1 / 255)
            np.testing.assert_allclose(shown[..., 3 * c + k], expected, rtol=1e-6)


@pytest.mark.parametrize("ghosts", [0, 2])
@pytest.mark.parametrize("flat", [False, True])
def test_grid_frames_are_shown_with_the_newest_frame_last(ghosts, flat):
    """From the ready-made table (no ghosts) and drawn one by one; flat or as pictures."""
    world = build_world("two_rooms", 3, ghosts=ghosts)
    worlds = GridWorlds(world, KEYS)
    rng = np.random.default_rng(0)
    states = rng.integers(0, worlds.states, (3, 5, 4, 1))
    cells = rng.choice(world.ghost_starts, (3, 5, 4, ghosts))
    records = np.concatenate([states, cells], axis=3).astype(worlds.record_dtype)
    shown = FrameDrawer(worlds, picture_shape(worlds, 4, flat), 0.25, torch.device("cpu")).draw(records)
    frames = world.frames(states.ravel(), cells.reshape(60, ghosts)).reshape(3, 5, 4, 6, 5)
    expected = frames.reshape(3, 5, 1, 1, -1) if flat else frames.transpose(0, 1, 3, 4, 2)
    np.testing.assert_allclose(shown, expected.astype(np.float32) / 4, rtol=1e-6)


def test_a_run_sees_by_its_own_scale():
    engine = TorchEngine([Case("mulex", training={"input_scale": 0.25}).run()])
    assert engine.learner.drawer.scale == 0.25


def test_float_observations_are_not_scaled(cart_poles):
    records = np.random.default_rng(0).normal(size=(3, 2, 1, 4)).astype(np.float32)
    shown = FrameDrawer(cart_poles, picture_shape(cart_poles, 1, flat=True), 1 / 255, torch.device("cpu")).draw(records)
    np.testing.assert_array_equal(shown.flatten(2), records.reshape(3, 2, 4))


def test_flat_observations_get_a_dense_body_and_no_stack():
    engine = TorchEngine([Case("epsilon_greedy", GymWorldConfig(id="CartPole-v1")).run()])
    assert engine.stack == 1
    assert [(layer.inputs, layer.convolution.channels) for layer in engine.learner.shape.layers] == [(4, 64)]
    stacked = Case("epsilon_greedy", GymWorldConfig(id="CartPole-v1"), training={"stack": 3, "evaluation_steps": 5})
    engine = TorchEngine([stacked.run()])
    assert engine.learner.shape.layers[0].inputs == 12
    assert more(engine, 1)[0][0]["env_steps"] == 60


@pytest.mark.parametrize(
    ("world", "says"),
    [
        ({"id": "NoSuchWorld-v0"}, "gymnasium.make refused it"),
        ({"id": "CartPole-v1", "kwargs": {"colour": "red"}}, "gymnasium.make refused it"),
        ({"id": "Pendulum-v1"}, "its actions are Box"),
        ({"id": "FrozenLake-v1"}, "its observation is Discrete"),
    ],
)
def test_an_unsuitable_environment_is_refused(world, says):
    with pytest.raises(UserError, match=says) as error:
        make_worlds(GymWorldConfig(**world), ["a"], "ghosts")
    assert world["id"] in str(error.value)


def test_a_body_that_does_not_fit_is_refused():
    run = make_run(GymWorldConfig(id="CartPole-v1"), "epsilon_greedy", TrainingConfig(body="conv"))
    with pytest.raises(UserError, match="too small"):
        TorchEngine([run])
