"""A run that was stopped and continued gives, bit for bit, what it would have given without the stop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.config import GridWorldConfig, GymWorldConfig
from mulex.learners.dqn.torch.engine import TorchEngine
from tests.support.agents import FLAVOURS, METHOD_NAMES, Case, assert_same_arrays, more, train

ITERATIONS = 4
QUICK = {"steps_per_iteration": 45}  # not a multiple of the updates' period, and mid-episode; the ring of 100 wraps
CART_POLE = GymWorldConfig(id="CartPole-v1")
SPECIAL = {
    "cart pole": Case("epsilon_greedy", CART_POLE, training={"evaluation_steps": 20}),
    "cart pole rainbow": Case("two_task_heads", CART_POLE, training={"evaluation_steps": 20, "flavour": "rainbow"}),
    "ghosts": Case("mulex", GridWorldConfig(map="two_rooms", room_size=3, ghosts=2, time_limit=30)),
    "simhash": Case("mulex", GridWorldConfig(map="two_rooms", room_size=3, time_limit=30), "simhash"),
    "bonus at replay": Case("mulex", training={"bonus_at": "replay", "bonus_of": "entered"}),
    "ring not full": Case("mulex", training={"replay_size": 1000, "flavour": "rainbow"}),
    "still in warm-up": Case("mulex", training={"warm_up": 100, "flavour": "rainbow"}),
}


def check_resumed(case: Case, cut: int, members: int = 2) -> None:
    """Continue in a fresh engine after `cut` iterations, and compare with the run that was never stopped."""
    case = Case(case.method, case.world, case.bonus, QUICK | case.training)
    runs = case.members(members)
    whole, rows = train(runs, ITERATIONS)
    first, early_rows = train(runs, cut)
    arrays = first.save()
    first.close()
    second = TorchEngine(runs)
    second.load(arrays)
    late_rows = more(second, ITERATIONS - cut)
    assert early_rows + late_rows == rows
    assert_same_arrays(second.save(), whole.save())
    assert (second.iterations, second.steps) == (ITERATIONS, ITERATIONS * runs[0].steps_per_iteration)
    whole.close()
    second.close()


@given(method=st.sampled_from(METHOD_NAMES), flavour=st.sampled_from(FLAVOURS), cut=st.integers(0, ITERATIONS))
@settings(max_examples=16, deadline=None)
def test_continuing_after_any_iteration_is_exact(method, flavour, cut):
    check_resumed(Case(method, training={"flavour": flavour}), cut)


@pytest.mark.parametrize("case", SPECIAL.values(), ids=SPECIAL)
@pytest.mark.parametrize("cut", [1, 3])
def test_continuing_is_exact_in_every_kind_of_world(case, cut):
    check_resumed(case, cut)


def test_many_stops_are_as_good_as_none():
    runs = Case("mulex", training=QUICK | {"flavour": "rainbow"}).members(2)
    whole, rows = train(runs, ITERATIONS)
    engine, stopped_rows = TorchEngine(runs), []
    for _ in range(ITERATIONS):
        stopped_rows += more(engine, 1)
        arrays = engine.save()
        engine = TorchEngine(runs)
        engine.load(arrays)
    assert stopped_rows == rows
    assert_same_arrays(engine.save(), whole.save())


def test_what_was_saved_does_not_change_as_training_goes_on():
    """An engine may train on while its snapshot is being written."""
    engine, _ = train(Case("mulex", training=QUICK | {"flavour": "rainbow"}).members(2), 1)
    saved = engine.save()
    copies = {name: array.copy() for name, array in saved.items()}
    more(engine, 1)
    assert_same_arrays(saved, copies)
    changed = [name for name, array in engine.save().items() if not np.array_equal(array, saved[name])]
    assert {"learner.parameters", "learner.target", "learner.mean_square", "replay.record"} <= set(changed)
    assert {"priorities.level.0", "bonus.oracle.counts", "worlds.steps", "counter.steps"} <= set(changed)


@pytest.mark.parametrize("name", ["simhash", "cart pole", "ring not full"])
def test_an_engine_that_has_trained_takes_a_snapshot_too(name):
    """Nothing of what it did before shows."""
    case = SPECIAL[name]
    runs = Case(case.method, case.world, case.bonus, QUICK | case.training).members(2)
    whole, _ = train(runs, 3)
    engine, _ = train(runs, 1)
    arrays = engine.save()
    more(engine, 3)
    engine.load(arrays)
    more(engine, 2)
    assert_same_arrays(engine.save(), whole.save())


def test_a_snapshot_holds_plain_arrays_only():
    """So it can be written without pickle; what is not used of the ring is not in it."""
    engine, _ = train(Case("mulex", training=QUICK | {"replay_size": 1000}).members(2), 1)
    arrays = engine.save()
    assert all(isinstance(array, np.ndarray) and array.dtype.kind in "iufb" for array in arrays.values())
    assert arrays["replay.record"].shape[:2] == (2, 45)
