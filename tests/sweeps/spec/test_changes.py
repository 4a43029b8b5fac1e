"""What --set does to a spec, and when one spec only adds to another."""

import pytest

from mulex.config import GridWorldConfig, TrainingConfig
from sweeps.search.distributions import Distribution, constant
from sweeps.spec import Search, SpecError, differences, parse_spec
from tests.support.spec_texts import SMALL


def test_set_changes_values_and_makes_sections():
    overrides = ["search.draws=8", "methods.mulex.p_task=0.7", "worlds.w5.room_size=7", "training={hidden: 8}"]
    overrides += ["worlds.w5.training.loss=huber", "methods.epsilon_greedy.epsilon={uniform: [0.1, 0.2]}", "name=b"]
    spec = parse_spec(SMALL, "s.yaml", overrides)
    assert spec.search == Search(draws=8, seeds=3)
    assert spec.space("mulex")["p_task"] == constant(0.7)
    assert spec.world("w5") == GridWorldConfig(room_size=7)
    assert spec.training_in("w5") == TrainingConfig(hidden=8, loss="huber")
    assert spec.space("epsilon_greedy")["epsilon"] == Distribution("uniform", (0.1, 0.2))
    assert spec.name == "b"


def test_set_finds_names_that_have_dots():
    text = SMALL.replace("w5:", "w5.0:")
    assert parse_spec(text, "s.yaml", ["worlds.w5.0.room_size=9"]).world("w5.0") == GridWorldConfig(room_size=9)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("search.draws", "--set search.draws: allowed is PATH=VALUE, for example search.draws=8"),
        ("=8", "--set =8: allowed is PATH=VALUE, for example search.draws=8"),
        ("search..draws=8", "--set search..draws=8: allowed is PATH=VALUE, for example search.draws=8"),
        (
            "search.draws=x",
            "--set search.draws=x: search.draws: got 'x', allowed is a whole number from 1 to 1,000,000",
        ),
        ("search.draws=", "--set search.draws=: search.draws: got null, allowed is a whole number from 1 to 1,000,000"),
        (
            "search.drws=8",
            "--set search.drws=8: search.drws: no such key, there are algorithm, draws, seeds, seed, first",
        ),
        ("name.x=8", "--set name.x=8: name.x: name is 'study', so there is no key in it"),
        ("worlds.w5.room_size=[", "--set worlds.w5.room_size=[: worlds.w5.room_size: this is not YAML: "),
        (
            "methods.mulex.p_task={uniform: [1, .nan]}",
            "--set methods.mulex.p_task={uniform: [1, .nan]}: methods.mulex.p_",
        ),
        (
            "methods.mulex.p_task={uniform: [2, 1]}",
            "--set methods.mulex.p_task={uniform: [2, 1]}: methods.mulex.p_task.un",
        ),
    ],
)
def test_a_wrong_set_is_said_to_be_one(option, says):
    with pytest.raises(SpecError) as refused:
        parse_spec(SMALL, "s.yaml", [option])
    (problem,) = refused.value.problems
    assert str(problem).startswith(says)


SAME_METHOD = "mulex: {learning_rate: {log_uniform: [1e-5, 1e-3]}, p_task: {uniform: [0.5, 0.9]}}"
GRID_TO_GYM = "{map: 'montezuminha', room_size: 5, hard: false, ghosts: ... -> {id: 'CartPole-v1', kwargs: {}, ideal"


@pytest.mark.parametrize(
    ("overrides", "added"),
    [
        (["name=b", "execution.device=cuda", "execution.keep_policies=true"], []),
        (["search.draws=30", "search.seeds=5"], ["search.draws: 20 -> 30", "search.seeds: 3 -> 5"]),
        (["worlds.w9={room_size: 9}"], ["worlds.w9: new"]),
        (["methods.epsilon_greedy={}"], ["methods.epsilon_greedy: new"]),
        # written in another way, the same in effect
        (["training.hidden=64", "methods.mulex.epsilon=0.01", "worlds.w5.hard=false"], []),
        (["training={warm_up: 10, iterations: 40}", "worlds.w5.training={warm_up: 1000}"], []),
    ],
)
def test_a_spec_that_only_adds(overrides, added):
    assert differences(parse_spec(SMALL, "s.yaml"), parse_spec(SMALL, "s.yaml", overrides)) == (added, [])


@pytest.mark.parametrize(
    ("overrides", "changed"),
    [
        (["search.draws=10"], ["search.draws: 20 -> 10"]),
        (["search.seeds=2"], ["search.seeds: 3 -> 2"]),
        (["search.first_seed=1"], ["search.first_seed: 0 -> 1"]),
        (["search.first_seed=1", "search.seeds=9"], ["search.first_seed: 0 -> 1", "search.seeds: 3 -> 9"]),
        (["search.seed=1"], ["search.seed: 0 -> 1"]),
        (["search.algorithm=tpe"], ["search.algorithm: 'random' -> 'tpe'"]),
        (["worlds={w5: {}}"], ["worlds.w7: taken away"]),
        ([f"methods={{{SAME_METHOD}}}"], ["methods.additive: taken away"]),
        (["worlds.w5.ghosts=1"], ["worlds.w5.ghosts: 0 -> 1"]),
        (["training.hidden=8"], ["training.hidden: 64 -> 8"]),
        (["training.warm_up=10"], ["worlds.w5.training.warm_up: 1000 -> 10"]),
        (
            ["worlds.w7.training={}"],
            ["worlds.w7.training.discount: 0.0 -> 'scaled'", "worlds.w7.training.warm_up: 10 -> 1000"],
        ),
        (["methods.mulex.p_task.uniform=[0.5, 0.8]"], ["methods.mulex.p_task.uniform: [0.5, 0.9] -> [0.5, 0.8]"]),
        (["methods.mulex.p_task=0.5"], ["methods.mulex.p_task: {uniform: [0.5, 0.9]} -> 0.5"]),
        (
            ["methods.mulex.p_task={choice: [0.5]}"],
            ["methods.mulex.p_task: {uniform: [0.5, 0.9]} -> {choice: [0.5]}"],
        ),
        (
            ["methods.mulex.bonus=simhash"],
            ["methods.mulex.recipe.heads.explore.reward: {oracle: 1.0} -> {simhash: 1.0}"],
        ),
    ],
)
def test_a_spec_that_changes_something(overrides, changed):
    assert differences(parse_spec(SMALL, "s.yaml"), parse_spec(SMALL, "s.yaml", overrides)) == ([], changed)


def test_a_world_of_another_kind_is_shown_whole():
    new = parse_spec(SMALL, "s.yaml", ["worlds.w5={id: CartPole-v1}", "methods={epsilon_greedy: {}}"])
    added, changed = differences(parse_spec(SMALL, "s.yaml"), new)
    assert added == ["methods.epsilon_greedy: new"]
    assert changed[:2] == ["methods.mulex: taken away", "methods.additive: taken away"]
    assert len(changed) == 3
    assert changed[2].startswith(f"worlds.w5: {GRID_TO_GYM}")


def test_seeds_may_be_added_at_both_ends():
    old = parse_spec(SMALL, "s.yaml", ["search.first_seed=5"])
    new = parse_spec(SMALL, "s.yaml", ["search.first_seed=0", "search.seeds=8"])
    assert differences(old, new) == (["search.first_seed: 5 -> 0", "search.seeds: 3 -> 8"], [])
