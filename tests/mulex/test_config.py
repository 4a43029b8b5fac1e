"""Configuration: errors that help, ids that mean what they say, and fields that explain themselves."""

import json
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex import config
from mulex.config import (
    ActingConfig,
    GridWorldConfig,
    GymWorldConfig,
    HeadConfig,
    MethodConfig,
    PerMember,
    RunConfig,
    TrainingConfig,
)
from mulex.errors import UserError
from mulex.methods import METHODS, MULEX, make_run, with_bonus
from mulex.settings import Settings

CLASSES = [c for c in vars(config).values() if isinstance(c, type) and issubclass(c, Settings) and c is not Settings]

# Another legal value for every field: a new field needs one here.
OTHER_TRAINING = {
    "iterations": 7,
    "steps_per_iteration": 100,
    "evaluation_steps": 10,
    "grown_from": 2,
    "evaluation_episodes": 3,
    "score": "final",
    "update_every": 3,
    "batch_size": 16,
    "stack": 2,
    "loss": "huber",
    "flavour": "rainbow",
    "hidden": 32,
    "body": "mlp",
    "padding": "same",
    "initialisation": "torch",
    "input_scale": 1.0,
    "discount": 0.5,
    "replay_size": 5000,
    "warm_up": 10,
    "target_period": 100,
    "epsilon_decay_steps": 10,
    "bootstrap_at_time_limit": True,
    "reward_clip": 1.0,
    "optimiser": "adam",
    "rmsprop_decay": 0.9,
    "rmsprop_epsilon": 1e-6,
    "adam_epsilon": 1e-8,
    "bonus_of": "entered",
    "bonus_at": "replay",
    "n_step": 5,
    "atoms": 21,
    "value_limit": 5.0,
    "share_body": False,
    "bonus_decay_steps": 1000,
}
OTHER_WORLD = {"map": "two_rooms", "room_size": 7, "hard": True, "ghosts": 1, "textured": True, "time_limit": 11}
OTHER_GYM = {
    "id": "Acrobot-v1",
    "kwargs": {"render_mode": "rgb_array"},
    "ideal_return": 500.0,
    "wrappers": ["FlattenObservation"],
    "code": "0123456789abcdef",
}
OTHER_VALUES = {"learning_rate": 1e-3, "epsilon": 0.5, "p_task": 0.1, "gamma_steps": 0.3}


def run_with(training=None, world=None, values=None, seed=0, recipe=MULEX, method="mulex"):
    return make_run(GridWorldConfig(**world or {}), method, TrainingConfig(**training or {}), values, seed, recipe)


def test_the_tables_above_name_every_field():
    assert OTHER_TRAINING.keys() == TrainingConfig.model_fields.keys()
    assert OTHER_WORLD.keys() == GridWorldConfig.model_fields.keys()
    assert OTHER_GYM.keys() == GymWorldConfig.model_fields.keys()
    assert OTHER_VALUES.keys() == MULEX.hyperparameters.keys()


@pytest.mark.parametrize(
    ("kind", "values", "says"),
    [
        (TrainingConfig, {"iterations": 0}, "iterations: got 0: input should be greater than or equal to 1"),
        (TrainingConfig, {"iterations": "3"}, "iterations: got '3': input should be a valid integer"),
        (TrainingConfig, {"batch_size": True}, "batch_size: got True: input should be a valid integer"),
        (TrainingConfig, {"stack": 5}, "stack: got 5: input should be less than or equal to 4"),
        *[
            (TrainingConfig, {name: 2**53}, f"{name}: got {2**53}: input should be less than or equal to")
            for name in (
                *("iterations", "steps_per_iteration", "evaluation_steps", "update_every", "batch_size", "hidden"),
                *("replay_size", "warm_up", "target_period", "epsilon_decay_steps", "n_step", "atoms"),
            )
        ],
        *[
            (TrainingConfig, {name: 1e300}, f"{name}: got 1e+300: input should be less than or equal to")
            for name in ("input_scale", "reward_clip")
        ],
        (
            TrainingConfig,
            {"value_limit": 1e300},
            "value_limit: got 1e+300, allowed is a number above 0 and at most 1e9",
        ),
        (GridWorldConfig, {"time_limit": 2**53}, f"time_limit: got {2**53}: input should be less than or equal to"),
        (TrainingConfig, {"loss": "l1"}, "loss: got 'l1': input should be 'squared' or 'huber'"),
        (TrainingConfig, {"discount": 1.0}, "discount: got 1.0, allowed is a number from 0 to below 1, or 'scaled'"),
        (TrainingConfig, {"discount": -0.1}, "discount: got -0.1, allowed is a number from 0 to below 1, or 'scaled'"),
        (
            TrainingConfig,
            {"rmsprop_epsilon": float("nan")},
            "rmsprop_epsilon: got nan: input should be a finite number",
        ),
        (
            TrainingConfig,
            {"n_step": 98, "replay_size": 100},
            "replay_size: got 100, allowed with n_step 98 is 101 or more",
        ),
        (TrainingConfig, {"iteratons": 3}, "iteratons: got 3, but there is no such key"),
        (
            GridWorldConfig,
            {"map": "maze"},
            "map: got 'maze': input should be 'montezuminha', 'two_rooms' or 'corridor'",
        ),
        (GridWorldConfig, {"hard": "yes"}, "hard: got 'yes': input should be a valid boolean"),
        (GridWorldConfig, {"map": "corridor", "hard": True}, "hard: got True, but the corridor has no parallel world"),
        (GymWorldConfig, {}, "id: missing, but required"),
        (HeadConfig, {"reward": {}}, "reward: got {}: dictionary should have at least 1 item"),
    ],
)
def test_a_wrong_value_says_which_field_what_it_got_and_what_is_allowed(kind, values, says):
    with pytest.raises(UserError) as error:
        kind.read(values)
    assert str(error.value).startswith(says)


def test_all_wrong_values_are_told_at_once():
    with pytest.raises(UserError) as error:
        TrainingConfig.read({"iterations": 0, "loss": "l1", "colour": "red"})
    assert [line.split(":")[0] for line in str(error.value).splitlines()] == ["iterations", "loss", "colour"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"epsilon": 2.0}, "epsilon: got 2.0, allowed is a number from 0 to 1"),
        ({"gamma_steps": 1.0}, "gamma_steps: got 1.0, allowed is a number from 0 to 0.999999999"),
        ({"p_task": -0.1}, "p_task: got -0.1, allowed is a number from 0 to 1"),
        ({"learning_rate": -1.0}, "learning_rate: got -1.0, allowed is a number from 0 to 10"),
        ({"beta": 1.0}, "beta: mulex has no such hyperparameter, it has learning_rate, epsilon, p_task, gamma_steps"),
    ],
)
def test_a_wrong_hyperparameter_says_so(values, says):
    with pytest.raises(UserError) as error:
        run_with(values=values)
    assert str(error.value) == says


def test_an_unknown_method_says_which_there_are():
    with pytest.raises(UserError, match=r"'mule', allowed is one of epsilon_greedy, additive, mulex, two_task_heads"):
        make_run(GridWorldConfig(), "mule", TrainingConfig())


def test_a_missing_value_says_so():
    plain = run_with().model_dump()
    with pytest.raises(UserError, match="values: no value for gamma_steps, learning_rate, p_task"):
        RunConfig.read({**plain, "values": {"epsilon": 0.1}})


def composed(**changes):
    plain = {
        "heads": {"a": {"reward": {"task": 1.0}}, "b": {"reward": {"oracle": "beta"}}},
        "acting": {"probabilities": {"a": 0.5}},
        "evaluate": ["a"],
        "hyperparameters": {"learning_rate": 1e-3, "epsilon": 0.1, "beta": 1.0},
    }
    return plain | changes


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"heads": {"a": {"reward": {"gold": 1.0}}}},
            "heads.a.reward: no signal 'gold', there are task, oracle, simhash",
        ),
        ({"heads": {"a": {"reward": {"task": "alpha"}}}}, "heads.a.reward.task: no hyperparameter 'alpha'"),
        ({"evaluate": ["c"]}, "evaluate or acting.probabilities: no head 'c', there are a, b"),
        ({"evaluate": []}, "evaluate: got no head"),
        ({"acting": {"probabilities": {"c": 0.5}}}, "evaluate or acting.probabilities: no head 'c', there are a, b"),
        ({"acting": {"gamma_steps": "stay"}}, "acting: no hyperparameter 'stay'"),
        (
            {"hyperparameters": {"learning_rate": 1.0, "beta": 1.0}},
            "hyperparameters (always needed): no hyperparameter 'epsilon'",
        ),
    ],
)  # fmt: skip
def test_a_method_that_does_not_hold_together_says_why(changes, says):
    assert MethodConfig.read(composed())
    with pytest.raises(UserError) as error:
        MethodConfig.read(composed(**changes))
    assert str(error.value).startswith(says)


@pytest.mark.parametrize(
    ("acting", "says"),
    [
        ({"probabilities": {"a": 0.7, "b": 0.4}}, "acting.probabilities: got [0.7, 0.4]"),
        ({"probabilities": {"a": -0.1}}, "acting.probabilities: got [-0.1]"),
        ({"gamma_steps": 1.0}, "acting.gamma_steps: got 1.0, allowed is a number from 0 to below 1"),
        ({"gamma_steps": -0.5}, "acting.gamma_steps: got -0.5"),
        ({"gamma_steps": "beta"}, "acting.gamma_steps: got 1.0"),
    ],
)
def test_acting_that_cannot_be_says_so(acting, says):
    recipe = MethodConfig.read(composed(acting=acting))
    with pytest.raises(UserError) as error:
        make_run(GridWorldConfig(), "mine", TrainingConfig(), recipe=recipe)
    assert str(error.value).startswith(says)


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        run_with().training.iterations = 3


def shuffled(plain, rng, inside=""):
    """The same data with its keys in another order; the order of heads is part of a method."""
    if not isinstance(plain, dict):
        return plain
    keys = list(plain)
    if inside != "heads":
        rng.shuffle(keys)
    return {key: shuffled(plain[key], rng, key) for key in keys}


@given(method=st.sampled_from(sorted(METHODS)), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_run_ids_do_not_depend_on_the_order_of_keys(method, seed):
    run = make_run(GridWorldConfig(), method, TrainingConfig(), seed=seed)
    again = RunConfig.read(shuffled(run.model_dump(), random.Random(seed)))
    assert again.run_id == run.run_id
    assert again == run


def test_the_order_of_heads_makes_another_run():
    """It decides where their weights start and what a drawn number means; such runs do not share a pack either."""
    turned = MULEX.model_copy(update={"heads": dict(reversed(MULEX.heads.items()))})
    one, other = run_with(), run_with(recipe=turned)
    assert one.run_id != other.run_id
    assert one.shape != other.shape


CHANGES = (
    [("training", name) for name in OTHER_TRAINING]
    + [("world", name) for name in OTHER_WORLD]
    + [("values", name) for name in OTHER_VALUES]
    + [("seed", "seed")]
)


def changed_run(changes):
    return run_with(
        training={name: OTHER_TRAINING[name] for part, name in changes if part == "training"},
        world={name: OTHER_WORLD[name] for part, name in changes if part == "world"},
        values={name: OTHER_VALUES[name] for part, name in changes if part == "values"},
        seed=int(("seed", "seed") in changes),
    )


def test_run_ids_change_with_every_field():
    runs = [changed_run([])] + [changed_run([change]) for change in CHANGES]
    assert len({run.run_id for run in runs}) == len(CHANGES) + 1


@given(first=st.sets(st.sampled_from(CHANGES)), second=st.sets(st.sampled_from(CHANGES)))
@settings(max_examples=100, deadline=None)
def test_run_ids_are_equal_for_equal_runs_only(first, second):
    one, other = changed_run(first), changed_run(second)
    assert (one.run_id == other.run_id) == (first == second)
    shape = {change for change in first ^ second if change[0] in ("training", "world")}
    assert (one.shape == other.shape) == (not shape)


def test_run_ids_change_with_the_method_and_the_gym_world():
    ids = {run_with(recipe=with_bonus(MULEX, "simhash")).run_id, run_with(method="other name").run_id}
    ids |= {make_run(GridWorldConfig(), method, TrainingConfig()).run_id for method in METHODS}
    plain = {"id": "CartPole-v1"}
    worlds = [plain] + [plain | {name: value} for name, value in OTHER_GYM.items()]
    ids |= {make_run(GymWorldConfig(**world), "mulex", TrainingConfig()).run_id for world in worlds}
    assert len(ids) == 2 + len(METHODS) + 1 + len(OTHER_GYM)


def test_a_whole_number_and_its_float_are_one_value():
    assert run_with(values={"p_task": 1}).run_id == run_with(values={"p_task": 1.0}).run_id
    assert run_with(training={"discount": 0}).run_id == run_with(training={"discount": 0.0}).run_id


def test_a_run_survives_json():
    run = changed_run(CHANGES)
    again = RunConfig.read(json.loads(json.dumps(run.model_dump(mode="json"))))
    assert again == run
    assert again.run_id == run.run_id


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_field_has_a_sentence(kind):
    for name, field in kind.model_fields.items():
        assert field.description, name
        assert field.description[0].isupper(), name
        assert field.description.endswith("."), name


@pytest.mark.parametrize("kind", [TrainingConfig, GridWorldConfig, GymWorldConfig], ids=lambda kind: kind.__name__)
def test_every_setting_has_an_origin(kind):
    for name, field in kind.model_fields.items():
        assert field.json_schema_extra["origin"] in ("given", "chosen"), name


def test_shape_leaves_out_exactly_the_fields_that_are_marked_per_member():
    """The hyperparameters and the seed may differ in a pack; every other field, changed alone, changes the shape."""
    marked = {
        name
        for name, field in RunConfig.model_fields.items()
        if any(isinstance(mark, PerMember) for mark in field.metadata)
    }
    base = run_with()
    others = {
        "world": GridWorldConfig(hard=True),
        "method": "another name",
        "recipe": with_bonus(MULEX, "simhash"),
        "training": TrainingConfig(hidden=32),
        "values": base.values | OTHER_VALUES,
        "seed": 8,
    }
    assert others.keys() == RunConfig.model_fields.keys()
    for name, value in others.items():
        other = RunConfig.read(dict(base) | {name: value})
        assert other.run_id != base.run_id, name
        assert (other.shape == base.shape) == (name in marked), name
    assert marked == {"values", "seed"}


@pytest.mark.parametrize(
    ("w", "steps", "evaluation", "discount"), [(5, 2500, 1250, 0.97), (10, 5000, 2500, 0.985), (15, 7500, 3750, 0.99)]
)
def test_what_depends_on_the_room(w, steps, evaluation, discount):
    """The paper's protocol, and the discount that grows with the room."""
    run = run_with(world={"room_size": w})
    assert (run.steps_per_iteration, run.evaluation_steps) == (steps, evaluation)
    assert run.discount == pytest.approx(discount)
    assert run_with(training={"discount": 0.99}, world={"room_size": w}).discount == 0.99


def test_the_papers_numbers():
    training = TrainingConfig()
    assert (training.iterations, training.update_every, training.batch_size) == (800, 4, 32)
    assert (training.loss, training.flavour, training.hidden) == ("squared", "dqn", 64)
    gym = make_run(GymWorldConfig(id="CartPole-v1"), "epsilon_greedy", training)
    assert (gym.steps_per_iteration, gym.evaluation_steps, gym.discount) == (2500, 1250, 0.99)


def test_configuration_loads_neither_torch_nor_ray():
    """So the command line can check a spec at once."""
    code = "import sys, mulex.config, mulex.methods; print([m for m in ('torch', 'ray', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_acting_has_defaults():
    assert ActingConfig() == ActingConfig(probabilities={}, gamma_steps=0.0)
