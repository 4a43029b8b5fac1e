"""The spec: what it means, that it can be written out and read again, and what its hash is of."""

import random
import subprocess
import sys

import pytest

from mulex.config import GridWorldConfig, GymWorldConfig, RunConfig, TrainingConfig
from mulex.methods import METHODS, MULEX, make_run, with_bonus
from sweeps.one_draw import spec_of
from sweeps.search.distributions import Distribution, constant
from sweeps.spec import Execution, Search, Spec, differences, parse_spec, write_yaml
from sweeps.spec.yaml_reader import read_yaml
from tests.support.spec_texts import OWN_METHOD, SMALL, WITH_OWN_METHOD


def test_what_a_spec_says():
    spec = parse_spec(SMALL, "s.yaml")
    assert spec.name == "study"
    assert list(spec.worlds) == ["w5", "w7"]
    assert spec.world("w7") == GridWorldConfig(room_size=7)
    assert type(spec.world("w7")) is GridWorldConfig
    assert spec.training_in("w5") == TrainingConfig(iterations=40)
    assert spec.training_in("w7") == TrainingConfig(iterations=40, warm_up=10, discount=0.0)
    assert spec.search == Search(draws=20, seeds=3)
    assert spec.execution == Execution(checkpoint_every=30.0)
    assert spec.recipe("mulex") == MULEX
    assert spec.space("mulex") == {
        "learning_rate": Distribution("log_uniform", (1e-5, 1e-3)),
        "epsilon": constant(0.01),
        "p_task": Distribution("uniform", (0.5, 0.9)),
        "gamma_steps": constant(0.9),
    }
    assert list(spec.space("additive")) == list(METHODS["additive"].hyperparameters)
    assert spec.run_count == 2 * 2 * 20 * 3


def test_what_is_left_out_has_its_default():
    spec = parse_spec("name: a\nworlds: {w: {}}\nmethods: {mulex: {}}", "s.yaml")
    assert (spec.training, spec.search, spec.execution) == (TrainingConfig(), Search(), Execution())
    assert spec.world("w") == GridWorldConfig()
    assert all(distribution.is_constant for distribution in spec.space("mulex").values())


def test_a_bonus_a_recipe_and_a_gymnasium_world():
    gym = "  cart: {id: CartPole-v1, kwargs: {sutton_barto_reward: true}, ideal_return: 500}\n"
    text = f"name: a\nworlds:\n{gym}methods:\n  mulex: {{bonus: simhash}}\n"
    spec = parse_spec(text + OWN_METHOD.replace("oracle", "simhash"), "s.yaml")
    kwargs = {"sutton_barto_reward": True}
    assert spec.world("cart") == GymWorldConfig(id="CartPole-v1", kwargs=kwargs, ideal_return=500.0)
    assert spec.recipe("mulex") == with_bonus(MULEX, "simhash")
    own = spec.recipe("own")
    assert list(own.heads) == ["a", "b"]
    assert own.signals == ("simhash",)
    assert spec.space("own")["p_a"] == Distribution("uniform", (0.1, 0.4))
    assert spec.space("own")["w"] == constant(3.0)
    run = make_run(spec.world("cart"), "own", spec.training, {"p_a": spec.space("own")["p_a"].at(0.5)}, recipe=own)
    assert isinstance(run, RunConfig)


@pytest.mark.parametrize("text", [SMALL, WITH_OWN_METHOD])
def test_a_resolved_spec_loads_as_the_same_spec(text):
    spec = parse_spec(text, "s.yaml")
    again = parse_spec(write_yaml(spec.resolved()), "again.yaml")
    assert again == spec
    assert again.resolved() == spec.resolved()
    assert again.outcome_hash() == spec.outcome_hash()
    assert [list(again.space(method)) for method in again.methods] == [list(spec.space(m)) for m in spec.methods]


def test_a_resolved_spec_leaves_nothing_to_defaults():
    plain = parse_spec(SMALL, "s.yaml").resolved()
    assert plain.keys() == Spec.model_fields.keys()
    assert plain["training"].keys() == TrainingConfig.model_fields.keys()
    assert plain["search"].keys() == Search.model_fields.keys()
    assert plain["execution"].keys() == Execution.model_fields.keys()
    assert plain["worlds"]["w5"].keys() == GridWorldConfig.model_fields.keys() | {"training"}
    assert plain["methods"]["mulex"].keys() == MULEX.hyperparameters.keys() | {"recipe"}


def shuffled(plain, chance):
    if not isinstance(plain, dict):
        return plain
    items = list(plain.items())
    chance.shuffle(items)
    return {key: shuffled(value, chance) for key, value in items}


def test_hashes_do_not_depend_on_the_order_of_keys():
    spec = parse_spec(SMALL, "s.yaml")
    mixed = parse_spec(write_yaml(shuffled(read_yaml(SMALL, "s.yaml").plain, random.Random(0))), "s.yaml")
    assert mixed == spec
    assert mixed.outcome_hash() == spec.outcome_hash()
    assert differences(spec, mixed) == ([], [])


def test_the_hash_is_of_what_decides_outcomes():
    spec = parse_spec(SMALL, "s.yaml")
    for same in ("name=other", "search.draws=99", "search.seeds=9", "search.first_seed=7", "execution.device=cuda"):
        assert parse_spec(SMALL, "s.yaml", [same]).outcome_hash() == spec.outcome_hash()
    hashes = {spec.outcome_hash()}
    others = ("search.seed=1", "search.algorithm=sobol", "training.hidden=8", "worlds.w7.training.hidden=8")
    others += (
        "worlds.w5.room_size=9",
        "methods.mulex.p_task=0.5",
        "methods.mulex.bonus=simhash",
        "worlds.w9={room_size: 9}",
    )
    for other in others:
        hashes.add(parse_spec(SMALL, "s.yaml", [other]).outcome_hash())
    assert len(hashes) == 1 + len(others)


def test_the_folder_of_mulex_train_is_a_sweep_too():
    run = make_run(GridWorldConfig(room_size=3), "mulex", TrainingConfig(iterations=2), {"p_task": 0.6}, seed=4)
    spec = spec_of([run], "auto", "cpu")
    values = {name: distribution.at(0.0) for name, distribution in spec.space("mulex").items()}
    training, recipe = spec.training_in("w3"), spec.recipe("mulex")
    assert make_run(spec.world("w3"), "mulex", training, values, spec.search.first_seed, recipe).run_id == run.run_id


def test_a_spec_needs_neither_torch_nor_ray():
    code = "import sys, sweeps.spec, sweeps.commands.validate; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    modules = set(done.stdout.split())
    assert "sweeps.spec" in modules
    assert not modules & {"torch", "ray", "optuna", "pandas", "pyarrow", "scipy"}
