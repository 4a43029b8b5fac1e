"""The data of every figure against hand-computed cases, and that every figure is drawn."""

import itertools

import numpy as np
import pandas as pd
import pytest

from analysis.chart import Points, Rule
from analysis.draw import draw
from analysis.errors import NotApplicableError
from analysis.figures import acting, budget, curves, importance, profiles, response, sensitivity, starts, violins
from analysis.figures.registry import FIGURES, make_charts
from analysis.report.payload import payload
from analysis.style import COLOURS, OTHERS, SIZES, colours
from analysis.tables import load_tables
from tests.analysis_tables import constant_tables, fail, made, make_tables, write_sweep

STARTS = [
    ("mulex", "a", 1, 1, 4),
    ("mulex", "b", 1, 1, 6),
    ("mulex", "a", 1, 2, 3),
    ("mulex", "b", 1, 2, None),
    ("mulex", "a", 2, 1, None),
    ("mulex", "b", 2, 1, None),
]


def known(tmp_path, scores, **how):
    """Tables of flat curves with these scores."""
    return load_tables([write_sweep(tmp_path, *constant_tables(scores, **how))])


def write_starts(folder, rows=STARTS):
    """A table of starts."""
    frame = pd.DataFrame(rows, columns=["method", "run", "row", "col", "steps"])
    frame.astype({"row": "int32", "col": "int32", "steps": "Int32"}).to_parquet(f"{folder}/starts.parquet")


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A sweep that every figure has something for."""
    folder = tmp_path_factory.mktemp("rich")
    methods = ["epsilon_greedy", "additive", "mulex", "two_task_heads", "of_my_own"]
    runs, rows = make_tables(methods=methods[:4], worlds=["w5", "w10"], draws=12)
    own = runs["method"] == "mulex"
    runs = pd.concat([runs, runs[own].assign(method="of_my_own", run=runs["run"] + "x")], ignore_index=True)
    more = rows[rows["method"] == "mulex"]
    rows = pd.concat([rows, more.assign(method="of_my_own", run=more["run"] + "x")], ignore_index=True)
    place = write_sweep(folder, *fail(runs, rows, [3]), planned=(12, 2))
    write_starts(folder)
    return load_tables([place])


@pytest.fixture(scope="module")
def charts(rich):
    """Every figure of it."""
    return {name: code.make(rich) for name, code in FIGURES.items()}


def test_curves_are_the_mean_of_all_and_of_the_best_ten(tmp_path):
    scores = [[i / 20] for i in range(20)]
    data = {c.kind: c for c in curves.compute(known(tmp_path, {("w5", "mulex"): scores}, iterations=3))}
    assert (data["all"].runs, data["best"].runs) == (20, 10)
    assert data["all"].iteration.tolist() == [1, 2, 3]
    assert data["all"].mean == pytest.approx([4 * np.mean(scores)] * 3)
    assert data["best"].mean == pytest.approx([4 * np.mean(scores[10:])] * 3)
    for curve in data.values():
        assert (curve.low < curve.mean).all()
        assert (curve.mean < curve.high).all()


def test_violins_mark_best_median_worst_and_hold_all_runs(tmp_path):
    [violin] = violins.compute(known(tmp_path, {("w5", "mulex"): [[0.2, 0.4], [0.5, 0.9]]}))
    assert (violin.worst, violin.median, violin.best) == pytest.approx((0.2, 0.45, 0.9))
    assert (violin.grid[0], violin.grid[-1]) == pytest.approx((0.2, 0.9))
    assert violin.runs.tolist() == [0, 1, 2, 3]
    assert violin.density.argmax() in range(10, 118), "the density is highest inside"


def test_violins_say_n_on_the_axis(tmp_path):
    tables = known(tmp_path, {("w5", "mulex"): [[0.2], [0.4]], ("w5", "additive"): [[0.3]]})
    chart = violins.chart(tables, violins.compute(tables))
    assert [text for _, text in chart.panels[0].x.ticks] == ["Additive\nn = 1", "MuleX\nn = 2"]


def test_rooms_are_in_units_of_epsilon_greedys_median_in_that_world(tmp_path):
    scores = {
        ("w5", "epsilon_greedy"): [[0.2], [0.4], [0.9]],
        ("w5", "mulex"): [[0.8]],
        ("w10", "epsilon_greedy"): [[0.1], [0.1]],
        ("w10", "mulex"): [[0.5]],
        ("hard", "epsilon_greedy"): [[0.0]],
        ("hard", "mulex"): [[0.3]],
    }
    data = {(v.world, v.method): v.scores.tolist() for v in violins.compute_rooms(known(tmp_path, scores))}
    assert data["w5", "mulex"] == pytest.approx([2.0])
    assert data["w5", "epsilon_greedy"] == pytest.approx([0.5, 1.0, 2.25])
    assert data["w10", "mulex"] == pytest.approx([5.0])
    assert ("hard", "mulex") not in data, "nothing can be divided by a median of 0"


def test_rooms_name_the_world_that_nothing_can_be_divided_in(tmp_path):
    scores = {(w, m): [[s]] for w, s in (("w5", 0.5), ("hard", 0.0)) for m in ("epsilon_greedy", "mulex")}
    tables = known(tmp_path, scores)
    assert "hard" in violins.chart_rooms(tables, violins.compute_rooms(tables)).note


def test_starts_are_means_of_those_that_arrive_and_name_those_that_do_not(tmp_path):
    folder = made(tmp_path, draws=2)
    write_starts(folder)
    cells = starts.compute(load_tables([folder])).cells.set_index(["row", "col"])
    assert cells.loc[(1, 1), ["steps", "lost", "policies"]].tolist() == [5, 0, 2]
    assert cells.loc[(1, 2), ["steps", "lost"]].tolist() == [3, 0.5]
    assert np.isnan(cells.loc[(2, 1), "steps"])
    assert cells.loc[(2, 1), "lost"] == 1
    tables = load_tables([folder])
    assert "50.0% never arrive" in starts.chart(tables, starts.compute(tables)).panels[0].title


def test_acting_is_the_mean_return_of_each_head_by_p_1(tmp_path):
    runs, rows = make_tables(methods=["two_task_heads"], draws=4, seeds=2, iterations=2)
    runs["p_1"] = np.repeat([0.0, 0.0, 1.0, 1.0], 2)
    rows["eval_return_first"] = np.arange(len(rows), dtype=float)
    rows["eval_return_second"] = 1.0
    data = {head.head: head for head in acting.compute(load_tables([write_sweep(tmp_path, runs, rows)]))}
    assert data["first"].at.tolist() == [0, 1]
    assert data["first"].mean.tolist() == [np.mean(range(8)), np.mean(range(8, 16))]
    assert data["first"].returns.tolist() == [0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 14.5]
    assert data["second"].mean.tolist() == data["second"].low.tolist() == [1, 1]


def test_many_values_of_p_1_are_put_together_by_tenths(tmp_path):
    runs, rows = make_tables(methods=["two_task_heads"], draws=40, seeds=1, iterations=2)
    runs["p_1"] = np.linspace(0, 1, 40)
    data = acting.compute(load_tables([write_sweep(tmp_path, runs, rows)]))
    assert data[0].at == pytest.approx(np.arange(11) / 10)


def test_response_has_the_median_at_each_value_of_a_choice():
    x, y = np.repeat([1.0, 2.0], 3), np.array([1.0, 5.0, 2.0, 7.0, 9.0, 8.0])
    grid, median = response.smoothed_median(x, y, is_choice=True)
    assert (grid.tolist(), median.tolist()) == ([1, 2], [2, 8])


def test_response_follows_a_step_and_ignores_outliers():
    x = np.linspace(0, 1, 200)
    y = np.where(x < 0.5, 0.2, 0.8)
    y[::10] = 50.0
    grid, median = response.smoothed_median(x, y)
    assert median[0] == 0.2
    assert median[-1] == 0.8
    assert 0.45 < grid[np.flatnonzero(median > 0.5)[0]] < 0.55


def test_response_has_only_what_varies_in_a_method(tmp_path):
    data = response.compute(load_tables([made(tmp_path)]))
    names = [(r.method, r.name) for r in data]
    assert names == [
        ("epsilon_greedy", "learning_rate"), ("epsilon_greedy", "epsilon"),
        ("additive", "learning_rate"), ("additive", "beta"),
        ("mulex", "learning_rate"), ("mulex", "p_task"), ("mulex", "gamma_steps"),
    ]  # fmt: skip


def test_profiles_are_shares_above_each_threshold(tmp_path):
    [profile] = profiles.compute(known(tmp_path, {("w5", "mulex"): [[0.1], [0.5], [0.5], [1.0]]}))
    share = dict(zip(profile.threshold.round(3).tolist(), profile.share.tolist(), strict=True))
    assert (share[0.0], share[0.1], share[0.3], share[0.5], share[0.9], share[1.0]) == (1, 0.75, 0.75, 0.25, 0.25, 0)
    assert (profile.low <= profile.share).all()
    assert (profile.share <= profile.high).all()


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_the_best_of_k_is_that_of_every_choice_of_k(n):
    values = np.sort(np.random.default_rng(n).random(n))
    brute = [np.mean([max(chosen) for chosen in itertools.combinations(values, k)]) for k in range(1, n + 1)]
    assert budget.best_of(n) @ values == pytest.approx(brute)


def test_the_best_of_many_draws_is_exact():
    chances = budget.best_of(2000)
    assert chances.sum(axis=1) == pytest.approx(np.ones(2000))
    assert chances[0] == pytest.approx(np.full(2000, 1 / 2000))
    assert chances[-1, -1] == pytest.approx(1)


def test_budget_takes_a_draw_for_its_mean_over_seeds(tmp_path):
    [data] = budget.compute(known(tmp_path, {("w5", "mulex"): [[0.0, 0.2], [0.4, 0.8]]}))
    assert data.draws.tolist() == [1, 2]
    assert data.expected == pytest.approx([0.35, 0.6])


def test_importance_finds_the_hyperparameter_that_decides(tmp_path):
    runs, rows = make_tables(methods=["mulex"], draws=60, seeds=1)
    runs["normalised_auc"] = runs["p_task"]
    [item] = importance.compute(load_tables([write_sweep(tmp_path, runs, rows)]))
    assert sum(item.shares.values()) == pytest.approx(1)
    assert max(item.shares, key=item.shares.get) == "p_task"
    assert item.shares["p_task"] > 0.7


def test_sensitivity_by_hand(tmp_path):
    """Scores 0 to 100 in each world with percentiles 5 and 95: draw 100 is best in one world, draw 0 in the other."""
    up, down = np.arange(101) / 100, np.arange(101)[::-1] / 100
    tables = known(tmp_path, {("a", "mulex"): up[:, None], ("b", "mulex"): down[:, None]})
    [item] = sensitivity.compute(tables)
    assert item.draws == 101
    assert item.performance == pytest.approx((1.0 - 0.05) / 0.9)
    assert item.sensitivity == pytest.approx((1.0 - 0.05) / 0.9 - 0.5)


def test_a_draw_that_is_best_everywhere_has_no_sensitivity(tmp_path):
    scores = [[0.1], [0.9], [0.5]]
    [item] = sensitivity.compute(known(tmp_path, {("a", "mulex"): scores, ("b", "mulex"): scores}))
    assert item.sensitivity == pytest.approx(0)


def test_panels_name_the_score_of_their_world(tmp_path):
    runs, rows = make_tables(worlds=["w5", "pole"], draws=3)
    runs.loc[runs["world"] == "pole", ["auc", "normalised_auc"]] = [300.0, np.nan]
    tables = load_tables([write_sweep(tmp_path, runs, rows)])
    charts = {chart.name: chart for chart in make_charts(tables, list(FIGURES))[0]}
    labels = {name: [panel.y.label for panel in chart.panels] for name, chart in charts.items()}
    assert labels["violins"] == ["Normalised AUC", "AUC"]
    assert labels["response"][:2] == ["Normalised AUC", "AUC"]
    assert labels["budget"] == ["Expected best normalised AUC", "Expected best AUC"]
    assert [panel.x.label for panel in charts["profiles"].panels] == ["Normalised AUC above", "AUC above"]
    assert [profile.threshold[-1] for profile in profiles.compute(tables)][::3] == [runs["normalised_auc"].max(), 300]
    assert not any(charts[name].same_y for name in ("curves", "violins", "response", "budget"))
    assert charts["violins"].title == "Score by method"
    assert set(payload(tables, [])["scores"].items()) == {("w5", "Normalised AUC"), ("pole", "AUC")}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(("size", "kind", "start"), [("column", "svg", b"<?xml"), ("screen", "png", b"\x89PNG")])
def test_every_figure_is_drawn_and_says_what_is_missing(rich, charts, name, size, kind, start):
    picture = draw(charts[name], SIZES[size], kind, rich.complete.note())
    assert picture.startswith(start)
    assert len(picture) > 5000
    if kind == "svg":
        assert b"239 of 240 runs (1 failed)" in picture


def test_drawn_again_a_picture_is_the_same(charts):
    for kind in ("svg", "pdf", "png"):
        first, again = (draw(charts["profiles"], SIZES["column"], kind) for _ in range(2))
        assert first == again


def test_points_that_stand_for_runs_are_at_their_scores(rich, charts):
    for name in ("violins", "response"):
        for panel in charts[name].panels:
            for mark in panel.marks:
                if isinstance(mark, Points) and mark.runs is not None:
                    assert rich.runs["score"][mark.runs].tolist() == mark.y.tolist()
                    assert set(rich.runs["method"][mark.runs]) == {mark.series}


def test_a_method_has_the_same_colour_everywhere(charts):
    for name in set(FIGURES) - {"acting"}:
        palette = colours(charts[name].series)
        assert [palette[m] for m in ("epsilon_greedy", "mulex", "of_my_own")] == [
            COLOURS["epsilon_greedy"], COLOURS["mulex"], OTHERS[0],
        ]  # fmt: skip


@pytest.mark.parametrize(("draws", "seeds", "iterations"), [(1, 1, 1), (1, 1, 20), (2, 1, 3), (1, 3, 3)])
def test_little_data_gives_a_picture_or_a_reason(tmp_path, draws, seeds, iterations):
    folder = made(tmp_path, methods=["mulex"], draws=draws, seeds=seeds, iterations=iterations)
    tables = load_tables([folder])
    charts, skipped = make_charts(tables, list(FIGURES))
    assert {chart.name for chart in charts} >= {"curves", "violins", "profiles"}
    assert len(charts) + len(skipped) == len(FIGURES)
    for chart in charts:
        assert draw(chart, SIZES["column"], "png").startswith(b"\x89PNG")


def test_without_a_finished_run_every_figure_has_a_reason(tmp_path):
    runs, rows = make_tables(draws=2)
    tables = load_tables([write_sweep(tmp_path, *fail(runs, rows, list(runs.index)), planned=(2, 2))])
    charts, skipped = make_charts(tables, list(FIGURES))
    assert charts == []
    assert [reason.split(":")[0] for reason in skipped] == list(FIGURES)


def test_equal_scores_still_have_marks(tmp_path):
    tables = known(tmp_path, {("w5", "mulex"): [[0.0]] * 5})
    charts, _ = make_charts(tables, list(FIGURES))
    for chart in charts:
        assert draw(chart, SIZES["screen"], "png").startswith(b"\x89PNG")
    assert not any(isinstance(mark, Rule) for mark in charts[0].panels[0].marks), "no ideal is known"


def test_starts_with_a_column_too_few_or_no_rows(tmp_path):
    folder = made(tmp_path, draws=2)
    write_starts(folder, [])
    with pytest.raises(NotApplicableError, match="no rows"):
        starts.compute(load_tables([folder]))
