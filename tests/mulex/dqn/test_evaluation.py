"""Evaluation: one episode with a loop detector says what whole episodes up to the budget would say."""

import zlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mulex.learners.dqn.torch.engine
from mulex.config import GridWorldConfig
from mulex.learners.dqn.evaluation import Evaluation, Stacks, evaluate
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.streams import stream_keys
from mulex.worlds.interface import GridWorlds
from mulex.worlds.shortest_paths import optimal_actions
from mulex.worlds.world import build_world
from tests.support.agents import Case, assert_same_arrays, more, train

WORLDS = {
    "two rooms": build_world("two_rooms", 3, time_limit=60),
    "hard": build_world("two_rooms", 3, hard=True, time_limit=60),
    "corridor": build_world("corridor", 5, time_limit=7),
    "montezuminha": build_world("montezuminha", 3, time_limit=80),
    "no time": build_world("two_rooms", 3, time_limit=9),
}


class Policy:
    """An arbitrary but fixed action for every stack; with some skill it is the optimal one for most of them."""

    def __init__(self, world, seed, skill):
        self.best, self.seed, self.skill = optimal_actions(world.tables), seed, skill

    def __call__(self, stacks):
        return np.array([self.action([int(record[0]) for record in stack]) for stack in stacks])

    def action(self, states):
        number = zlib.crc32(repr((self.seed, states)).encode())
        return int(self.best[states[-1]]) if number % 1000 < 1000 * self.skill else number // 1000 % 4


def played(world, policy, stack, least_steps):
    """Whole episodes until the budget is reached, step by step on the tables."""
    tables = world.tables
    returns, lengths = [], []
    while sum(lengths) < least_steps:
        states, total = [0] * stack, 0.0
        for step in range(1, world.time_limit + 1):  # noqa: B007
            at, action = states[-1], policy.action(states)
            total += float(tables.reward[at, action])
            states = [*states[1:], int(tables.next_state[at, action])]
            if tables.terminal[at, action]:
                break
        returns.append(total)
        lengths.append(step)
    return sum(returns) / len(returns), sum(lengths) / len(lengths)


@given(
    name=st.sampled_from(sorted(WORLDS)),
    stack=st.integers(1, 4),
    skill=st.sampled_from([0.0, 0.5, 0.8, 0.95, 1.0]),
    least_steps=st.integers(1, 300),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=120, deadline=None)
def test_one_episode_says_what_all_of_them_would(name, stack, skill, least_steps, seed):
    """Returns and lengths, for three policies at once, with the detector and by playing on."""
    world = WORLDS[name]
    policies = [Policy(world, seed + p, skill) for p in range(3)]

    def act(stacks):
        return np.array([policy(stacks[p : p + 1])[0] for p, policy in enumerate(policies)])

    keys = stream_keys(["a", "b", "c"], "evaluation")
    detected = evaluate(GridWorlds(world, keys), act, stack, least_steps)
    on_and_on = GridWorlds(world, keys)
    on_and_on.repeats = False
    whole = evaluate(on_and_on, act, stack, least_steps)
    expected = [played(world, policy, stack, least_steps) for policy in policies]
    for found in (detected, whole):
        np.testing.assert_allclose(np.stack([found.mean_return, found.mean_length], axis=1), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "ideal"), [("two rooms", 2.0), ("montezuminha", 4.0), ("corridor", 1.0)])
def test_the_optimal_policy_earns_the_ideal_return(name, ideal):
    world = WORLDS[name]
    found = evaluate(GridWorlds(world, stream_keys(["a"], "x")), Policy(world, 0, 1.0), 4, 100)
    assert found.mean_return.tolist() == [ideal]


def test_a_loop_is_seen_at_once():
    """A policy that stands still is found out after as many steps as a stack is long, and its length is the limit."""
    world, calls = build_world("two_rooms", 3, time_limit=500), []

    def up(stacks):
        calls.append(1)
        return np.zeros(len(stacks), dtype=np.int64)

    found = evaluate(GridWorlds(world, stream_keys(["a", "b"], "x")), up, 4, 1000)
    assert found.mean_length.tolist() == [500.0, 500.0]
    assert found.mean_return.tolist() == [0.0, 0.0]
    assert len(calls) <= 4


class Listener(GridWorlds):
    """Ghost worlds that remember how each step went."""

    def __init__(self, world, keys):
        super().__init__(world, keys)
        self.outcomes = []

    def step(self, actions):
        self.outcomes.append(super().step(actions))
        return self.outcomes[-1]


@given(least_steps=st.integers(1, 120), seed=st.integers(0, 2**32 - 1), time_limit=st.integers(3, 40))
@settings(max_examples=40, deadline=None)
def test_many_episodes_reach_the_budget_and_stop_at_an_end(least_steps, seed, time_limit):
    """Each member's means are over its own first episodes that together have at least the budget's steps."""
    world = build_world("two_rooms", 3, ghosts=1, time_limit=time_limit)
    worlds = Listener(world, stream_keys([str(seed), "b", "c"], "x"))
    found = evaluate(worlds, Policy(world, seed, 0.8), 4, least_steps)
    for p in range(3):
        returns, lengths = [0.0], [0]
        for outcome in worlds.outcomes:
            returns[-1] += float(outcome.reward[p])
            lengths[-1] += 1
            if outcome.terminal[p] or outcome.truncated[p]:
                if sum(lengths) >= least_steps:
                    break
                returns.append(0.0)
                lengths.append(0)
        else:
            pytest.fail("it stopped before the budget, or in the middle of an episode")
        assert found.mean_return[p] == pytest.approx(sum(returns) / len(returns))
        assert found.mean_length[p] == pytest.approx(sum(lengths) / len(lengths))


def test_members_are_evaluated_as_if_alone():
    world = build_world("two_rooms", 3, ghosts=2, time_limit=30)
    names, policy = ["a", "b", "c", "d"], Policy(world, 3, 0.9)
    together = evaluate(GridWorlds(world, stream_keys(names, "x")), policy, 4, 100)
    for p, name in enumerate(names):
        alone = evaluate(GridWorlds(world, stream_keys([name], "x")), policy, 4, 100)
        assert (alone.mean_return[0], alone.mean_length[0]) == (together.mean_return[p], together.mean_length[p])
    assert len(set(together.mean_length.tolist())) > 1


def test_a_stack_begins_with_its_first_frame():
    stacks = Stacks(np.array([[1], [5]]), 3)
    assert stacks.records[..., 0].tolist() == [[1, 1, 1], [5, 5, 5]]
    stacks.push(np.array([[2], [6]]))
    assert stacks.records[..., 0].tolist() == [[1, 1, 2], [5, 5, 6]]
    stacks.begin(np.array([True, False]), np.array([[9], [8]]))
    assert stacks.records[..., 0].tolist() == [[9, 9, 9], [5, 5, 6]]


@pytest.mark.parametrize("ghosts", [0, 1])
def test_evaluating_leaves_no_trace_in_training(ghosts, monkeypatch):
    """The same run without evaluations learns the same, bit for bit."""
    case = Case("mulex", GridWorldConfig(map="two_rooms", room_size=3, ghosts=ghosts, time_limit=25))
    evaluated, _ = train(case.members(2), 2)
    nothing = Evaluation(np.zeros(2), np.zeros(2))
    monkeypatch.setattr(mulex.learners.dqn.torch.engine, "evaluate", lambda *rest: nothing)
    bare, _ = train(case.members(2), 2)
    assert_same_arrays(bare.save(), evaluated.save())


@pytest.mark.parametrize("method", ["mulex", "two_task_heads"])
def test_the_engine_evaluates_the_right_heads_greedily(method):
    """Its rows are what the greedy policy of each head earns, played step by step with the network's own values."""
    engine, rows = train(Case(method, training={"steps_per_iteration": 200}).members(3), 2)
    world = engine.worlds.world
    for h, name in enumerate(engine.run.recipe.evaluate):
        column = f"eval_return_{name}" if method == "two_task_heads" else "eval_return"
        for p, row in enumerate(rows[-1]):
            greedy = GreedyHead(engine, h, p)
            assert row[column] == played(world, greedy, engine.stack, 30)[0]
            if h == 0:
                assert (row["eval_return"], row["eval_episode_length"]) == played(world, greedy, engine.stack, 30)
                assert row["normalised_return"] == row["eval_return"] / 2


@pytest.mark.parametrize("method", ["mulex", "two_task_heads"])
def test_a_heads_return_is_its_own(method):
    """In the corridor a head that always goes right earns 1 and one that goes left 0; they differ by member too."""
    world = GridWorldConfig(map="corridor", room_size=3, time_limit=9)
    engine = TorchEngine(Case(method, world, training={"body": "mlp", "warm_up": 1000}).members(3))
    actions = ((1, 3, 1), (3, 1, 1))  # right is 1, left is 3
    for h, by_member in enumerate(actions):
        engine.learner.weights[f"head.{h}.out"].zero_()
        for p, action in enumerate(by_member):
            engine.learner.weights[f"head.{h}.out.bias"][p, 0] = torch.eye(4)[action]
    rows = more(engine, 1)[0]
    assert [row["eval_return"] for row in rows] == [1, 0, 1]
    if method == "two_task_heads":
        assert [row["eval_return_first"] for row in rows] == [1, 0, 1]
        assert [row["eval_return_second"] for row in rows] == [0, 1, 1]


class GreedyHead:
    """The greedy policy of one head of one member."""

    def __init__(self, engine, head, p):
        self.engine, self.head, self.p = engine, head, p

    def action(self, states):
        stacks = np.broadcast_to(np.array(states, dtype=np.uint16)[:, None], (3, len(states), 1))
        return int(self.engine.learner.values(stacks)[self.head, self.p].argmax())


def test_a_run_has_the_budget_that_its_settings_name(monkeypatch):
    """Or half its training steps; and the frames of its stack."""
    asked = []

    def spying_evaluate(worlds, act, stack, least_steps):
        asked.append((stack, least_steps))
        return Evaluation(np.zeros(1), np.zeros(1))

    monkeypatch.setattr(mulex.learners.dqn.torch.engine, "evaluate", spying_evaluate)
    for training in ({"evaluation_steps": 7, "stack": 3}, {}):
        train([Case("mulex", training=training).run()], 1)
    assert asked == [(3, 7), (4, 30)]


def test_each_evaluation_has_chance_of_its_own():
    """With ghosts, two evaluations of a policy that does not learn differ: they are different episodes."""
    world = GridWorldConfig(map="two_rooms", room_size=3, ghosts=1, time_limit=40)
    case = Case("epsilon_greedy", world, training={"warm_up": 10_000, "evaluation_steps": 60})
    engine, rows = train([case.run(seed=seed) for seed in range(4)], 1)
    rows += more(engine, 2)
    lengths = [tuple(row["eval_episode_length"] for row in iteration) for iteration in rows]
    assert len(set(lengths)) == 3
