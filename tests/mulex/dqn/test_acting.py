"""Who acts, for how long, and where at random: the distributions that the paper names, by stated tests.

Every statistical bound here is passed by chance in at most 1 of 10^5 cases; seeds are fixed.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.config import ActingConfig, GridWorldConfig, HeadConfig, MethodConfig
from mulex.learners.dqn.acting.schedule import GREEDY, Schedule, head_probabilities
from mulex.learners.dqn.evaluation import Evaluation
from mulex.learners.dqn.torch import engine as torch_engine
from mulex.learners.dqn.torch.engine import TorchEngine
from tests.support.agents import Case, Watch, more, naive_stack, train

STEPS = 100_000
CHI_SQUARE = {3: 26.0, 9: 40.6, 19: 57.8}  # by degrees of freedom: passed by chance in 1 of 10^5


def schedule_of(runs, actions=4):
    return Schedule(runs, actions), np.zeros(len(runs), dtype=np.int64)


def drawn(runs, steps=STEPS, actions=4):
    schedule, last = schedule_of(runs, actions)
    return schedule.draw(0, steps, last)


def mulex(p_task=0.7, gamma_steps=0.9, epsilon=0.0, seed=0, **training):
    case = Case("mulex", training={"warm_up": 0} | training)
    return case.run(seed=seed, p_task=p_task, gamma_steps=gamma_steps, epsilon=epsilon)


def stretches(head):
    """Whose turn it was and how long each lasted, without the first and the last, which are cut."""
    starts = np.nonzero(np.diff(head, prepend=-1))[0]
    return head[starts][1:-1], np.diff(starts)[1:]


@pytest.mark.parametrize(("p_task", "gamma_steps"), [(0.5, 0.8), (0.7, 0.9), (0.9, 0.95), (0.3, 0.0)])
def test_durations_are_geometric(p_task, gamma_steps):
    """A stretch of one head ends at each step with the chance to switch times the chance to draw another head.

    Chi-square on 20 classes of about equal chance (or 10 where a stretch is too short for that).
    """
    whose, lasted = stretches(drawn([mulex(p_task, gamma_steps)]).head[:, 0])
    for head, chance in ((0, p_task), (1, 1 - p_task)):
        ends = (1 - gamma_steps) * (1 - chance)
        lengths = lasted[whose == head]
        edges = sorted({math.ceil(math.log(1 - q) / math.log(1 - ends)) for q in np.arange(0.05, 1, 0.05)} - {0})
        survival = np.array([1.0, *[(1 - ends) ** edge for edge in edges], 0.0])
        expected = len(lengths) * (survival[:-1] - survival[1:])
        observed = np.histogram(lengths, bins=[1, *[edge + 1 for edge in edges], 10**9])[0]
        assert expected.min() > 5
        freedom = next(n for n in CHI_SQUARE if n >= len(edges))
        assert ((observed - expected) ** 2 / expected).sum() < CHI_SQUARE[freedom]


def test_a_turn_lasts_a_geometric_number_of_steps():
    """Fifty heads, so that hardly ever the same one is drawn again: the mean of a turn is 1 / (1 - gamma_steps)."""
    heads = {f"h{i}": HeadConfig(reward={"task": 1.0}) for i in range(50)}
    recipe = MethodConfig(
        heads=heads,
        acting=ActingConfig(gamma_steps=0.9),
        evaluate=["h0"],
        hyperparameters={"learning_rate": 1e-3, "epsilon": 0.0},
    )
    head = drawn([Case("many", composed=recipe, training={"warm_up": 0}).run()]).head[:, 0]
    _, lasted = stretches(head)
    mean = 1 / (0.1 * 49 / 50)
    assert abs(lasted.mean() - mean) < 4.5 * mean / math.sqrt(len(lasted))
    counts = np.bincount(head, minlength=50)
    assert (counts > 0).all()


@pytest.mark.parametrize(("p_task", "gamma_steps"), [(0.5, 0.8), (0.7, 0.9), (0.9, 0.99), (0.25, 0.0)])
def test_shares_are_the_categorical_ones(p_task, gamma_steps):
    """Within 4.5 standard deviations; staying makes (1 + gamma) / (1 - gamma) steps worth one."""
    share = (drawn([mulex(p_task, gamma_steps)]).head == 0).mean()
    worth = STEPS * (1 - gamma_steps) / (1 + gamma_steps)
    assert abs(share - p_task) < 4.5 * math.sqrt(p_task * (1 - p_task) / worth)


def test_a_certain_head_always_acts():
    acting = drawn([mulex(p_task=1.0), mulex(p_task=0.0)])
    assert (acting.head == [0, 1]).all()


def test_heads_without_a_probability_share_what_is_left():
    heads = {name: HeadConfig(reward={"task": 1.0}) for name in ("a", "b", "c")}
    recipe = MethodConfig(
        heads=heads,
        acting=ActingConfig(probabilities={"b": "p_task"}),
        evaluate=["a"],
        hyperparameters={"learning_rate": 1e-3, "epsilon": 0.0, "p_task": 0.5},
    )
    run = Case("three", composed=recipe, training={"warm_up": 0}).run(p_task=0.2)
    assert head_probabilities(run) == pytest.approx([0.4, 0.2, 0.4])
    counts = np.bincount(drawn([run]).head[:, 0]) / STEPS
    for share, p in zip(counts, (0.4, 0.2, 0.4), strict=True):
        assert abs(share - p) < 4.5 * math.sqrt(p * (1 - p) / STEPS)
    assert head_probabilities(Case("epsilon_greedy").run()) == [1.0]


@given(cuts=st.lists(st.integers(1, 199), max_size=6), gamma_steps=st.sampled_from([0.0, 0.8, 0.99]))
@settings(max_examples=40, deadline=None)
def test_a_schedule_carries_on_across_iterations(cuts, gamma_steps):
    """Drawn in pieces, of any lengths, it is what it is when drawn at once: turns go on, and no number comes twice."""
    runs = [mulex(0.5, gamma_steps, 0.3, seed, warm_up=20, epsilon_decay_steps=90) for seed in range(3)]
    schedule, last = schedule_of(runs)
    whole = schedule.draw(0, 200, last)
    heads, forced = [], []
    edges = [0, *sorted(set(cuts)), 200]
    for start, end in itertools.pairwise(edges):
        piece = schedule.draw(start, end - start, last)
        last = piece.head[-1]
        heads.append(piece.head)
        forced.append(piece.forced)
    np.testing.assert_array_equal(np.concatenate(heads), whole.head)
    np.testing.assert_array_equal(np.concatenate(forced), whole.forced)


def test_the_first_step_draws_its_head():
    """Whatever head is said to have acted before; over 2,000 runs both come, in their shares."""
    runs = [mulex(0.7, 0.99, seed=seed) for seed in range(2000)]
    schedule, _ = schedule_of(runs)
    firsts = [schedule.draw(0, 1, np.full(2000, head)).head[0] for head in (0, 1)]
    np.testing.assert_array_equal(*firsts)
    assert abs((firsts[0] == 0).mean() - 0.7) < 4.5 * math.sqrt(0.21 / 2000)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("actions", [4, 2])
def test_epsilon_is_the_share_of_random_actions(epsilon, actions):
    """Within 4.5 standard deviations, and the random actions are even (chi-square)."""
    forced = drawn([mulex(epsilon=epsilon)], actions=actions).forced[:, 0]
    random = forced[forced != GREEDY]
    assert abs(len(random) / STEPS - epsilon) <= 4.5 * math.sqrt(epsilon * (1 - epsilon) / STEPS)
    if epsilon:
        counts = np.bincount(random, minlength=actions)
        assert len(counts) == actions
        expected = len(random) / actions
        assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE[3]


def test_members_have_their_own_epsilon():
    forced = drawn([mulex(epsilon=epsilon) for epsilon in (0.1, 0.5)]).forced
    shares = (forced != GREEDY).mean(axis=0)
    assert shares == pytest.approx([0.1, 0.5], abs=0.01)


def test_random_steps_do_not_depend_on_who_acts():
    """It is 0.2 in both heads' turns and where one takes over, within 4.5 standard deviations."""
    acting = drawn([mulex(p_task=0.5, epsilon=0.2)])
    takes_over = np.diff(acting.head, axis=0, prepend=acting.head[:1]) != 0
    for where in (acting.head == 0, acting.head == 1, takes_over):
        turns = acting.forced[where]
        assert abs((turns != GREEDY).mean() - 0.2) < 4.5 * math.sqrt(0.16 / len(turns))


def test_warm_up_is_random_from_first_to_last_step():
    forced = drawn([mulex(epsilon=0.0, warm_up=500)], 2000).forced[:, 0]
    assert (forced[:500] != GREEDY).all()
    assert (forced[500:] == GREEDY).all()
    counts = np.bincount(forced[:500], minlength=4)
    assert ((counts - 125) ** 2 / 125).sum() < CHI_SQUARE[3]


def test_epsilon_falls_in_a_line_after_the_warm_up():
    """400 members: at each tenth of the way the share of random steps is on the line, within 4.5 deviations."""
    runs = [mulex(epsilon=0.1, seed=seed, warm_up=100, epsilon_decay_steps=1000) for seed in range(400)]
    random = drawn(runs, 1500).forced != GREEDY
    assert random[:101].all()  # the warm-up, and the first step after it
    for start in range(100, 1500, 100):
        middle = min(1.0, (start + 49.5 - 100) / 1000)
        epsilon = 1 - 0.9 * middle
        found = random[start : start + 100].mean()
        assert abs(found - epsilon) < 4.5 * math.sqrt(epsilon * (1 - epsilon) / 40_000) + 1e-9


def test_members_schedules_do_not_depend_on_each_other():
    runs = [mulex(0.5, 0.9, 0.3, seed) for seed in range(4)]
    together = drawn(runs, 300)
    for p, run in enumerate(runs):
        alone = drawn([run], 300)
        np.testing.assert_array_equal(alone.head[:, 0], together.head[:, p])
        np.testing.assert_array_equal(alone.forced[:, 0], together.forced[:, p])
    assert not np.array_equal(together.head[:, 0], together.head[:, 1])
    assert not np.array_equal(together.forced[:, 0], together.forced[:, 1])


@pytest.mark.parametrize("method", ["mulex", "two_task_heads"])
def test_the_engine_does_what_the_schedule_says(method, monkeypatch):
    """A forced action where one is drawn, else the acting head's best for the last frames of the episode."""
    world = GridWorldConfig(map="two_rooms", room_size=3, time_limit=9)
    engine = TorchEngine(Case(method, world).members(3))
    watch, values, asked, chose = Watch(engine), engine.learner.values, {}, set()

    def spying_values(stacks):
        asked[len(watch.steps)] = stacks.tolist(), values(stacks)
        return asked[len(watch.steps)][1]

    monkeypatch.setattr(engine.learner, "values", spying_values)
    monkeypatch.setattr(torch_engine, "evaluate", lambda *rest: Evaluation(np.zeros(3), np.zeros(3)))
    more(engine, 1)
    acting = engine.schedule.draw(0, len(watch.steps), np.zeros(3, dtype=np.int64))
    for place, step in enumerate(watch.steps):
        for p, (head, forced) in enumerate(zip(acting.head[place], acting.forced[place], strict=True)):
            if forced != GREEDY:
                assert step.actions[p] == forced
                continue
            stacks, worth = asked[place]
            assert stacks[p] == naive_stack(watch, p, place)
            best = worth[:, p].argmax(axis=1)  # (H,)
            assert step.actions[p] == best[head]
            chose |= {head} if best[0] != best[1] else set()
    assert chose == {0, 1}  # each acted where the other would have done something else


def test_the_rows_report_each_heads_share():
    """What an engine says is what its schedule drew, and the shares add up to one."""
    runs = Case("mulex").members(3)
    engine, rows = train(runs, 2)
    schedule, last = schedule_of(runs)
    whole = schedule.draw(0, engine.steps, last).head
    for i, iteration in enumerate(rows):
        piece = whole[60 * i : 60 * (i + 1)]
        for p, row in enumerate(iteration):
            assert row["acted_explore"] == pytest.approx((piece[:, p] == 1).mean())
            assert row["acted_task"] == pytest.approx((piece[:, p] == 0).mean())
            assert row["explore_fraction"] == row["acted_explore"]
