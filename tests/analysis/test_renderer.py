"""Pictures that can be read: labels that do not overlap at any size, and marks where the data is."""

import itertools
import math
from itertools import pairwise

import numpy as np
import pytest

import analysis
from analysis.chart import Axis, Bars, Chart, Line, Panel, Points, Rule, Series
from analysis.renderer import render, short_log_ticks
from analysis.style import SIZES
from tests.support.analysis_tables import known, make_tables, write_start_rows, write_sweep


def overlaps(figure, artists):
    """Pairs of texts that overlap in the picture."""
    figure.canvas.draw()
    shown = [text for text in artists if text.get_visible() and text.get_text().strip()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown]
    return [(a, b) for (a, x), (b, y) in itertools.combinations(boxes, 2) if x.overlaps(y)]


@pytest.mark.parametrize("size", ["column", "screen"])
@pytest.mark.parametrize("ratio", [8.5, 19, 60, 99, 1000])
def test_ticks_of_a_logarithmic_axis_do_not_overlap(tmp_path, size, ratio):
    runs, curves = make_tables(["mulex"], draws=12, worlds=["w5", "w10"])
    runs["learning_rate"] = 3e-5 * ratio ** (runs["draw"] / 11)
    figure = analysis.plot(analysis.load(write_sweep(tmp_path, runs, curves)), "response", size=size)
    for axes in figure.axes[:2]:
        assert axes.get_xlabel() == "learning rate"
        labels = [*axes.get_xticklabels(), *axes.get_xticklabels(minor=True)]
        low, high = axes.get_xlim()
        inside = [label for label in labels if low <= label.get_position()[0] <= high and label.get_text()]
        assert len(inside) >= 2
        assert overlaps(figure, inside) == []


def test_short_logarithmic_axes_have_round_ticks():
    assert short_log_ticks(0.9, 11) == [1, 2, 5, 10]
    assert short_log_ticks(2.5e-5, 1.4e-3) == [3e-5, 1e-4, 3e-4, 1e-3]
    assert short_log_ticks(2.1, 4.9) == [2.1, 4.9]


def test_titles_of_starts_do_not_collide_in_a_column(tmp_path):
    methods = ("epsilon_greedy", "additive", "two_task_heads")
    write_sweep(tmp_path, *make_tables(methods, worlds=["w5", "w10"], draws=2))
    runs = [(method, f"made-{world}-{method}-0-0") for method in methods for world in ("w5", "w10")]
    write_start_rows(tmp_path, [(method, run, row, 1, 3) for method, run in runs for row in (1, 2)])
    figure = analysis.plot(tmp_path, "starts", size="column")
    assert len(figure.axes) == 7, "six maps and a colour bar"
    assert overlaps(figure, [axes.title for axes in figure.axes]) == []


@pytest.mark.parametrize("name", ["budget", "violins", "response"])
def test_a_y_label_stands_once_beside_several_rows(tmp_path, name):
    tables = analysis.load(write_sweep(tmp_path, *make_tables(worlds=["w5", "w10", "w15"], draws=4)))
    figure = analysis.plot(tables, name, size="column")
    assert {axes.get_ylabel() for axes in figure.axes} == {""}
    assert "ormalised AUC" in figure.get_supylabel()
    assert analysis.plot(tables.only(["w5"]), "budget").axes[0].get_ylabel() == "Expected best normalised AUC"


def test_sensitivity_has_intervals_and_a_labelled_diagonal(tmp_path):
    scores = [[i / 20] for i in range(20)]
    tables = known(tmp_path, {(w, m): scores for w in ("a", "b") for m in ("epsilon_greedy", "mulex")})
    figure = analysis.plot(tables, "sensitivity", methods={"epsilon_greedy": "Base"})
    assert [text.get_text() for text in figure.axes[0].texts] == ["Base, one setting for all"]
    spans = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2 and line.get_alpha() == 0.5]
    assert len(spans) == 4, "across and upwards for two methods"
    upwards = spans[1].get_ydata()
    assert upwards[0] < upwards[1]


@pytest.mark.parametrize("size", ["column", "screen"])
@pytest.mark.parametrize(("y", "at_start"), [(0.7, False), (0.1, True), (0.3, False)])
def test_the_text_of_a_sloped_line_runs_along_it_and_inside_the_panel(size, y, at_start):
    marks = [Rule(y, "one setting for all worlds", 1.0, at_start), Points("a", np.array([0.1]), np.array([0.1]))]
    panel = Panel(Axis(limits=(-0.05, 0.4)), Axis(limits=(0.0, 1.0)), marks)
    figure = render(Chart("x", "", "", [Series("a", "a", "#000000")], [panel]), SIZES[size])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    text = axes.texts[0]
    start, end = axes.transData.transform([(0.0, y), (0.4, y + 0.4)])
    along = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
    assert text.get_rotation() == pytest.approx(along)
    x, height = axes.transData.transform(text.get_position())
    above = height - (start[1] + (x - start[0]) * math.tan(math.radians(along)))
    assert 0 < above < axes.bbox.height / 30
    box = text.get_window_extent()
    assert axes.bbox.x0 <= box.x0
    assert box.x1 <= axes.bbox.x1 + 1
    assert box.y1 <= axes.bbox.y1 + above


@pytest.mark.parametrize("y", [0.9, -0.7])
def test_a_line_of_which_little_is_in_the_panel_has_its_text_beside_it(y):
    marks = [Rule(y, "one setting for all worlds", 1.0, y < 0), Points("a", np.array([0.1]), np.array([0.1]))]
    panel = Panel(Axis(limits=(-0.05, 1.0)), Axis(limits=(0.0, 1.0)), marks)
    figure = render(Chart("x", "", "", [Series("a", "a", "#000000")], [panel]), SIZES["column"])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    box = axes.texts[0].get_window_extent()
    leaves, enters = axes.transData.transform([(0.1, 1.0), (0.7, 0.0)])[:, 0]
    assert leaves < box.x0 if y > 0 else box.x1 < enters
    assert axes.bbox.x0 <= box.x0
    assert box.x1 <= axes.bbox.x1


@pytest.mark.parametrize("size", ["column", "screen"])
def test_texts_at_the_y_axis_neither_overlap_nor_squeeze_the_panels(size):
    """Twelve hyperparameters with long names in two worlds, as in a sweep of Stable-Baselines3."""
    names = [(float(i), f"policy kwargs.net arch {i}") for i in range(12)]
    bars = Bars("a", np.arange(12.0), np.linspace(0, 1, 12), 0.75)
    panel = Panel(Axis("Share of importance"), Axis(ticks=names, limits=(12.0, -1.0)), [bars], "cartpole")
    chart = Chart("x", "", "", [Series("a", "a", "#000000")], [panel, panel], same_y=False)
    figure = render(chart, SIZES[size])
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
        assert not any(one.overlaps(other) for one, other in pairwise(boxes))
        assert axes.bbox.width > 0.2 * figure.bbox.width
        label = axes.xaxis.label.get_window_extent()
        assert label.x0 >= 0
        assert label.x1 <= figure.bbox.width


def test_a_legend_is_inside_its_figure():
    """Three short names and three marks: they fit in two lines of a column, but not in one."""
    series = [Series(name, name, "#000000") for name in ("a2c", "dqn", "ppo")]
    marks = [Points(one.key, np.array([1.0]), np.array([1.0])) for one in series]
    key = [("best", "best"), ("median", "median"), ("worst", "worst")]
    figure = render(Chart("x", "", "", series, [Panel(Axis(), Axis(), marks)], key), SIZES["column"])
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_short_ticks_have_no_exponent():
    bounds = np.array([100.0, 2000.0])
    panel = Panel(Axis(log=True, limits=(100.0, 2000.0)), Axis(), [Line("a", bounds, bounds)])
    figure = render(Chart("x", "", "", [Series("a", "a", "#000000")], [panel]), SIZES["column"])
    figure.draw_without_rendering()
    assert "1000" in [label.get_text() for label in figure.axes[0].get_xticklabels()]
