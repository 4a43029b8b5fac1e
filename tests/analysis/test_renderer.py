"""Pictures that can be read: labels that do not overlap at any size, and marks where the data is."""

import itertools

import pytest

import analysis
from analysis.renderer import short_log_ticks
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
    runs, curves = make_tables(draws=12, worlds=["w5", "w10"])
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
