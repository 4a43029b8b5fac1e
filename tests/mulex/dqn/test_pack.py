"""Member k of a pack is the same run alone, bit for bit; equal seeds agree and different seeds differ."""

import numpy as np
import pytest

from mulex.config import GridWorldConfig, GymWorldConfig, RunConfig
from mulex.learners.dqn.torch.engine import TorchEngine
from tests.support.agents import FLAVOURS, METHOD_NAMES, TINY_WORLD, Case, assert_same_arrays, member_state, train

ITERATIONS = 2  # 120 steps in a ring of 100: it wraps
GHOST_WORLD = GridWorldConfig(map="two_rooms", room_size=3, ghosts=2, time_limit=25)
TEXTURED_WORLD = GridWorldConfig(map="two_rooms", room_size=3, textured=True, time_limit=25)
HARD_WORLD = GridWorldConfig(map="two_rooms", room_size=3, hard=True, time_limit=25)
REAL_WORLD = GridWorldConfig(room_size=5)
REAL_SIZE = {"batch_size": 32, "hidden": 64, "replay_size": 1000, "steps_per_iteration": 100}

CASES = {
    f"{method} {flavour}": Case(method, training={"flavour": flavour})
    for method in METHOD_NAMES
    for flavour in FLAVOURS
}
CASES |= {
    "ghosts": Case("mulex", GHOST_WORLD, training={"flavour": "rainbow"}),
    "hard": Case("additive", HARD_WORLD),
    "textured simhash": Case("mulex", TEXTURED_WORLD, "simhash", {"steps_per_iteration": 40, "replay_size": 200}),
    "padding same": Case("mulex", training={"padding": "same"}),
    "huber": Case("two_task_heads", training={"loss": "huber"}),
    "adam": Case("additive", training={"optimiser": "adam"}),
    "rainbow with rmsprop": Case("mulex", training={"flavour": "rainbow", "optimiser": "rmsprop"}),
    "bonus at replay": Case("mulex", training={"bonus_at": "replay"}),
    "bonus at replay, rainbow": Case("additive", training={"bonus_at": "replay", "flavour": "rainbow"}),
    "bonus of the state entered": Case("mulex", training={"bonus_of": "entered"}),
    "mlp body": Case("mulex", training={"body": "mlp"}),
    "torch initialisation": Case("epsilon_greedy", training={"initialisation": "torch", "stack": 2}),
    "odd sizes": Case("mulex", training={"hidden": 13, "batch_size": 7, "flavour": "rainbow", "atoms": 11}),
    "epsilon decay": Case("mulex", training={"epsilon_decay_steps": 80, "bootstrap_at_time_limit": True}),
    "cart pole": Case("epsilon_greedy", GymWorldConfig(id="CartPole-v1"), training={"evaluation_steps": 20}),
    "cart pole simhash": Case("mulex", GymWorldConfig(id="CartPole-v1"), "simhash", {"evaluation_steps": 20}),
    "rnd": Case("mulex", bonus="rnd", training={"steps_per_iteration": 60}),
    "bodies of their own": Case("mulex", training={"share_body": False, "flavour": "rainbow"}),
    "bonus decay": Case("additive", training={"bonus_decay_steps": 100}),
    "value limit auto": Case("additive", training={"flavour": "rainbow", "value_limit": "auto"}),
    "corridor": Case("mulex", GridWorldConfig(map="corridor", room_size=3)),
    "real size": Case("mulex", REAL_WORLD, training=REAL_SIZE),
    "real size rainbow": Case("mulex", REAL_WORLD, training=REAL_SIZE | {"flavour": "rainbow"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_member_of_a_pack_is_the_same_run_alone(case):
    runs = case.members(8)
    pack, pack_rows = train(runs, ITERATIONS)
    assert pack.updates > 0
    for k in (0, 3, 7):
        alone, rows = train([runs[k]], ITERATIONS)
        assert [row[k] for row in pack_rows] == [row[0] for row in rows]
        assert_same_arrays(member_state(pack, k), member_state(alone, 0))
        alone.close()
    pack.close()


def test_a_members_place_in_a_pack_does_not_matter():
    runs = Case("mulex", training={"flavour": "rainbow"}).members(5)
    forward, forward_rows = train(runs, ITERATIONS)
    backward, backward_rows = train(runs[::-1], ITERATIONS)
    for k in range(5):
        assert [row[k] for row in forward_rows] == [row[4 - k] for row in backward_rows]
        assert_same_arrays(member_state(forward, k), member_state(backward, 4 - k))


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_equal_seeds_agree_and_different_seeds_differ(method):
    """Twice the same run in one pack, and a run that differs in its seed alone: in weights and in what it met."""
    case = Case(method)
    engine, rows = train([case.run(seed=1), case.run(seed=1), case.run(seed=2)], ITERATIONS)
    first, twin, other = (member_state(engine, k) for k in range(3))
    assert_same_arrays(first, twin)
    assert [row[0] for row in rows] == [row[1] for row in rows]
    for name in ("learner.parameters", "learner.target", "replay.action", "replay.record"):
        assert not np.array_equal(first[name], other[name]), name


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_each_value_of_a_member_makes_a_difference(method, monkeypatch):
    """Members with one and the same random streams differ where one value differs."""
    monkeypatch.setattr(RunConfig, "run_id", property(lambda run: "the same for all"))
    case = Case(method)
    plain = {"learning_rate": 1e-3, "epsilon": 0.2, "beta": 1.0, "p_task": 0.6, "p_1": 0.6, "gamma_steps": 0.8}
    plain = {name: plain[name] for name in case.recipe().hyperparameters}
    changed = [plain, plain] + [plain | {name: value / 2} for name, value in plain.items()]
    engine, _ = train([case.run(**values) for values in changed], ITERATIONS)
    parameters = [engine.learner.parameters[k].numpy().tobytes() for k in range(len(changed))]
    assert parameters[0] == parameters[1]
    assert len(set(parameters)) == 1 + len(plain)


def test_a_learning_rate_of_zero_keeps_its_member_still():
    case = Case("mulex")
    engine, _ = train([case.run(learning_rate=0.0), case.run(learning_rate=1e-3)], ITERATIONS)
    fresh = TorchEngine(engine.runs)
    moved = [not np.array_equal(engine.learner.parameters[k], fresh.learner.parameters[k]) for k in range(2)]
    assert moved == [False, True]


def test_runs_of_different_shape_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        TorchEngine([Case("mulex").run(), Case("additive").run()])


def test_rings_wrap_and_episodes_end_in_these_tests():
    """What the comparisons above would be worth nothing without."""
    engine, rows = train(Case("mulex").members(8), ITERATIONS)
    assert engine.replay.written > engine.replay.size
    assert all(row["train_episodes"] > 0 for row in rows[-1])
    assert engine.worlds.time_limit == TINY_WORLD.time_limit
    shares = np.array([[row["acted_task"] for row in iteration] for iteration in rows])
    assert ((shares > 0) & (shares < 1)).any()
