"""The data of every figure against hand-computed cases, and that every figure is drawn."""

import itertools

import numpy as np
import pandas as pd
import pytest

from analysis.chart import Points, Rule
from analysis.errors import NotApplicableError
from analysis.figures import budget, columns, curves, importance, profiles, response, sensitivity, violins
from analysis.figures.registry import FIGURES, make_chart, make_charts
from analysis.renderer import render
from analysis.report_page.payload import payload
from analysis.style import COLOURS, OTHERS, SIZES
from analysis.tables import load_tables
from tests.support.analysis_tables import (
    constant_tables,
    fail,
    known,
    made,
    make_tables,
    with_tests,
    write_start_rows,
    write_sweep,
)


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A sweep that every figure has something for."""
    folder = tmp_path_factory.mktemp("rich")
    methods = ["epsilon_greedy", "additive", "mulex", "two_task_heads", "of_my_own"]
    runs, rows = make_tables(methods=methods[:4], worlds=["w5", "w10"], draws=12)
    own = runs["method"] == "mulex"
    mine = runs[own].assign(method="of_my_own", run=runs["run"] + "x", engine="my_module:train")
    runs = pd.concat([runs, mine], ignore_index=True)
    more = rows[rows["method"] == "mulex"]
    more = more.assign(method="of_my_own", run=more["run"] + "x", entropy=1 / more["iteration"])
    rows = pd.concat([rows, more], ignore_index=True)
    place = write_sweep(folder, *with_tests(*fail(runs, rows, [3]), top=3, seeds=6), planned=(12, 2))
    write_start_rows(folder)
    return load_tables([place])


@pytest.fixture(scope="module")
def charts(rich):
    """Every figure of it."""
    return {name: make_chart(rich, name) for name in FIGURES}


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


def test_columns_of_learners_are_summarised_over_the_runs_that_have_them(tmp_path):
    runs, rows = make_tables(methods=["mulex", "additive"], draws=2, iterations=3)
    tables = load_tables([write_sweep(tmp_path / "ours", runs, rows)])
    with pytest.raises(NotApplicableError, match="columns: no run of an external learner"):
        columns.compute(tables)
    own = runs["method"] == "additive"
    runs.loc[own, "engine"] = "my_module:train"
    seeds = rows.loc[rows["method"] == "additive", "seed"]
    rows["entropy"] = seeds.astype(float) * 2 + 1  # 1 and 3 by seed, NaN for the other method
    rows["mood"] = "good"
    rows.loc[(rows["iteration"] == 2) & (rows["seed"] == 1), "entropy"] = np.inf
    found = columns.compute(load_tables([write_sweep(tmp_path / "mine", runs, rows)]))
    assert "mood" not in {column.name for column in found}
    [column] = [column for column in found if column.name == "entropy"]
    assert (column.method, column.iteration.tolist(), column.median.tolist()) == ("additive", [1, 2, 3], [2, 1, 2])
    assert (column.low.tolist(), column.high.tolist()) == ([1, 1, 1], [3, 1, 3])


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


@pytest.mark.parametrize(
    ("values", "draws", "few"),
    [
        ([0.0, 0.1, 0.5, 0.9, 1.0] * 3, 5, True),
        ([0.0, 0.1, 0.5, 0.9, 1.0], 5, False),
        ([0.1, 0.9] * 20, 40, True),
        (list(range(8)) * 3, 8, False),
    ],
)
def test_response_is_smoothed_only_between_many_values(values, draws, few):
    assert response.has_few_values(np.array(values, dtype=float), draws) is few


def test_response_has_the_median_at_each_value_of_a_choice():
    x, y = np.repeat([1.0, 2.0], 3), np.array([1.0, 5.0, 2.0, 7.0, 9.0, 8.0])
    kernel = response.make_kernel(x, is_choice=True)
    grid, median = kernel.grid, kernel.median(y)
    assert (grid.tolist(), median.tolist()) == ([1, 2], [2, 8])


def test_response_follows_a_step_and_ignores_outliers():
    x = np.linspace(0, 1, 200)
    y = np.where(x < 0.5, 0.2, 0.8)
    y[::10] = 50.0
    kernel = response.make_kernel(x)
    grid, median = kernel.grid, kernel.median(y)
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


def test_the_budget_of_very_many_draws_has_fewer_points_on_the_same_curve(monkeypatch):
    every = budget.best_of(50)
    monkeypatch.setattr("analysis.figures.budget.MOST_POINTS", 10)
    numbers = budget.numbers_of_draws(50)
    assert (numbers[0], numbers[-1], len(numbers)) == (1, 50, 9)
    assert (budget.best_of(50, numbers) == every[numbers - 1]).all()
    assert budget.numbers_of_draws(10).tolist() == list(range(1, 11))


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
    low, high = item.performance_interval
    assert low < item.performance <= high + 1e-9
    assert item.sensitivity_interval[0] < item.sensitivity_interval[1]


def test_a_draw_that_failed_in_one_world_may_be_the_best_in_another(tmp_path):
    """As in the code of Adkins et al.: it counts where it has a score, and not as one setting for all worlds."""
    scores = {("a", "mulex"): [[0.0], [0.5], [1.0]], ("b", "mulex"): [[0.0], [1.0], [0.5]]}
    runs, curves = fail(*constant_tables(scores), [5])  # draw 2 in world b
    [item] = sensitivity.compute(load_tables([write_sweep(tmp_path, runs, curves)]))
    best_in_a, middle_in_a = (1.0 - 0.05) / 0.9, 0.5
    best_in_b = (1.0 - 0.05) / 0.9  # of scores 0 and 1
    assert item.performance == pytest.approx((best_in_a + best_in_b) / 2)
    assert item.sensitivity == pytest.approx((best_in_a + best_in_b) / 2 - (middle_in_a + best_in_b) / 2)
    assert item.draws == 3
    assert all(np.isfinite([*item.performance_interval, *item.sensitivity_interval]))


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
    picture = render(charts[name], SIZES[size], rich.complete.note()).content(kind)
    assert picture.startswith(start)
    assert len(picture) > 5000
    if kind == "svg":
        assert b"419 of 420 runs (1 failed)" in picture


def test_drawn_again_a_picture_is_the_same(charts):
    for kind in ("svg", "pdf", "png"):
        first, again = (render(charts["profiles"], SIZES["column"]).content(kind) for _ in range(2))
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
        palette = charts[name].colours()
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
        assert render(chart, SIZES["column"]).content("png").startswith(b"\x89PNG")


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
        assert render(chart, SIZES["screen"]).content("png").startswith(b"\x89PNG")
    assert not any(isinstance(mark, Rule) for mark in charts[0].panels[0].marks), "no ideal is known"
