"""The native engine is the torch engine, faster: the same steps, the same numbers up to rounding and snapshots."""

import itertools
import platform
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.config import GridWorldConfig, HeadConfig, MethodConfig, RunConfig, TrainingConfig
from mulex.learners.dqn.engines import Row
from mulex.learners.dqn.native import engine as native_engine
from mulex.learners.dqn.native.engine import (
    ALL_SAVINGS,
    EQUAL_PATCHES_ONCE,
    EQUAL_STACKS_ONCE,
    NONZERO_ONLY,
    REMEMBER_TARGETS,
    REMEMBER_VALUES,
    NativeEngine,
    instruction_sets,
    why_not,
)
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import MULEX, make_run
from tests.mulex.dqn.test_pack import CASES as PACK_CASES
from tests.support.agents import (
    FLAVOURS,
    METHOD_NAMES,
    RULES,
    TINY_WORLD,
    Case,
    assert_same_arrays,
    member_state,
    more,
    rule_case,
    train,
)

pytestmark = pytest.mark.skipif(native_engine.native is None, reason="the native engine is not built here")

THREE_HEADS = MethodConfig.model_validate(
    MULEX.model_dump()
    | {"heads": {**MULEX.heads, "hashed": HeadConfig(reward={"simhash": 1.0, "oracle": 0.5}, flavour="dqn")}}
)
LIMITS = MULEX.model_copy(
    update={"heads": {"task": MULEX.heads["task"], "explore": HeadConfig(reward={"oracle": 1.0}, value_limit=3.0)}}
)
CASES = {name: case for name, case in PACK_CASES.items() if why_not(case.run()) is None}
CASES |= {
    "three heads, two bonuses": Case("mulex", composed=THREE_HEADS),
    "three heads, rainbow": Case("mulex", composed=THREE_HEADS, training={"flavour": "rainbow", "atoms": 21}),
    "long returns": Case("additive", training={"flavour": "rainbow", "n_step": 7}),
    "hard ghosts": Case("mulex", GridWorldConfig(map="two_rooms", room_size=4, hard=True, ghosts=3, time_limit=25)),
    "textured ghosts": Case("mulex", GridWorldConfig(map="two_rooms", room_size=3, textured=True, ghosts=1)),
    "textured same": Case("mulex", GridWorldConfig(textured=True, room_size=3), training={"padding": "same"}),
    "clipped rewards": Case("additive", training={"reward_clip": 0.3, "bootstrap_at_time_limit": True}),
    "one frame": Case("mulex", training={"stack": 1}),
    "rooms of ten": Case("mulex", GridWorldConfig(room_size=10), training={"batch_size": 32, "hidden": 64}),
    "two bodies": Case("two_task_heads", training={"share_body": False}),
    "one head's own body": Case("epsilon_greedy", training={"share_body": False, "optimiser": "adam"}),
    "three bodies, rainbow": Case("mulex", composed=THREE_HEADS, training={"share_body": False, "flavour": "rainbow"}),
    "bodies in rooms of ten": Case("mulex", GridWorldConfig(room_size=10), training={"share_body": False}),
    "textured bodies": Case("mulex", GridWorldConfig(textured=True, room_size=3), training={"share_body": False}),
    **{f"rule {rule}": rule_case(rule) for rule in RULES},
    "limits by head": Case("mulex", composed=LIMITS, training={"flavour": "rainbow", "value_limit": "auto"}),
}  # fmt: skip
EXACT = ("worlds.", "replay.", "bonus.", "counter.", "self.", "priorities.range", "rule.head", "rule.returns")


def assert_close(native: dict[str, np.ndarray], torch: dict[str, np.ndarray]) -> None:
    """What happened in the worlds is equal; what was computed is close."""
    assert native.keys() == torch.keys()
    for name, array in torch.items():
        assert native[name].dtype == array.dtype, name
        if name.startswith(EXACT):
            np.testing.assert_array_equal(native[name], array, name)
        else:
            np.testing.assert_allclose(native[name], array, rtol=1e-4, atol=1e-5, err_msg=name)


@cache
def by_torch(name: str) -> tuple[list[RunConfig], dict[str, np.ndarray], list[list[Row]]]:
    """Two members of a case with their state and rows after at least 100 updates of the torch engine."""
    case = CASES[name]
    runs = replace(case, training=case.training | {"steps_per_iteration": 220}).members(2)
    engine, rows = train(runs, 2)
    return runs, engine.save(), rows


@pytest.mark.parametrize("instructions", instruction_sets())
@pytest.mark.parametrize("name", CASES)
def test_both_engines_take_the_same_steps_and_learn_the_same(name, instructions):
    """Over at least 100 updates: every transition is equal, and weights, losses and returns agree to 1e-5.

    Where two actions are worth the same but for the last bits, rounding separates the engines; no case here has that.
    """
    runs, torch_state, torch_rows = by_torch(name)
    native, native_rows = train(runs, 2, partial(NativeEngine, instructions=instructions))
    assert native.updates >= 100
    assert_close(native.save(), torch_state)
    for row, expected in zip(itertools.chain(*native_rows), itertools.chain(*torch_rows), strict=True):
        assert row.keys() == expected.keys()
        for column, value in expected.items():
            close = pytest.approx(value, rel=1e-5, abs=1e-6) if column.startswith("loss") else value
            assert row[column] == close, column


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_q_values_and_gradients_agree(case):
    """From one and the same state: a single update, and the values of every head for what was seen last."""
    case = Case(case.method, case.world, case.bonus, case.training | {"steps_per_iteration": 100}, case.composed)
    runs = case.members(2)
    torch, _ = train(runs, 1)
    native = NativeEngine(runs)
    native.load(torch.save())
    values = torch.learner.values(torch.stacks.records)  # (H, P, A)
    for p, h in itertools.product(range(2), range(len(runs[0].recipe.heads))):
        np.testing.assert_allclose(native.values(p, h, native.stacks.records[p]), values[h, p], rtol=1e-5, atol=1e-5)
    tally_steps = 4 - torch.steps % 4  # up to and with the next update
    acting = torch.schedule.draw(torch.steps, tally_steps, torch.last_head)
    for engine in (torch, native):
        tally = type("", (), {})()
        tally.returns, tally.bonus, tally.episodes = np.zeros(2), np.zeros(2), np.zeros(2, dtype=np.int64)
        tally.losses, tally.updates = np.zeros((2, len(runs[0].recipe.heads))), 0
        engine._train(acting.head, acting.forced, tally)
        assert tally.updates == 1
    gradient = torch.learner.gradient.numpy()
    assert np.abs(gradient).max() > 0
    np.testing.assert_allclose(native.gradient, gradient, rtol=1e-4, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_member_of_a_pack_is_the_same_run_alone(case):
    runs = case.members(5)
    pack, pack_rows = train(runs, 2, NativeEngine)
    for k in (0, 2, 4):
        alone, rows = train([runs[k]], 2, NativeEngine)
        assert [row[k] for row in pack_rows] == [row[0] for row in rows]
        assert_same_arrays(member_state(pack, k), member_state(alone, 0))


@given(method=st.sampled_from(METHOD_NAMES), flavour=st.sampled_from(FLAVOURS), cut=st.integers(0, 4))
@settings(max_examples=25, deadline=None)
def test_continuing_after_any_iteration_is_exact(method, flavour, cut):
    runs = Case(method, training={"flavour": flavour, "steps_per_iteration": 45}).members(2)
    whole, rows = train(runs, 4, NativeEngine)
    first, early_rows = train(runs, cut, NativeEngine)
    second = NativeEngine(runs)
    second.load(first.save())
    assert early_rows + more(second, 4 - cut) == rows
    assert_same_arrays(second.save(), whole.save())


def test_what_the_tables_of_patches_held_before_decides_nothing():
    """Tables so small that they become full: at other times after an interruption, or beside another member."""
    training = {"steps_per_iteration": 200, "warm_up": 200, "update_every": 2, "replay_size": 2000, "batch_size": 16}
    runs = Case("mulex", GridWorldConfig(room_size=10), training=training).members(2)
    small = partial(NativeEngine, most_patches=40_000)
    whole, rows = train(runs, 5, small)
    first, _ = train(runs, 3, small)
    second = small(runs)
    second.load(first.save())
    assert more(second, 2) == rows[3:]
    assert_same_arrays(second.save(), whole.save())
    alone, _ = train(runs[1:], 5, small)
    assert_same_arrays(member_state(alone, 0), member_state(whole, 1))
    fills = [engine.trainer.work["patch_tables_full"] for engine in (whole, second, alone)]
    assert fills[0] > 0
    assert len(set(fills)) == 3
    large, large_rows = train(runs, 5, NativeEngine)
    assert large.trainer.work["patch_tables_full"] == 0
    assert large_rows == rows
    assert_same_arrays(large.save(), whole.save())


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("saved", [REMEMBER_VALUES, REMEMBER_TARGETS, REMEMBER_VALUES | REMEMBER_TARGETS])
def test_remembered_values_change_no_bit(saved, flavour):
    runs = Case("mulex", training={"flavour": flavour, "target_period": 200}).members(2)
    spared, spared_rows = train(runs, 4, partial(NativeEngine, savings=saved))
    plain, rows = train(runs, 4, partial(NativeEngine, savings=0))
    assert spared_rows == rows
    assert_same_arrays(spared.save(), plain.save())
    work, full = spared.trainer.work, plain.trainer.work
    key = "acted_computed" if saved & REMEMBER_VALUES else "target_computed"
    assert work[key] < full[key]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_equal_stacks_computed_once_change_last_bits_at_most(flavour):
    runs = Case("mulex", training={"flavour": flavour, "batch_size": 32}).members(2)
    spared, _ = train(runs, 4, partial(NativeEngine, savings=EQUAL_STACKS_ONCE))
    plain, _ = train(runs, 4, partial(NativeEngine, savings=0))
    assert_close(spared.save(), plain.save())
    assert spared.trainer.work["distinct"] < spared.trainer.work["samples"] == plain.trainer.work["distinct"]


PICTURES = {
    "plain": Case("mulex", GridWorldConfig(), training={"batch_size": 32}),
    "padded": Case("mulex", GridWorldConfig(), training={"padding": "same"}),
    "hard": Case("mulex", GridWorldConfig(room_size=4, hard=True), training={"flavour": "rainbow"}),
    "textured": Case("mulex", GridWorldConfig(room_size=3, textured=True), training={"flavour": "rainbow"}),
    "textured, padded": Case("mulex", GridWorldConfig(room_size=3, textured=True), training={"padding": "same"}),
    "rooms of ten": Case("mulex", GridWorldConfig(room_size=10), training={"batch_size": 32}),
    "two bodies": Case("two_task_heads", GridWorldConfig(), training={"share_body": False, "batch_size": 32}),
    "rooms of ten, rainbow": Case("mulex", GridWorldConfig(room_size=10, hard=True), training={"flavour": "rainbow"}),
}


@pytest.mark.parametrize("case", PICTURES.values(), ids=PICTURES)
def test_equal_patches_computed_once_change_last_bits_at_most(case):
    runs = case.members(2)
    spared, spared_rows = train(runs, 4, partial(NativeEngine, savings=EQUAL_PATCHES_ONCE))
    plain, rows = train(runs, 4, partial(NativeEngine, savings=0))
    assert_close(spared.save(), plain.save())
    assert [row["eval_return"] for row in spared_rows[0]] == [row["eval_return"] for row in rows[0]]
    work, full = spared.trainer.work, plain.trainer.work
    assert work["patches_computed"] < 0.8 * work["patches"]
    assert full["patches_computed"] == full["patches"] == work["patches"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_with_equal_patches_too_remembered_values_change_no_bit(flavour):
    """In large rooms the hidden layer is computed by groups of equal patches, whatever else is in the batch."""
    case = Case(
        "mulex", GridWorldConfig(room_size=10), training={"flavour": flavour, "target_period": 200, "hidden": 40}
    )
    runs = case.members(2)
    spared, rows = train(
        runs, 4, partial(NativeEngine, savings=EQUAL_PATCHES_ONCE | REMEMBER_VALUES | REMEMBER_TARGETS)
    )
    plain, plain_rows = train(runs, 4, partial(NativeEngine, savings=EQUAL_PATCHES_ONCE))
    assert rows == plain_rows
    assert_same_arrays(spared.save(), plain.save())
    assert 0 < spared.trainer.work["target_computed"] < plain.trainer.work["target_computed"]


@pytest.mark.parametrize("instructions", instruction_sets())
@pytest.mark.parametrize("hidden", [24, 40, 64, 100])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_gradients_of_zero_are_skipped_and_change_no_bit(flavour, hidden, instructions):
    case = Case("mulex", training={"flavour": flavour, "hidden": hidden})
    runs = [case.run(seed=seed, learning_rate=0.01) for seed in (1, 2)]
    spared, spared_rows = train(runs, 4, partial(NativeEngine, savings=NONZERO_ONLY, instructions=instructions))
    plain, rows = train(runs, 4, partial(NativeEngine, savings=0, instructions=instructions))
    assert spared_rows == rows
    assert_same_arrays(spared.save(), plain.save())
    work, full = spared.trainer.work, plain.trainer.work
    assert 0 < work["gradients_computed"] < work["gradients"] == full["gradients_computed"]


@pytest.mark.parametrize("hidden", [40, 64])
def test_units_without_a_gradient_rest_and_change_no_bit_in_large_rooms_either(hidden):
    case = Case("mulex", GridWorldConfig(room_size=10), training={"batch_size": 32, "hidden": hidden})
    runs = [case.run(seed=seed, learning_rate=0.01) for seed in (1, 2)]
    spared, rows = train(runs, 4, partial(NativeEngine, savings=EQUAL_PATCHES_ONCE | NONZERO_ONLY))
    plain, plain_rows = train(runs, 4, partial(NativeEngine, savings=EQUAL_PATCHES_ONCE))
    assert rows == plain_rows
    assert_same_arrays(spared.save(), plain.save())
    assert np.array_equal(spared.gradient, plain.gradient)
    assert 0 < spared.trainer.work["gradients_computed"] < spared.trainer.work["gradients"]


@pytest.mark.skipif("avx512" not in instruction_sets(), reason="no AVX-512 here; make test-native-san emulates it")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_wider_registers_give_the_same_bits(case):
    runs = case.members(2)
    wide, wide_rows = train(runs, 2, partial(NativeEngine, instructions="avx512"))
    narrow, rows = train(runs, 2, partial(NativeEngine, instructions="avx2"))
    assert wide_rows == rows
    assert_same_arrays(wide.save(), narrow.save())


def test_a_policy_that_goes_round_for_ever_is_found_out():
    """The greedy return and length are those of the torch engine, which remembers every stack it met."""
    runs = [Case("epsilon_greedy", GridWorldConfig(time_limit=500)).run(seed=seed) for seed in range(40)]
    native, torch = NativeEngine(runs), TorchEngine(runs)
    found, expected = native._evaluate(0), torch._evaluate(0)
    np.testing.assert_array_equal(found.mean_return, expected.mean_return)
    np.testing.assert_array_equal(found.mean_length, expected.mean_length)
    assert (expected.mean_length == 500).any()
    assert native.trainer.work["acted"] < 40 * 500


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="only on x86 are subnormal numbers zero")
@pytest.mark.parametrize("optimiser", ["rmsprop", "adam"])
def test_averages_of_zero_gradients_fade_to_zero(optimiser):
    """They do not stay at subnormal numbers, with which many processors compute slowly."""
    training = {"optimiser": optimiser, "rmsprop_decay": 0.5, "steps_per_iteration": 4000, "hidden": 64}
    engine, _ = train([Case("mulex", training=training).run(learning_rate=0.01)], 2, NativeEngine)
    smallest = np.finfo(np.float32).smallest_normal
    arrays = {name: array for name, array in engine.save().items() if array.dtype == np.float32}
    assert not [name for name, array in arrays.items() if ((array != 0) & (abs(array) < smallest)).any()]
    assert (arrays["learner.mean_gradient" if optimiser == "rmsprop" else "learner.mean"] == 0).any()
    assert smallest / np.float32(2) > 0, "outside the engine, subnormal numbers are kept"


def test_diverging_runs_do_no_harm():
    """Weights that are no longer numbers stay inside their member, whatever is drawn from them."""
    for flavour in FLAVOURS:
        case = Case("mulex", training={"flavour": flavour})
        runs = [case.run(seed=1), case.run(seed=2)]
        engine, rows = train(runs, 2, NativeEngine)
        engine.parameters[0, 0] = np.nan
        rows += more(engine, 2)
        assert np.isnan(rows[-1][0]["loss_task"])
        alone, _ = train(runs[1:], 4, NativeEngine)
        assert_same_arrays(member_state(engine, 1), member_state(alone, 0))


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_every_method_solves_two_rooms(method, flavour):
    training = {"steps_per_iteration": 500, "warm_up": 200, "target_period": 100, "replay_size": 10_000}
    training |= {"update_every": 2, "discount": 0.9, "flavour": flavour, "hidden": 64, "batch_size": 32}
    values = {"learning_rate": 1e-3, "epsilon": 0.2} | ({"beta": 0.1} if method == "additive" else {})
    world = GridWorldConfig(map="two_rooms", room_size=3, time_limit=100)
    engine = NativeEngine([make_run(world, method, TrainingConfig(**training), values, seed) for seed in range(3)])
    best = np.zeros(3)
    while (best < 2).any():
        assert engine.iterations < 16, f"best returns {best}, 2 is possible"
        best = np.maximum(best, [row["eval_return"] for row in engine.iterate()])


class TestWhatIsHandedOver:
    """C++ never sees an array that it does not expect."""

    def test_wrong_arrays_are_refused(self):
        engine = NativeEngine([Case("mulex").run()])
        good, nobody = engine._member(0), np.zeros(0, dtype=np.int64)
        wrong = {
            "parameters": good["parameters"][:-1],
            "target": good["target"].astype(np.float64),
            "reward": np.asfortranarray(np.zeros((200, 2), dtype=np.float32))[:100],
            "record": good["record"].astype(np.int64),
            "counts": [],
            "state": np.zeros(2, dtype=np.int64),
        }
        for name, array in wrong.items():
            with pytest.raises(ValueError, match=f"native engine: {name}"):
                engine.trainer.train(good | {name: array}, nobody, nobody)
        frozen = good["parameters"].copy()
        frozen.flags.writeable = False
        with pytest.raises(ValueError, match="parameters is read-only"):
            engine.trainer.train(good | {"parameters": frozen}, nobody, nobody)
        with pytest.raises(ValueError, match="gradient is missing"):
            engine.trainer.train({k: v for k, v in good.items() if k != "gradient"}, nobody, nobody)

    @pytest.mark.parametrize(("head", "forced"), [(2, 0), (-1, 0), (0, 4)])
    def test_schedules_out_of_range_are_refused(self, head, forced):
        engine = NativeEngine([Case("mulex").run()])
        with pytest.raises(ValueError, match="schedule"):
            engine.trainer.train(engine._member(0), np.array([head]), np.array([forced]))

    @pytest.mark.parametrize(
        ("rule", "name", "value", "message"),
        [
            ("episode", "name", "episodes", "rule episodes is not there"),
            ("episode", "head", np.array([2]), "head is not there"),
            ("episode", "fresh", np.zeros(1, dtype=np.uint8), "fresh has another type"),
            ("novelty", "explorers", np.zeros(3, dtype=np.uint8), "explorers has 3 numbers instead of 2"),
            ("surprise", "steps", 4.0, "values are fewer than the steps"),
            ("surprise", "age", np.array([-1]), "age is negative"),
            ("bandit", "arm", np.array([3]), "arm is not there"),
            ("bandit", "window", 5.0, "chosen is shorter than the window"),
            ("bandit", "chosen", np.array([0, 1, 2, 3]), "chosen names an arm that is not there"),
        ],
    )
    def test_rules_out_of_range_are_refused(self, rule, name, value, message):
        engine, nobody = NativeEngine([rule_case(rule).run()]), np.zeros(0, dtype=np.int64)
        member = engine._member(0)
        engine.trainer.train(member, nobody, nobody)
        with pytest.raises(ValueError, match=f"native engine: {message}"):
            engine.trainer.train(member | {"rule": member["rule"] | {name: value}}, nobody, nobody)

    def test_instructions_that_are_not_there(self):
        with pytest.raises(ValueError, match="do not include neon"):
            NativeEngine([Case("mulex").run()], instructions="neon")


def test_all_savings_are_on_unless_said_otherwise():
    engine = NativeEngine([Case("mulex", TINY_WORLD).run()])
    assert engine._settings["savings"] == ALL_SAVINGS == 31
