"""What can be known about learning: closed-form Q-values, small maps that every method solves, and exploration."""

import numpy as np
import pytest

from mulex.config import GridWorldConfig, GymWorldConfig, TrainingConfig
from mulex.methods import make_run
from mulex.torch_engine import TorchEngine
from mulex.worlds.world import build_world
from tests.agents import FLAVOURS, METHOD_NAMES

TWO_ROOMS = GridWorldConfig(map="two_rooms", room_size=3)
ONE_SETTING = {"steps_per_iteration": 250, "warm_up": 250, "target_period": 100, "replay_size": 20_000}


def test_q_values_of_the_corridor_are_the_known_ones():
    """Cells 0 and 1 and the exit: going right earns 1 from cell 1, and everything else is a discounted detour."""
    discount = 0.9
    training = TrainingConfig(
        steps_per_iteration=1000, warm_up=100, target_period=50, discount=discount, padding="same", replay_size=5000
    )
    world = GridWorldConfig(map="corridor", room_size=3, time_limit=50)
    values = {"epsilon": 1.0, "learning_rate": 1e-3}
    engine = TorchEngine([make_run(world, "epsilon_greedy", training, values, seed) for seed in range(2)])
    learned = np.zeros((2, 2, 4))  # (states, P, A): the mean over six iterations, for a constant step size never rests
    for iteration in range(9):
        engine.iterate()
        if iteration >= 3:
            learned += [engine.learner.values(np.full((2, 4, 1), s, dtype=np.uint16))[0] / 6 for s in (0, 1)]
    stay, back = discount, discount**2
    known = [[back, discount, back, back], [stay, 1.0, stay, back]]  # up, right, down, left
    for state in (0, 1):
        for member in (0, 1):
            np.testing.assert_allclose(learned[state, member], known[state], atol=0.05)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_every_method_solves_two_rooms_with_one_setting(method: str, flavour: str) -> None:
    values = {"learning_rate": 1e-3, "epsilon": 0.1} | ({"beta": 0.1} if method == "additive" else {})
    training = TrainingConfig.model_validate({**ONE_SETTING, "flavour": flavour})
    engine = TorchEngine([make_run(TWO_ROOMS, method, training, values, seed) for seed in range(2)])
    best = np.zeros(2)
    for _ in range(40):
        best = np.maximum(best, [row["eval_return"] for row in engine.iterate()])
        if (best == 2).all():
            return
    pytest.fail(f"best returns {best} after 40 iterations, 2 is possible")


def test_the_exploration_head_alone_sees_every_state_sooner_than_a_random_walk() -> None:
    """In two rooms with episodes of 20 steps, where chance rarely reaches the far corner; medians over 8 seeds."""
    world = GridWorldConfig(map="two_rooms", room_size=3, time_limit=20)
    settings = {"bonus_of": "entered", "update_every": 1, "target_period": 50, "warm_up": 50, "replay_size": 10_000}
    settings |= {"steps_per_iteration": 100, "body": "mlp", "discount": 0.9}
    values = {"p_task": 0.0, "epsilon": 0.1, "learning_rate": 3e-3}
    training = TrainingConfig.model_validate(settings)
    engine = TorchEngine([make_run(world, "mulex", training, values, seed) for seed in range(8)])
    walks = np.median([_random_walk_cover(seed) for seed in range(40)])
    live = build_world("two_rooms", 3).tables.live
    while engine.steps < walks:
        engine.iterate()
        seen = (engine.bonuses[0].save()["counts"][:, :live] > 0).all(axis=1)
        if seen.mean() > 0.5:
            break
    assert engine.steps < 0.8 * walks


def _random_walk_cover(seed: int) -> int:
    """Steps until a random walk was in every state."""
    tables, random = build_world("two_rooms", 3).tables, np.random.default_rng(seed)
    state, age, steps, seen = 0, 0, 0, {0}
    while len(seen) < tables.live:
        action = random.integers(4)
        over, state = tables.terminal[state, action], int(tables.next_state[state, action])
        age, steps = age + 1, steps + 1
        if over or age == 20:
            state, age = 0, 0
        seen.add(state)
    return steps


def test_cart_pole_is_solved() -> None:
    """At least 475 of 500 over ten greedy episodes, by one of three seeds; DQN on it is unsteady by nature."""
    training = TrainingConfig(
        steps_per_iteration=1000,
        evaluation_steps=4600,
        warm_up=500,
        replay_size=50_000,
        batch_size=128,
        update_every=1,
        target_period=500,
        epsilon_decay_steps=3000,
        discount=0.98,
        loss="huber",
        initialisation="torch",
        bootstrap_at_time_limit=True,
    )
    world = GymWorldConfig(id="CartPole-v1", ideal_return=500.0)
    values = {"learning_rate": 2.5e-4, "epsilon": 0.02}
    engine = TorchEngine([make_run(world, "epsilon_greedy", training, values, seed) for seed in range(3)])
    best = 0.0
    for _ in range(20):
        best = max(best, *[float(row["eval_return"]) for row in engine.iterate()])
        if best >= 475:
            return
    pytest.fail(f"the best evaluation of 20 iterations was {best}")
