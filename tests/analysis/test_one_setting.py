"""One setting for all worlds and the effective dimensionality, on data with a known answer."""

import itertools

import pytest

import analysis
from analysis.errors import NotApplicableError
from analysis.one_setting import across_worlds
from analysis.statistics import compute_statistics
from analysis.statistics_tables import sections
from analysis.tables import load_tables
from tests.support.analysis_tables import constant_tables, fail, known, write_sweep


def grid(folder, score, failed=()):
    """A grid of three learning rates and three betas in two worlds; `score(world, i, j)` gives the scores."""
    cells = list(itertools.product(range(3), range(3)))
    scores = {(f"w{w}", "mulex"): [[score(w, i, j)] for i, j in cells] for w in range(2)}
    runs, curves = constant_tables(scores)
    runs["learning_rate"] = [10.0 ** -cells[draw][0] for draw in runs["draw"]]
    runs["beta"] = [1.0 + cells[draw][1] for draw in runs["draw"]]
    failures = [row for row, run in enumerate(runs["run"]) if run in failed]
    runs, curves = fail(runs, curves, failures) if failures else (runs, curves)
    [found] = across_worlds(load_tables([write_sweep(folder, runs, curves)]))
    return found


def test_the_setting_is_the_best_by_ranks_and_not_by_scores(tmp_path):
    """Draw 0 is far ahead in one world and last in the other; draw 1 is second in both."""
    scores = {("a", "mulex"): [[0.9], [0.2], [0.1]], ("b", "mulex"): [[0.1], [0.3], [0.2]]}
    [found] = across_worlds(known(tmp_path, scores))
    assert found.draw == 1
    assert found.by_world == pytest.approx({"a": 2 / 3, "b": 1.0})
    assert found.score == pytest.approx(5 / 6)
    assert found.values == {"learning_rate": 0.1}


def test_ranks_are_those_among_the_runs_of_all_methods(tmp_path):
    scores = {(w, m): [[x], [x]] for w in "ab" for m, x in (("additive", 0.1), ("mulex", 0.9))}
    additive, mulex = across_worlds(known(tmp_path, scores))
    assert (additive.score, mulex.score) == pytest.approx((0.5, 1.0))


def test_no_hyperparameter_counts_where_one_setting_is_best_everywhere(tmp_path):
    found = grid(tmp_path, lambda w, i, j: 1.0 - 0.1 * i - 0.1 * j)
    assert (found.dimension, found.hyperparameters) == (0, 2)


def test_one_hyperparameter_counts_where_worlds_want_other_values_of_it(tmp_path):
    assert grid(tmp_path, lambda w, i, j: (0.9 if i == 2 * w else 0.1) - 0.01 * j).dimension == 1


def test_both_count_where_worlds_want_other_values_of_both(tmp_path):
    assert grid(tmp_path, lambda w, i, j: 0.9 if i == j == 2 * w else 0.1 + 0.01 * i).dimension == 2


def test_a_grid_with_a_failed_run_is_still_one(tmp_path):
    """The failed draw is not best for all worlds; in the other world it is still what tuning would find."""
    assert grid(tmp_path / "a", lambda w, i, j: 1.0 - 0.1 * i - 0.1 * j, ["w0-mulex-0-0"]).dimension == 2
    assert grid(tmp_path / "b", lambda w, i, j: 1.0 - 0.1 * i - 0.1 * j, ["w0-mulex-8-0"]).dimension == 0


def test_draws_that_are_no_grid_have_no_dimension(tmp_path):
    scores = {(w, "mulex"): [[0.1], [0.2], [0.3]] for w in "ab"}
    runs, curves = constant_tables(scores)
    runs["beta"] = [1.0, 2.0, 3.0] * 2
    [found] = across_worlds(load_tables([write_sweep(tmp_path, runs, curves)]))
    assert found.dimension is None


def test_one_world_is_not_enough(tmp_path):
    with pytest.raises(NotApplicableError, match="several worlds"):
        across_worlds(known(tmp_path, {("a", "mulex"): [[0.1]]}))


def test_statistics_and_the_api_have_it(tmp_path):
    tables = known(tmp_path, {(w, "mulex"): [[0.1], [0.2], [0.3]] for w in "ab"})
    frame = analysis.across_worlds(tables)
    assert frame[["method", "draw", "dimension"]].to_numpy().tolist() == [["mulex", 2, 0]]
    statistics = compute_statistics(tables)
    assert statistics.plain()["across_worlds"][0]["draw"] == 2
    assert any("One setting for all worlds" in section.title for section in sections(statistics))
