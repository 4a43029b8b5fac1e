"""The Gymnasium environment in all its variants, and the pack that it is made of."""

from itertools import product

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mulex  # noqa: F401  registers the worlds
from mulex.streams import stream_keys
from mulex.worlds.env import GridWorld
from mulex.worlds.pack import WorldPack
from mulex.worlds.shortest_paths import optimal_actions
from mulex.worlds.world import build_world
from tests.support.naive_world import DOWN, LEFT, RIGHT, UP, NaiveWorld

ID = "mulex/Montezuminha-v0"
VARIANTS = [
    {"room_size": room_size, "hard": hard, "ghosts": ghosts, "textured": textured}
    for room_size, hard, ghosts, textured in product([3, 5, 10], [False, True], [0, 1, 3], [False, True])
]
WITH_GHOSTS = [variant for variant in VARIANTS if variant["ghosts"] and not variant["textured"]]
KEYS = stream_keys([f"member {i}" for i in range(8)], "ghost")


def name(variant):
    return "-".join(str(value) for value in variant.values())


def history(env, actions, seed):
    """All that an episode shows, restarts included."""
    observation, info = env.reset(seed=seed)
    shown = [(observation.tobytes(), info)]
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        shown.append((observation.tobytes(), reward, terminated, truncated, info))
        if terminated or truncated:
            observation, info = env.reset()
            shown.append((observation.tobytes(), info))
    return shown


@pytest.fixture
def no_screen(monkeypatch):
    """Windows open nowhere, and nobody waits for their next picture."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(GridWorld.metadata, "render_fps", 1000)


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_check_env_has_nothing_to_say(variant, no_screen):
    check_env(gymnasium.make(ID, **variant).unwrapped)


@pytest.mark.parametrize("env_id", ["mulex/TwoRooms-v0", "mulex/Corridor-v0"])
def test_check_env_of_the_small_maps(env_id, no_screen):
    check_env(gymnasium.make(env_id).unwrapped)


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_spaces_and_the_first_observation(variant):
    env = gymnasium.make(ID, **variant)
    w, t = variant["room_size"], 8 if variant["textured"] else 1
    assert env.action_space == gymnasium.spaces.Discrete(4)
    assert env.observation_space == gymnasium.spaces.Box(0, 255, ((w + 3) * t, (w + 2) * t), np.uint8)
    observation, info = env.reset(seed=0)
    assert observation.dtype == np.uint8
    assert observation.shape == env.observation_space.shape
    assert info["position"] == (1, 1)
    assert info["items"] == (False, False, False)
    assert info["world"] == 0
    assert info["state"] == 0
    assert len(info.get("ghosts", ())) == variant["ghosts"]


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
def test_two_copies_with_one_seed_agree(variant):
    actions = np.random.default_rng(0).integers(0, 4, 80).tolist()
    first, second = gymnasium.make(ID, **variant), gymnasium.make(ID, **variant)
    once = history(first, actions, seed=7)
    assert history(second, actions, seed=7) == once
    assert history(first, actions, seed=7) == once  # a seed begins afresh, whatever was played before


@pytest.mark.parametrize("variant", WITH_GHOSTS, ids=name)
def test_different_seeds_and_later_episodes_differ(variant):
    """The ghosts of 20 seeds, or of 20 episodes after one seed, don't all start and walk alike."""
    env = gymnasium.make(ID, **variant)

    def ghosts(seed):
        _, info = env.reset(seed=seed)
        shown = [info["ghosts"]]
        for _ in range(3):
            shown.append(env.step(UP)[4]["ghosts"])
        return tuple(shown)

    assert len({ghosts(seed) for seed in range(20)}) > 10
    ghosts(0)
    assert len({ghosts(None) for _ in range(20)}) > 10


def test_info_follows_the_game():
    """To key 1 and back through a wall of the hard world: position, items, world and state are those of the rules."""
    env, naive = gymnasium.make(ID, room_size=3, hard=True), NaiveWorld(3, hard=True)
    _, info = env.reset(seed=0)
    states = {}
    for action in [RIGHT, RIGHT, DOWN, DOWN, DOWN, UP, LEFT, LEFT, LEFT, DOWN]:
        naive.step(action)
        info = env.step(action)[4]
        assert (info["world"], info["position"], info["items"]) == (naive.world, naive.position, naive.items)
        situation = naive.world, naive.position, naive.items
        assert states.setdefault(info["state"], situation) == situation
        assert "ghosts" not in info
    assert info["items"] == (True, False, False)
    assert info["world"] == 1


def test_what_a_step_returned_belongs_to_the_caller():
    """Later steps don't change it, and spoiling it does not spoil later episodes."""
    env = gymnasium.make(ID, room_size=5, ghosts=1)
    observation, info = env.reset(seed=0)
    kept, kept_info = observation.copy(), info.copy()
    env.step(RIGHT)
    np.testing.assert_array_equal(observation, kept)
    assert info == kept_info
    observation[:] = 0
    info.clear()
    observation, info = env.reset(seed=0)
    np.testing.assert_array_equal(observation, kept)
    assert info == kept_info


@pytest.mark.parametrize("room_size", [3, 5])
@pytest.mark.parametrize("hard", [False, True])
def test_an_episode_is_truncated_at_a_hundred_times_the_room_size(room_size, hard):
    env = gymnasium.make(ID, room_size=room_size, hard=hard)
    for _ in range(2):
        env.reset(seed=0)
        ends = [env.step(UP)[2:4] for _ in range(100 * room_size)]
        assert ends == [(False, False)] * (100 * room_size - 1) + [(False, True)]


def test_the_end_of_the_game_wins_over_the_limit():
    """The optimal way takes 58 steps: with that limit it ends at the exit, with one step less it is cut off."""
    actions = optimal_actions(build_world().tables)
    for limit, expected in [(58, (4.0, True, False)), (57, (3.0, False, True))]:
        env = gymnasium.make(ID, time_limit=limit)
        _, info = env.reset(seed=0)
        total, terminated, truncated, steps = 0.0, False, False, 0
        while not (terminated or truncated):
            _, reward, terminated, truncated, info = env.step(actions[info["state"]])
            total, steps = total + reward, steps + 1
        assert steps == limit
        assert (total, terminated, truncated) == expected


def test_gymnasium_can_shorten_an_episode():
    env = gymnasium.make(ID, max_episode_steps=3)
    env.reset(seed=0)
    assert [env.step(UP)[3] for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("room_size", [2, 51, 5.0, True, "5"])
def test_a_wrong_room_size_is_a_clear_error(room_size):
    with pytest.raises(ValueError, match=r"^room_size: got .*, allowed is a whole number from 3 to 50$"):
        gymnasium.make(ID, room_size=room_size)


@pytest.mark.parametrize("action", [-1, 4])
def test_a_wrong_action_is_a_clear_error(action):
    env = gymnasium.make(ID).unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match=rf"^action: got {action}, allowed is"):
        env.step(action)


def test_a_step_before_the_first_reset_is_an_error():
    with pytest.raises(gymnasium.error.ResetNeeded):
        gymnasium.make(ID).unwrapped.step(0)


def test_a_wrong_render_mode_is_an_error():
    with pytest.raises(ValueError, match=r"^render_mode: got 'film', allowed is"):
        GridWorld(render_mode="film")


def restarting(packs, actions):
    """Step packs with actions (T, P), split among them, restarting what ended: everything seen, by step and member."""
    seen, first = [], np.cumsum([0] + [len(pack.state) for pack in packs])
    for step_actions in actions:
        parts = []
        for pack, begin in zip(packs, first, strict=False):
            outcome = pack.step(step_actions[begin : begin + len(pack.state)])
            parts.append([pack.state.copy(), pack.ghosts.copy(), pack.frames(), *(x.copy() for x in outcome)])
            pack.restart(outcome.terminal | outcome.truncated)
            parts[-1] += [pack.state.copy(), pack.ghosts.copy(), pack.steps.copy()]
        seen.append([np.concatenate(column) for column in zip(*parts, strict=True)])
    return [np.stack(column) for column in zip(*seen, strict=True)]


@pytest.mark.parametrize("ghosts", [0, 1, 3])
@pytest.mark.parametrize("hard", [False, True])
def test_members_stepped_together_equal_packs_of_one(hard, ghosts):
    world = build_world(room_size=4, hard=hard, ghosts=ghosts, time_limit=40)
    actions = np.random.default_rng(1).integers(0, 4, (200, len(KEYS)))
    together = restarting([WorldPack(world, KEYS)], actions)
    alone = restarting([WorldPack(world, KEYS[i : i + 1]) for i in range(len(KEYS))], actions)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("ghosts", [0, 2])
def test_a_restart_of_some_members_leaves_the_others_alone(ghosts):
    """The others' states, clocks, ghosts and all their later ghost moves stay what they would have been."""
    world = build_world(room_size=5, ghosts=ghosts)
    disturbed, undisturbed = WorldPack(world, KEYS), WorldPack(world, KEYS)
    rng = np.random.default_rng(2)
    who = np.arange(len(KEYS)) % 3 == 0
    for step in range(60):
        actions = rng.integers(0, 4, len(KEYS))
        for pack in (disturbed, undisturbed):
            pack.step(actions)
        if step % 20 == 10:
            disturbed.restart(who)
            assert (disturbed.state[who] == 0).all()
            assert (disturbed.steps[who] == 0).all()
        for field in ("state", "steps", "ghosts", "directions"):
            np.testing.assert_array_equal(getattr(disturbed, field)[~who], getattr(undisturbed, field)[~who])
    assert (disturbed.steps[who] < undisturbed.steps[who]).all()


def test_an_outcome_never_changes_later():
    """A learner may keep rewards and ends without copying them."""
    pack = WorldPack(build_world(room_size=3), KEYS)
    for action in [RIGHT, RIGHT, DOWN]:
        pack.step(np.full(len(KEYS), action))
    outcome = pack.step(np.full(len(KEYS), DOWN))  # onto key 1
    pack.step(np.full(len(KEYS), DOWN))
    pack.restart(np.ones(len(KEYS), dtype=bool))
    assert (outcome.reward == 1).all()
    assert not outcome.terminal.any()
    assert not outcome.truncated.any()


def test_the_members_clocks_are_their_own():
    """A member that was restarted is truncated later than the others."""
    pack = WorldPack(build_world(time_limit=5), KEYS[:2])
    actions = np.full(2, UP)
    cut = []
    for step in range(7):
        cut.append(pack.step(actions).truncated.tolist())
        if step == 1:
            pack.restart(np.array([False, True]))
    assert cut[4] == [True, False]
    assert cut[6] == [True, True]


def test_advance_begins_the_next_episode_at_once() -> None:
    world = build_world(room_size=3, ghosts=1, time_limit=4)
    keys = stream_keys(["a", "b"], "ghosts")
    one, two = WorldPack(world, keys), WorldPack(world, keys)
    for action in np.random.default_rng(0).integers(0, 4, (60, 2)):
        outcome, same = one.advance(action), two.step(action)
        ended = same.terminal | same.truncated
        two.restart(ended)
        np.testing.assert_array_equal(outcome.reward, same.reward)
        assert (one.steps[ended] == 0).all()
        for name in ("state", "steps", "ghosts", "directions", "words_used"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
