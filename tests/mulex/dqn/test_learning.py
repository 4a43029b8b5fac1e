"""What can be known about learning: closed-form Q-values, small worlds that are solved, and exploration."""

import itertools

import numpy as np
import pytest

from mulex.config import GridWorldConfig, GymWorldConfig, TrainingConfig
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import make_run
from mulex.worlds.world import build_world
from tests.support.agents import FLAVOURS, METHOD_NAMES
from tests.support.slow import SLOW

CORRIDOR = GridWorldConfig(map="corridor", room_size=3)
DISCOUNT = 0.9
CALM = {"rmsprop_epsilon": 1e-5, "input_scale": 1 / 255}  # steps that end where the gradient does
UP, RIGHT, DOWN, LEFT = range(4)


def corridor_step(cell: int, action: int) -> tuple[int, float, bool]:
    """Cells 0 and 1, then the exit."""
    if action == RIGHT:
        return cell + 1, float(cell == 1), cell == 1
    return (max(0, cell - 1) if action == LEFT else cell), 0.0, False


def known_values(n_step: int) -> np.ndarray:
    """(cells, actions): where n-step targets come to rest when all later actions of a return are random.

    For one step these are the optimal values: 0.81 0.9 0.81 0.81 in cell 0 and 0.9 1 0.9 0.81 in cell 1.
    """
    q = np.zeros((2, 4))
    for _ in range(300):
        q = np.array([[_mean_return(q, cell, action, n_step) for action in range(4)] for cell in (0, 1)])
    return q


def _mean_return(q: np.ndarray, cell: int, first: int, n_step: int) -> float:
    returns = []
    for later in itertools.product(range(4), repeat=n_step - 1):
        total, weight, at, over = 0.0, 1.0, cell, False
        for action in (first, *later):
            at, reward, over = corridor_step(at, action)
            total += weight * reward
            weight *= DISCOUNT
            if over:
                break
        returns.append(total if over else total + weight * q[at].max())
    return float(np.mean(returns))


def learned_values(method: str, iterations: int, learning_rate: float, **settings: object) -> np.ndarray:
    """(members, cells, actions): the first head's Q-values after random acting in the corridor."""
    plain = {"steps_per_iteration": 1000, "warm_up": 100, "target_period": 50, "replay_size": 1000, "stack": 1, **CALM}
    training = TrainingConfig.model_validate(plain | {"discount": DISCOUNT, "value_limit": 2.0} | settings)
    values = {"epsilon": 1.0, "learning_rate": learning_rate}
    engine = TorchEngine([make_run(CORRIDOR, method, training, values, seed) for seed in range(2)])
    for _ in range(iterations):
        engine.iterate()
    cells = [np.full((2, 1, 1), cell, dtype=np.uint16) for cell in (0, 1)]
    return np.stack([engine.learner.values(cell)[0] for cell in cells], axis=1)


def test_the_known_values_by_hand():
    np.testing.assert_allclose(known_values(1), [[0.81, 0.9, 0.81, 0.81], [0.9, 1.0, 0.9, 0.81]], atol=1e-12)
    tables = build_world("corridor", 3).tables
    for cell, action in itertools.product((0, 1), range(4)):
        after, reward, over = corridor_step(cell, action)
        assert tables.next_state[cell, action] == after
        assert (tables.reward[cell, action], tables.terminal[cell, action]) == (reward, over)


@pytest.mark.parametrize("method", ["epsilon_greedy", "mulex"])
def test_a_dqn_head_learns_the_corridors_values(method):
    """MuleX's task head too, beside an exploration head with which it shares the body."""
    learned = learned_values(method, 3, 1e-3, body="mlp")
    np.testing.assert_allclose(learned, np.broadcast_to(known_values(1), (2, 2, 4)), atol=0.01)


def test_convolutions_learn_the_corridors_values():
    learned = learned_values("epsilon_greedy", 3, 3e-4, padding="same")
    np.testing.assert_allclose(learned, np.broadcast_to(known_values(1), (2, 2, 4)), atol=0.02)


@pytest.mark.parametrize(("n_step", "tolerance"), [(1, 0.02), (3, 0.1)])
def test_a_rainbow_head_learns_the_corridors_values(n_step, tolerance):
    """Prioritised C51 with returns of one and of three steps, whose resting point under random acting differs.

    Returns of three steps are random, so they never rest, and prioritised sampling moves their mean a little.
    """
    learned = learned_values("epsilon_greedy", 4, 1e-3, body="mlp", flavour="rainbow", n_step=n_step)
    np.testing.assert_allclose(learned, np.broadcast_to(known_values(n_step), (2, 2, 4)), atol=tolerance)
    assert np.abs(known_values(3) - known_values(1)).max() > 0.2


QUICK = (("epsilon_greedy", "dqn"), ("mulex", "dqn"), ("additive", "rainbow"))
CASES = [pytest.param(*case, marks=() if case in QUICK else SLOW) for case in itertools.product(METHOD_NAMES, FLAVOURS)]


@pytest.mark.parametrize(("method", "flavour"), CASES)
def test_every_method_solves_two_rooms_with_one_setting(method, flavour):
    """Greedy return 2 (the key and the exit). Of 12 seeds a case all were there within 11 iterations of 500 steps.

    The native engine solves all cases in `test_native.py`.
    """
    settings = {"steps_per_iteration": 500, "warm_up": 200, "target_period": 100, "replay_size": 10_000}
    settings |= {"update_every": 2, "discount": DISCOUNT, "flavour": flavour}
    values = {"learning_rate": 1e-3, "epsilon": 0.2} | ({"beta": 0.1} if method == "additive" else {})
    world = GridWorldConfig(map="two_rooms", room_size=3, time_limit=100)
    training = TrainingConfig.model_validate(settings)
    engine = TorchEngine([make_run(world, method, training, values, seed) for seed in range(2)])
    best = np.zeros(2)
    while (best < 2).any():
        assert engine.iterations < 16, f"best returns {best}, 2 is possible"
        best = np.maximum(best, [row["eval_return"] for row in engine.iterate()])


# Short episodes and walls that teleport are what makes these maps hard for chance: with episodes of 300 steps a random
# walk has seen all 26 states of the small map after some 350 steps, and the deep explorer is no sooner.
EXPLORER = {"bonus_of": "entered", "update_every": 1, "target_period": 50, "warm_up": 50, "replay_size": 10_000}
EXPLORER |= {"steps_per_iteration": 100, "body": "mlp", "discount": DISCOUNT}


def explorer_cover(world: GridWorldConfig, seeds: int, most: int) -> int:
    """Steps after which more than half of the explorers have been in every state: MuleX with p_task 0."""
    values = {"p_task": 0.0, "epsilon": 0.1, "learning_rate": 3e-3}
    training = TrainingConfig.model_validate(EXPLORER)
    engine = TorchEngine([make_run(world, "mulex", training, values, seed) for seed in range(seeds)])
    live = engine.worlds.world.tables.live
    while engine.steps < most:
        engine.iterate()
        counts = engine.bonuses[0].counts[:, :live]
        if ((counts > 0).all(axis=1)).mean() > 0.5:
            break
    return engine.steps


def random_walks_cover(world: GridWorldConfig, walks: int, most: int) -> np.ndarray:
    """(walks,): steps until each of many random walks has been in every state; infinite if not within `most`."""
    tables, limit = build_world(**world.model_dump()).tables, world.time_limit
    rng = np.random.default_rng(0)
    state, age = np.zeros(walks, dtype=np.int64), np.zeros(walks, dtype=np.int64)
    seen = np.zeros((walks, len(tables.next_state)), dtype=bool)
    seen[:, 0] = True
    covered = np.full(walks, np.inf)
    for step in range(1, most + 1):
        action = rng.integers(0, 4, walks)
        over = tables.terminal[state, action]
        state, age = tables.next_state[state, action], age + 1
        seen[np.arange(walks), state] = True
        state, age = (np.where(over | (age == limit), 0, value) for value in (state, age))
        covered[np.isinf(covered) & seen[:, : tables.live].all(axis=1)] = step
        if np.isfinite(covered).all():
            break
    return covered


@SLOW
def test_the_exploration_head_alone_sees_all_states_sooner_than_a_random_walk():
    """Two rooms, episodes of 20 steps: 2,300 steps for a median explorer of 20, 6,000 for a median random walk."""
    world = GridWorldConfig(map="two_rooms", room_size=3, time_limit=20)
    walks = float(np.median(random_walks_cover(world, 200, 20_000)))
    assert explorer_cover(world, 7, int(walks)) < 0.8 * walks


def test_where_walls_teleport_the_exploration_head_is_much_sooner():
    """Two hard rooms: 2,600 steps for a median explorer of 20, when no random walk of 200 has seen all states."""
    world = GridWorldConfig(map="two_rooms", room_size=3, hard=True, time_limit=50)
    steps = explorer_cover(world, 5, 8000)
    assert steps < 8000
    assert np.isinf(random_walks_cover(world, 200, steps)).all()


@SLOW
def test_cart_pole_is_solved():
    """The greedy mean return of an evaluation is at least 475 (a random policy earns 22), within 15,000 steps.

    About every second seed gets there in that time; four are trained, and all must do far better than chance.
    """
    training = TrainingConfig(
        steps_per_iteration=500,
        evaluation_steps=1000,
        warm_up=500,
        epsilon_decay_steps=3000,
        replay_size=50_000,
        target_period=1000,
        update_every=1,
        batch_size=128,
        loss="huber",
        initialisation="torch",
        bootstrap_at_time_limit=True,
        rmsprop_epsilon=1e-5,
    )
    world, values = GymWorldConfig(id="CartPole-v1"), {"learning_rate": 5e-4, "epsilon": 0.02}
    engine = TorchEngine([make_run(world, "epsilon_greedy", training, values, seed) for seed in range(4)])
    best = np.zeros(4)
    while best.max() < 475 or best.min() < 100:
        assert engine.iterations < 30, f"best returns {best}"
        best = np.maximum(best, [row["eval_return"] for row in engine.iterate()])
    engine.close()
