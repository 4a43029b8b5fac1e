"""Confirmed draws: known scores with test seeds, and intervals that hold although draws were chosen."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.best_draws import best_draws
from analysis.errors import NotApplicableError
from analysis.estimates import mean_estimate
from analysis.figures.confirmed import chart, compute
from analysis.selection import ConfirmedDraw, confirmed
from analysis.statistics import compute_statistics
from analysis.study.speed import speed_of_the_confirmed
from tests.support.analysis_tables import constant_tables, known, write_sweep
from tests.support.sweeps import mulex

TUNED = {("w", "mulex"): [[0.9, 0.7], [0.5, 0.5], [0.1, 0.3]], ("w", "additive"): [[0.4, 0.4], [0.6, 0.2]]}
TESTS = {("w", "mulex"): {0: [0.5, 0.6, 0.7], 1: [0.5, 0.5, 0.5]}}


def with_tests(folder, tuned=TUNED, tests=TESTS):
    """A sweep's folder with runs of known scores, some of which have the role `test`."""
    runs, curves = constant_tables(tuned)
    runs["role"] = "tune"
    for (world, method), of in tests.items():
        shaped = {(world, method): [of.get(draw, []) for draw in range(max(of) + 1)]}
        more, more_curves = constant_tables(shaped)
        seeds = more["seed"] + 10**9
        for frame in (more, more_curves):
            frame["run"] = "test-" + frame["run"]
        runs = pd.concat([runs, more.assign(seed=seeds, role="test")], ignore_index=True)
        curves = pd.concat([curves, more_curves], ignore_index=True)
    return write_sweep(folder, runs, curves)


@pytest.fixture
def tables(tmp_path):
    """The loaded tables of such a sweep."""
    return analysis.load(with_tests(tmp_path))


def test_bias_is_the_tuned_score_less_the_confirmed_one(tables):
    (one,) = confirmed(tables)
    assert [draw.draw for draw in one.draws] == [0, 1]
    first, second = one.draws
    assert (first.tuned, first.confirmed.value, first.bias.value) == pytest.approx((0.8, 0.6, 0.2))
    assert second.bias.value == pytest.approx(0.0)
    assert one.bias.value == pytest.approx(0.1)
    reach = 4.302652729911275 * 0.1 / math.sqrt(3)  # Student's 97.5 % quantile with 2 degrees of freedom
    assert (first.confirmed.low, first.confirmed.high) == pytest.approx((0.6 - reach, 0.6 + reach))
    assert (first.bias.low, first.bias.high) == pytest.approx((0.2 - reach, 0.2 + reach))
    assert (one.bias.low, one.bias.high) == pytest.approx((0.1 - reach / 2, 0.1 + reach / 2))  # the other has no spread


def test_one_test_seed_has_no_interval():
    draw = ConfirmedDraw(0, 0.5, 2, np.array([0.25]))
    assert draw.bias.value == 0.25
    assert math.isnan(draw.confirmed.low)
    assert math.isnan(draw.bias.high)


def test_test_runs_enter_no_statistic_of_tuning_runs(tables, tmp_path):
    without = known(tmp_path / "without", TUNED)
    with_, alone = (compute_statistics(of) for of in (tables, without))
    for one, other in zip(with_.methods, alone.methods, strict=True):
        assert one.measures == other.measures
        assert (one.runs, one.draws, one.variance_draws) == (other.runs, other.draws, other.variance_draws)
    assert [pair.probability for pair in with_.comparisons] == [pair.probability for pair in alone.comparisons]
    for figure in ("violins", "profiles", "budget", "curves"):
        points = [analysis.figures.registry.make_chart(of, figure).panels for of in (tables, without)]
        assert len(points[0][0].marks) == len(points[1][0].marks)
    assert set(analysis.load(with_tests(tmp_path / "again")).scored["role"]) == {"tune"}


def test_statistics_of_the_best_come_from_test_seeds(tables):
    best = {(one.method, one.draw): one for one in best_draws(tables)}
    assert (best["mulex", 0].score, best["mulex", 0].tuned, best["mulex", 0].role) == pytest.approx((0.6, 0.8, "test"))
    assert best["mulex", 0].seeds == 3
    assert (best["mulex", 2].score, best["mulex", 2].role) == pytest.approx((0.2, "tune"))
    assert [one.draw for one in best_draws(tables) if one.method == "mulex"] == [0, 1, 2]  # still ranked by tuning
    frame = analysis.stats(tables).set_index(["method", "measure"])
    assert frame.loc[("mulex", "confirmed"), "value"] == pytest.approx(0.6)
    assert frame.loc[("mulex", "selection_bias"), ["value", "runs", "draws"]].tolist() == pytest.approx([0.1, 6, 2])
    assert ("additive", "confirmed") not in frame.index


def test_iterations_to_the_ideal_are_those_of_the_best_draws_test_runs(tmp_path):
    tuned = {("w", "mulex"): [[1.0, 1.0], [0.2, 0.2]]}
    of_tests = compute_statistics(analysis.load(with_tests(tmp_path / "a", tuned, {("w", "mulex"): {0: [0.5, 0.6]}})))
    of_tuning = compute_statistics(known(tmp_path / "b", tuned))
    assert of_tests.methods[0].iterations_to_ideal.value == math.inf
    assert (of_tests.methods[0].best_runs, of_tests.methods[0].tested) == (2, True)
    assert of_tuning.methods[0].tested is False


def test_there_is_nothing_to_compare_without_test_runs(tmp_path):
    tables = known(tmp_path, TUNED)
    with pytest.raises(NotApplicableError, match="mulex confirm"):
        confirmed(tables)
    assert compute_statistics(tables).confirmed == []


def test_the_frame_and_the_commands_show_both_scores(tables, tmp_path):
    frame = analysis.confirmed(tables)
    assert frame[["rank", "draw", "tuned", "confirmed"]].to_numpy().tolist() == [
        [1, 0, 0.8, pytest.approx(0.6)],
        [2, 1, 0.5, 0.5],
    ]
    answer = mulex("stats", str(tmp_path))
    assert answer.code == 0
    assert "The best draws with test seeds" in answer.text
    (plain,) = json.loads(mulex("stats", str(tmp_path), "--json").text)["confirmed"]
    assert plain["bias"]["value"] == pytest.approx(0.1)
    assert "3 test seeds, tuned 0.800" in mulex("best", str(tmp_path)).text
    assert "The best draws with test seeds" in analysis.report(tables)


def test_the_figure_has_both_scores_and_the_interval(tables):
    (panel,) = chart(tables, compute(tables)).panels
    values = [mark.y.tolist() for mark in panel.marks]
    assert values[0] == [pytest.approx(0.8)]
    assert values[1] == [pytest.approx(0.6)]
    assert values[2] == pytest.approx([0.6 - 0.24841, 0.6 + 0.24841], abs=1e-5)


def test_the_speed_of_the_best_draws_is_that_of_their_test_runs(tmp_path):
    """With test seeds only MuleX's best draw is at the ideal, although Additive's was, too, when it was tuned."""
    tuned = {("w", method): [[1.0, 1.0], [0.2, 0.2]] for method in ("mulex", "additive")}
    tests = {("w", "mulex"): {0: [1.0] * 6}, ("w", "additive"): {0: [0.5] * 6}}
    (found,) = speed_of_the_confirmed(analysis.load(with_tests(tmp_path / "a", tuned, tests)), {})
    assert found.estimate.value == found.estimate.low == math.inf
    assert found.what.endswith("the best draw with 6 test seeds is at 95 % (never / 1)")
    assert speed_of_the_confirmed(known(tmp_path / "b", tuned), {}) == []


@pytest.mark.parametrize("top", [1, 3])
def test_the_interval_of_the_bias_holds_although_draws_were_chosen(top):
    """The true bias is the tuned score less the true mean of the chosen draws; 3,000 sweeps, so +-0.8 points."""
    rng, held = np.random.default_rng(5), 0
    for _ in range(3000):
        means = rng.normal(0.5, 0.05, 20)
        tuned = means + rng.normal(0, 0.1, (3, 20)).mean(axis=0)
        chosen = np.argsort(-tuned)[:top]
        found = mean_estimate([means[k] + rng.normal(0, 0.1, 10) for k in chosen])
        held += found.low <= means[chosen].mean() <= found.high
    assert 0.94 <= held / 3000 <= 0.965
