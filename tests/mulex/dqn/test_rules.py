"""Acting rules beyond the paper's: each against its definition, on what a real run met or on numbers by hand."""

import math
from functools import partial
from itertools import chain

import numpy as np
import pytest

from mulex.errors import UserError
from mulex.learners.dqn.acting.bandit import BanditRule
from mulex.learners.dqn.acting.contract import Heads, Sight
from mulex.learners.dqn.acting.schedule import GREEDY, LONGEST_REPEAT, Schedule, repeat_lengths
from mulex.learners.dqn.acting.surprise import Homeostasis, SurpriseRule
from mulex.learners.dqn.native.engine import NativeEngine
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import MULEX
from mulex.streams import uniforms
from tests.mulex.dqn.test_native import assert_close
from tests.support.agents import (
    RULES,
    Case,
    Watch,
    assert_same_arrays,
    member_state,
    more,
    mulex_by,
    rule_case,
    train,
)

ENGINES = [TorchEngine, NativeEngine]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", RULES)
def test_a_member_of_a_pack_is_the_same_run_alone_and_continues_exactly(rule, engine):
    runs = rule_case(rule).members(4)
    pack, rows = train(runs, 3, engine)
    for k in (0, 3):
        alone, alone_rows = train([runs[k]], 3, engine)
        assert [row[k] for row in rows] == [row[0] for row in alone_rows]
        assert_same_arrays(member_state(pack, k), member_state(alone, 0))
    first, early = train(runs, 1, engine)
    second = engine(runs)
    second.load(first.save())
    assert early + more(second, 2) == rows
    assert_same_arrays(second.save(), pack.save())
    assert any(0 < row["acted_explore"] < 1 for iteration in rows for row in iteration)


SECOND = {"reward": {"oracle": 2.0}}
LONG = {rule: mulex_by(acting) for rule, acting in RULES.items()} | {
    "novelty, two explorers": mulex_by(RULES["novelty"], second=SECOND),
    "surprise, two explorers": mulex_by(
        RULES["surprise"] | {"probabilities": {"task": 0.5, "second": 0.4}}, second=SECOND
    ),
    "bandit, short window": mulex_by(
        {"rule": "bandit", "parameters": {"arms": 7.0, "window": 5.0, "random": 0.2, "exploration": 0.1}}
    ),
    "bandit, task heads": mulex_by(RULES["bandit"], second={"reward": {"task": 1.0, "oracle": 0.5}}),
}


@pytest.mark.parametrize("rule", LONG)
def test_both_engines_choose_the_same_heads(rule):
    """Over 2000 steps with few updates, so that rounding has no time to change a value."""
    training = {"steps_per_iteration": 1000, "update_every": 50}
    runs = Case("mulex", composed=LONG[rule], training=training).members(2)
    torch, rows = train(runs, 2)
    native, native_rows = train(runs, 2, NativeEngine)
    names = [name for name in rows[0][0] if not name.startswith("loss")]
    for found, expected in zip(chain(*native_rows), chain(*rows), strict=True):
        assert [found[name] for name in names] == [expected[name] for name in names]
    assert_close(native.save(), torch.save())
    assert all(0 < row["acted_explore"] < 1 for row in rows[1])


def heads_and_steps(rule, iterations=3):
    """The acting heads (T, P) of a run, and what happened at each of its steps."""
    engine = TorchEngine(rule_case(rule).members(3))
    watch, chosen, choose = Watch(engine), [], engine.rule.choose
    engine.rule.choose = lambda sight: chosen.append(choose(sight).copy()) or chosen[-1]
    more(engine, iterations)
    return engine, watch, np.array(chosen)


def test_by_episode_a_head_acts_from_an_episodes_start_to_its_end():
    _, watch, chosen = heads_and_steps("episode", 8)
    for p in range(3):
        ends = [step.ended[p] for step in watch.steps[:-1]]
        switched = chosen[1:, p] != chosen[:-1, p]
        assert not (switched & ~np.array(ends)).any()
        assert switched.any()


def test_by_novelty_the_explorer_acts_in_states_of_few_visits():
    _, watch, chosen = heads_and_steps("novelty")
    for p in range(3):
        visited = [int(step.before[p, 0]) for step in watch.steps]
        expected = [int(visited[:t].count(state) <= 2) for t, state in enumerate(visited)]
        assert chosen[:, p].tolist() == expected
    assert 0 < chosen.mean() < 1


def test_surprise_is_the_broken_promise_of_a_value():
    """Values 4, 1, 2, 8 and rewards 1, 0, 3, compared over two steps, with a discount of 0.5."""
    acting = {"rule": "surprise", "parameters": {"rate": 0.5, "steps": 2.0}}
    run = Case("mulex", composed=mulex_by(acting), training={"discount": 0.5}).run()
    rule, heard = SurpriseRule([run]), []
    chances = rule.homeostasis.chances
    rule.homeostasis.chances = lambda signal, who: (
        heard.append((bool(who[0]), float(signal[0]))) or chances(signal, who)
    )
    for step, (value, reward) in enumerate(zip([4.0, 1.0, 2.0, 8.0], [1.0, 0.0, 3.0, 0.0], strict=True)):
        values = np.array([[[value, value - 1]], [[99.0, 99.0]]])
        rule.choose(Sight(step, lambda values=values: values, lambda: np.zeros(1)))
        rule.observe(np.array([reward]), np.array([False]), np.zeros(1))
    assert heard == [(False, 0.0), (False, 0.0), (True, abs(4 - (1 + 0.25 * 2))), (True, abs(1 - (0.5 * 3 + 0.25 * 8)))]
    rule.observe(np.zeros(1), np.array([True]), np.zeros(1))
    rule.choose(Sight(9, lambda: np.zeros((2, 1, 2)), lambda: np.zeros(1)))
    assert heard[-1] == (False, 0.0)  # an episode's first steps promise nothing yet


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_homeostasis_keeps_the_rate_whatever_the_scale(scale):
    """Of normal signals: the mean probability of a switch is the rate, and larger signals have larger ones."""
    rng, rate = np.random.default_rng(0), np.array([0.01, 0.05])
    rule, signals = Homeostasis(rate), scale * np.abs(rng.normal(size=(6000, 2)))
    chances = np.array([rule.chances(signal, np.ones(2, dtype=bool)) for signal in signals])[2000:]
    np.testing.assert_allclose(chances.mean(axis=0), rate, rtol=0.15)
    high = signals[2000:] > np.quantile(signals, 0.9, axis=0)
    assert (np.mean(chances, axis=0, where=high) > 2 * np.mean(chances, axis=0, where=~high)).all()


def test_the_bandit_tries_every_arm_and_then_prefers_the_best():
    """An arm pays its number; without random draws the largest mean plus 1 / sqrt(times) is chosen, by hand."""
    acting = {"rule": "bandit", "parameters": {"arms": 3.0, "window": 100.0, "random": 0.0}, "gamma_steps": 0.9}
    rule = BanditRule([Case("mulex", composed=mulex_by(acting)).run()])
    pulled = []
    for episode in range(40):
        rule.choose(Sight(episode, lambda: np.zeros(0), lambda: np.zeros(0)))
        pulled.append(int(rule.arm[0]))
        rule.observe(np.zeros(1), np.array([True]), np.array([float(rule.arm[0])]))
    times = [1, 1, 1]
    for arm in pulled[3:]:
        assert arm == max(range(3), key=lambda a: a + 1 / math.sqrt(times[a]))
        times[arm] += 1
    assert pulled[:3] == [0, 1, 2]
    assert times[2] > 30


def test_the_bandit_forgets_what_left_its_window():
    """Arms that pay less and less are left: with a window of 6, an arm that is in none of 6 episodes is tried again."""
    acting = {"rule": "bandit", "parameters": {"arms": 4.0, "window": 6.0, "random": 0.0, "exploration": 0.0}}
    rule = BanditRule([Case("mulex", composed=mulex_by(acting)).run()])
    pulled = []
    for episode in range(40):
        rule.choose(Sight(episode, lambda: np.zeros(0), lambda: np.zeros(0)))
        pulled.append(int(rule.arm[0]))
        rule.observe(np.zeros(1), np.array([True]), np.array([float(rule.arm[0] == 1)]))
    assert all(set(pulled[i : i + 10]) == {0, 1, 2, 3} for i in range(30))
    assert pulled.count(1) > 15


@pytest.mark.parametrize("arm", [0, 2, 4])
def test_an_arm_is_the_probability_of_the_tasks_head(arm):
    acting = {"rule": "bandit", "parameters": {"arms": 5.0}, "gamma_steps": 0.3}
    rule = BanditRule([Case("mulex", composed=mulex_by(acting)).run()])
    rule.fresh[:], rule.arm[:] = False, arm
    sight = partial(Sight, values=lambda: np.zeros(0), bonus=lambda: np.zeros(0))
    acted = [int(rule.choose(sight(step))[0]) for step in range(20_000)]
    assert 1 - np.mean(acted) == pytest.approx((arm + 0.5) / 5, abs=0.02)


def test_among_several_heads_of_a_kind_their_probabilities_decide():
    acting = {"rule": "novelty", "parameters": {"visits": 2.0}, "probabilities": {"explore": 0.1, "second": 0.3}}
    heads = Heads([Case("mulex", composed=mulex_by(acting, second={"reward": {"oracle": 2.0}})).run()])
    uniform = (np.arange(1000) + 0.5) / 1000
    drawn = [int(heads.draw_among(np.array([True]), np.array([u]))[0]) for u in uniform]
    assert drawn.count(0) == 0
    assert drawn.count(1) == 250
    assert {int(heads.draw_among(np.array([False]), np.array([u]))[0]) for u in uniform} == {0}


class TestRepeats:
    """Random actions that are repeated."""

    def runs(self, **training):
        composed = MULEX.model_copy(update={"acting": MULEX.acting.model_copy(update={"random": "repeat"})})
        method = Case("mulex", composed=composed, training={"warm_up": 20} | training)
        return [method.run(seed=seed, epsilon=0.05) for seed in range(3)]

    def test_lengths_are_zeta_distributed(self):
        """P(n) is n^-2 / 1.6448: compared at a million evenly spaced quantiles."""
        lengths = repeat_lengths((np.arange(1_000_000) + 0.5) / 1_000_000)
        total = sum(n**-2.0 for n in range(1, LONGEST_REPEAT + 1))
        for n in (1, 2, 3, 10, 100):
            assert np.mean(lengths == n) == pytest.approx(n**-2.0 / total, abs=2e-6)
        assert repeat_lengths(np.array([1 - 2**-53])).tolist() == [LONGEST_REPEAT]

    def test_repeats_against_a_naive_twin_however_the_steps_are_cut(self):
        runs = self.runs()
        single = Schedule([run.model_copy(update={"recipe": MULEX}) for run in runs], 4)
        whole, parts = Schedule(runs, 4), Schedule(runs, 4)
        single.acting_keys = whole.acting_keys
        last = np.zeros(3, dtype=np.int64)
        found = whole.draw(0, 3000, last).forced
        cut = np.concatenate([parts.draw(first, 60, last).forced for first in range(0, 3000, 60)])
        np.testing.assert_array_equal(found, cut)
        plain = single.draw(0, 3000, last).forced
        lengths = repeat_lengths(uniforms(whole._repeating_keys, np.arange(3000)[:, None]))
        for p in range(3):
            until, action = 0, GREEDY
            for t in range(3000):
                if t >= until:
                    action = plain[t, p]
                    until = t + int(lengths[t, p]) if action != GREEDY and t >= 20 else t + 1
                assert found[t, p] == action
        assert (found != GREEDY).mean() > (plain != GREEDY).mean()

    def test_both_engines_take_the_same_steps_and_continue_exactly(self):
        runs = self.runs(steps_per_iteration=220)
        torch, _ = train(runs, 2)
        native, rows = train(runs, 2, NativeEngine)
        assert_close(native.save(), torch.save())
        first, early = train(runs, 1, NativeEngine)
        second = NativeEngine(runs)
        second.load(first.save())
        assert early + more(second, 1) == rows


def test_bonuses_decay_by_iteration():
    engine = TorchEngine([Case("additive", training={"bonus_decay_steps": 240}).run(beta=2.0)])
    weights = []
    for _ in range(6):
        weights.append(engine.reward_weights()[0, 0].tolist())
        engine.iterate()
    assert weights == [[1.0, 2.0], [1.0, 1.5], [1.0, 1.0], [1.0, 0.5], [1.0, 0.0], [1.0, 0.0]]


def test_heads_with_bodies_of_their_own_share_nothing():
    """A changed signal of one head leaves every gradient of the other as it is."""
    engine = TorchEngine(Case("mulex", training={"share_body": False}).members(2))
    watch = Watch(engine)
    more(engine, 1)
    batches, found = watch.updates[-1].batches, []
    state = engine.save()
    for size in (0.0, 5.0):
        engine.load(state)
        for batch in batches:
            batch.rewards[..., 1] += np.float32(size)
        engine.learner.update(batches, [None] * len(batches))
        found.append({name: view.clone() for name, view in engine.learner.shape.views(engine.learner.gradient).items()})
    assert {"head.0.body.0", "head.1.body.1"} <= found[0].keys()
    for name, gradient in found[0].items():
        assert bool((gradient == found[1][name]).all()) == name.startswith("head.0."), name


@pytest.mark.parametrize(
    ("acting", "message"),
    [
        ({"rule": "novelty"}, r"acting\.rule: novelty needs acting\.parameters\.visits"),
        (
            {"rule": "episode", "parameters": {"visits": 2.0}},
            r"acting\.parameters\.visits: no parameter of episode 'visits', there are none",
        ),
        ({"rule": "novelty", "parameters": {"visit": 2.0}}, "did you mean 'visits'"),
        ({"rule": "episode", "gamma_steps": 0.9}, "acting.gamma_steps: the rule episode does not read it"),
        ({"rule": "bandit", "probabilities": {"task": 0.5}}, "acting.probabilities: the rule bandit does not read it"),
        ({"rule": "episodes"}, "did you mean 'episode'"),
        ({"random": "repeated"}, "did you mean 'repeat'"),
        ({"rule": "novelty", "parameters": {"visits": "often"}}, "no hyperparameter 'often'"),
    ],
)
def test_wrong_parameters_are_refused(acting, message):
    with pytest.raises(UserError, match=message):
        mulex_by(acting)


def test_parameters_out_of_range_and_rules_without_their_heads_are_refused():
    with pytest.raises(UserError, match=r"acting.parameters.visits: got 0.5, allowed is a number from 1 to 1e\+09"):
        mulex_by({"rule": "novelty", "parameters": {"visits": 0.5}})
    with pytest.raises(UserError, match=r"acting\.rule: novelty chooses between heads"):
        mulex_by({"rule": "novelty", "parameters": {"visits": 1.0}}, explore={"reward": {"task": 1.0}})
