"""The shipped specs plan what the paper did; docs/spec.md and the JSON schema are as fresh as the models."""

import json

import jsonschema
import pytest

from mulex.config import GridWorldConfig, TrainingConfig
from sweeps.search.distributions import Distribution, constant
from sweeps.spec import docs as spec_docs
from sweeps.spec import parse_spec, write_yaml
from sweeps.spec.yaml_reader import read_yaml
from tests.support.spec_texts import WITH_OWN_METHOD

SHIPPED = {path.stem: path.read_text() for path in sorted(spec_docs.SPECS.glob("*.yaml"))}
THREE = ["epsilon_greedy", "additive", "mulex"]
SPACES = {
    "epsilon_greedy": {"epsilon": Distribution("log_uniform", (0.001, 0.5))},
    "additive": {"epsilon": constant(0.01), "beta": Distribution("log_uniform", (0.01, 100.0))},
    "mulex": {
        "epsilon": constant(0.01),
        "p_task": Distribution("uniform", (0.5, 0.9)),
        "gamma_steps": Distribution("uniform", (0.8, 0.99)),
    },
    "two_task_heads": {
        "epsilon": Distribution("log_uniform", (0.001, 0.5)),
        "p_1": Distribution("choice", tuple(i / 10 for i in range(11))),
        "gamma_steps": constant(0.9),
    },
}


@pytest.mark.parametrize(
    ("name", "methods", "worlds", "draws", "seeds", "runs"),
    [
        ("main", THREE, {"w5": GridWorldConfig(room_size=5)}, 200, 5, 3000),
        ("rooms", THREE, {f"w{w}": GridWorldConfig(room_size=w) for w in (5, 10, 15)}, 200, 5, 9000),
        ("hard", THREE, {"hard": GridWorldConfig(room_size=5, hard=True)}, 200, 5, 3000),
        ("ghost", THREE, {"ghost": GridWorldConfig(room_size=10, ghosts=1)}, 200, 5, 3000),
        ("textured", THREE, {"textured": GridWorldConfig(room_size=5, textured=True)}, 200, 1, 600),
        ("rainbow", THREE, {"w5": GridWorldConfig(room_size=5)}, 200, 5, 3000),
        ("acting", ["two_task_heads"], {"w5": GridWorldConfig(room_size=5)}, 200, 5, 1000),
        ("start_states", ["additive", "mulex"], {"w5": GridWorldConfig(room_size=5)}, 200, 5, 2000),
    ],
)
def test_a_shipped_spec_plans_what_the_paper_did(name, methods, worlds, draws, seeds, runs):
    spec = parse_spec(SHIPPED[name], name)
    assert spec.name == name
    assert list(spec.methods) == methods
    assert {world: spec.world(world) for world in spec.worlds} == worlds
    assert (spec.search.draws, spec.search.seeds, spec.run_count) == (draws, seeds, runs)
    assert (spec.search.algorithm, spec.execution.scheduler) == ("random", None)
    flavour = "rainbow" if name == "rainbow" else "dqn"
    assert all(spec.training_in(world) == TrainingConfig(flavour=flavour) for world in spec.worlds)
    for method in methods:
        learning_rate = {"learning_rate": Distribution("log_uniform", (1e-5, 1e-3))}
        assert spec.space(method) == learning_rate | SPACES[method]


def test_the_bonuses_and_kept_policies_of_the_shipped_specs():
    specs = {name: parse_spec(text, name) for name, text in SHIPPED.items()}
    bonuses = {name: {spec.recipe(method).signals for method in spec.methods} for name, spec in specs.items()}
    assert bonuses.pop("textured") == {(), ("simhash",)}
    assert bonuses.pop("acting") == bonuses.pop("tandem") == {()}
    assert bonuses.pop("switching") == {("oracle",)}
    assert bonuses.pop("start_states") == {("oracle",)}
    assert all(found == {(), ("oracle",)} for found in bonuses.values())
    assert [name for name, spec in specs.items() if spec.execution.keep_policies] == ["start_states"]


def test_the_quick_spec_is_small():
    spec = parse_spec(SHIPPED["quick"], "quick")
    assert list(spec.methods) == THREE
    assert spec.run_count == 60
    steps = spec.run_count * spec.training.iterations * spec.training.steps_per_iteration
    assert steps <= 3_000_000  # about a minute on two free cores with the native engine


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_spec_says_what_it_is_and_reads_back(name):
    about, run_it = SHIPPED[name].splitlines()[:2]
    assert about.startswith("# ")
    assert run_it == f"# Run it: mulex sweep {name} --out out/{name}"
    spec = parse_spec(SHIPPED[name], name)
    assert parse_spec(write_yaml(spec.resolved()), name) == spec


def test_docs_and_schema_are_fresh():
    assert spec_docs.PAGE.read_text() == spec_docs.page(), "run python -m sweeps.spec.docs"
    assert json.loads(spec_docs.SCHEMA.read_text()) == spec_docs.schema(), "run python -m sweeps.spec.docs"


def test_the_recipe_in_the_docs_is_right():
    spec = parse_spec(f"name: a\nworlds: {{w: {{}}}}\n{spec_docs.EXAMPLE_RECIPE}", "docs")
    assert spec.recipe("mulex_two_explorers").signals == ("oracle", "simhash")


def test_the_space_in_the_docs_is_right():
    grid = "search: {algorithm: grid}\n"
    spec = parse_spec(f"name: a\nworlds: {{w: {{}}}}\n{grid}{spec_docs.EXAMPLE_SPACE}", "docs")
    assert spec.search.draws == 5 * 5 * (2 + 1) * 2


RICH = f"name: a\nworlds: {{w: {{}}}}\n{spec_docs.EXAMPLE_SPACE}"


@pytest.mark.parametrize("text", [*SHIPPED.values(), WITH_OWN_METHOD, RICH], ids=[*SHIPPED, "own method", "rich"])
def test_the_schema_takes_what_loads(text):
    validator = jsonschema.Draft202012Validator(spec_docs.schema())
    validator.validate(read_yaml(text, "s.yaml").plain)
    validator.validate(parse_spec(text, "s.yaml").resolved())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: study", "name: a b"),
        ("room_size: 5", "room_siz: 5"),
        ("warm_up: 10", "warm_up: -1"),
        ("iterations: 40", "iterations: x"),
        ("draws: 20", "draw: 20"),
        ("uniform: [0.5, 0.9]", "unifrm: [0.5, 0.9]"),
        ("uniform: [0.5, 0.9]", "uniform: [0.5]"),
        ("{uniform: [0.5, 0.9]}", "{step: 1}"),
        ("{uniform: [0.5, 0.9]}", "{uniform: [0.5, 0.9], choice: [1]}"),
        ("{uniform: [0.5, 0.9]}", "{uniform: [0.5, 0.9], when: {}}"),
        ("execution:", "exection:"),
    ],
)
def test_the_schema_refuses_what_an_editor_should_underline(old, new):
    assert WITH_OWN_METHOD.count(old) == 1
    wrong = read_yaml(WITH_OWN_METHOD.replace(old, new), "s.yaml").plain
    assert not jsonschema.Draft202012Validator(spec_docs.schema()).is_valid(wrong)
