"""The front door: `analysis.load`, `stats`, `plot` and `report` as a notebook calls them."""

import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import analysis
from analysis.figures.curves import moving_average
from analysis.statistics import compute_statistics
from mulex.errors import UserError
from tests.support.analysis_tables import fail, known, made, make_tables, with_tests, write_start_rows, write_sweep

OURS, BASE = "MuleX (ours)", "Baseline"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Two worlds, four methods, an external learner, one failed run, and start states: every figure applies."""
    folder = tmp_path_factory.mktemp("api")
    methods = ["epsilon_greedy", "additive", "mulex", "two_task_heads"]
    runs, curves = make_tables(methods, worlds=["w5", "w10"], draws=11)
    runs.loc[runs["method"] == "additive", "engine"] = "my_module:train"
    curves["entropy"] = 1 / curves["iteration"]
    write_sweep(folder, *with_tests(*fail(runs, curves, [3])))
    write_start_rows(folder)
    return analysis.load(folder)


def legend(figure):
    """The texts of a figure's legend."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def texts(figure):
    """Every text of a figure's axes: titles, labels and ticks."""
    found = [figure.get_suptitle()]
    for axes in figure.axes:
        found += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
        found += [tick.get_text() for tick in axes.get_xticklabels()]
    return " ".join(found)


def refused(call, *arguments, **options):
    """The message of the error, which is a line."""
    with pytest.raises(UserError) as error:
        call(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


class TestLoad:
    def test_paths_of_every_kind_are_joined(self, tmp_path):
        first, second = made(tmp_path / "a", draws=2), made(tmp_path / "b", worlds=["w10"], draws=2, name="more")
        tables = analysis.load(Path(first), second)
        assert isinstance(tables, analysis.Tables)
        assert tables.worlds == ["w5", "w10"]
        assert isinstance(tables.runs, pd.DataFrame)

    def test_a_folder_that_is_not_there(self, tmp_path):
        assert "no such folder" in refused(analysis.load, tmp_path / "nowhere")

    def test_no_path(self):
        assert "no path given" in refused(analysis.load)


class TestStats:
    def test_a_row_for_each_world_method_and_measure(self, tables):
        frame = analysis.stats(tables)
        iqm = frame[frame["measure"] == "iqm"].set_index(["world", "method"])
        assert len(iqm) == 8
        assert ((iqm["low"] <= iqm["value"]) & (iqm["value"] <= iqm["high"])).all()
        assert iqm.loc[("w5", "epsilon_greedy"), ["runs", "draws"]].tolist() == [21, 11]
        assert frame.attrs == {"score": "Normalised AUC", "seed": 0, "replicates": 2000, "level": 0.95}

    def test_its_numbers_are_those_of_the_command(self, tables):
        frame = analysis.stats(tables, seed=3).set_index(["world", "method", "measure"])
        for method in compute_statistics(tables, seed=3).methods:
            median = frame.loc[(method.world, method.method, "median")]
            assert median[["value", "low", "high"]].tolist() == list(vars(method.measures["median"]).values())
            assert frame.loc[(method.world, method.method, "variance_draws"), "value"] == method.variance_draws

    def test_methods_are_compared(self, tmp_path):
        tables = known(tmp_path, {("w5", "additive"): [[0.1], [0.2]], ("w5", "mulex"): [[0.8], [0.9]]})
        frame = analysis.stats(tables)
        [row] = frame[frame["measure"] == "probability_to_beat"].to_dict("records")
        assert (row["method"], row["other"], row["value"]) == ("mulex", "additive", 1.0)

    def test_the_seed_counts(self, tables):
        same, again, other = (analysis.stats(tables, seed=seed) for seed in (1, 1, 2))
        pd.testing.assert_frame_equal(same, again)
        assert not same["low"].equals(other["low"])

    def test_a_negative_seed(self, tables):
        assert refused(analysis.stats, tables, seed=-1) == "seed: -1 is negative; use 0 or more"


class TestPlot:
    @pytest.mark.parametrize("name", analysis.FIGURE_NAMES)
    def test_every_figure_is_a_figure_that_shows_itself(self, tables, name):
        figure = analysis.plot(tables, name)
        assert isinstance(figure, Figure)
        assert figure._repr_png_().startswith(b"\x89PNG")
        assert figure.caption.endswith(".")

    def test_a_path_will_do(self, tmp_path):
        assert analysis.plot(made(tmp_path, draws=2), "violins").axes

    def test_names_reach_ticks_legends_and_captions(self, tables):
        names = {"mulex": OURS, "epsilon_greedy": BASE}
        violins = analysis.plot(tables, "violins", methods=names)
        assert f"{OURS} n = 22" in texts(violins).replace("\n", " ")
        assert legend(violins)[:4] == [BASE, "Additive", OURS, "Two task heads"]
        rooms = analysis.plot(tables, "rooms", methods=names)
        assert f"AUC / {BASE}'s median" in texts(rooms)
        assert f"divided by {BASE}'s median" in rooms.caption
        assert BASE in analysis.plot(tables, "sensitivity", methods=names).caption
        assert OURS in texts(analysis.plot(tables, "starts", methods=names))

    @pytest.mark.parametrize("name", ["curves", "violins", "rooms", "response", "profiles", "budget", "importance"])
    def test_worlds_are_renamed(self, tables, name):
        said = texts(analysis.plot(tables, name, worlds={"w10": "Large rooms"}))
        assert "Large rooms" in said
        assert "w10" not in said
        assert "w5" in said

    @pytest.mark.parametrize("name", ["curves", "profiles", "budget", "response"])
    def test_colours_reach_lines_and_legends(self, tables, name):
        figure = analysis.plot(tables, name, colours={"mulex": "crimson"})
        drawn = {to_hex(line.get_color()) for line in figure.axes[0].lines}
        assert to_hex("crimson") in drawn
        assert "#009e73" not in drawn
        patches = {
            text: to_hex(patch.get_facecolor()) for text, patch in zip(legend(figure), handles(figure), strict=False)
        }
        assert patches["MuleX"] == to_hex("crimson")
        assert patches["Additive"] == "#0072b2"

    def test_colours_reach_shapes(self, tables):
        violins = analysis.plot(tables, "violins", colours={"mulex": (1, 0, 0)})
        assert "#ff0000" in {to_hex(patch.get_facecolor()) for patch in violins.axes[0].patches}

    def test_heads_have_names_and_colours_too(self, tables):
        figure = analysis.plot(tables, "acting", methods={"first": "Head A"}, colours={"first": "red"})
        assert legend(figure) == ["Head A", "second head"]

    def test_a_title(self, tables):
        assert analysis.plot(tables, "budget", title="What tuning buys").get_suptitle() == "What tuning buys"
        assert analysis.plot(tables, "budget").get_suptitle() == ""

    def test_sizes(self, tables):
        column, screen, own = (analysis.plot(tables, "budget", size=size) for size in ("column", "screen", (6, 2.5)))
        assert column.get_figwidth() < screen.get_figwidth()
        assert own.get_size_inches().tolist() == [6, 2.5]

    def test_it_leaves_matplotlib_as_it_was(self, tables, tmp_path):
        before = dict(mpl.rcParams)
        analysis.plot(tables, "response").savefig(tmp_path / "response.svg")
        assert dict(mpl.rcParams) == before

    def test_what_is_saved_later_looks_the_same(self, tables, tmp_path):
        figure = analysis.plot(tables, "profiles", size="column")
        first = figure.content("svg")
        with mpl.rc_context({"font.size": 30, "svg.hashsalt": "other", "xtick.labelsize": 40}):
            figure.savefig(tmp_path / "later.svg")
        assert (tmp_path / "later.svg").read_bytes() == first

    def test_curves_are_raw_unless_they_are_smoothed(self, tables):
        raw, same, smooth = (analysis.plot(tables, "curves", smooth=window) for window in (None, 1, 5))
        lines = [[line.get_ydata() for line in figure.axes[0].lines] for figure in (raw, same, smooth)]
        assert all(np.array_equal(a, b) for a, b in zip(lines[0], lines[1], strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(lines[0], lines[2], strict=True))
        assert "moving average" not in raw.caption
        assert smooth.caption.endswith("Each run's curve is a moving average over 5 iterations.")
        assert "moving average over 5 iterations" in smooth.get_supxlabel()

    def test_errors_say_what_there_is(self, tables, tmp_path):
        assert "did you mean 'violins'?" in refused(analysis.plot, tables, "violin")
        assert "there are epsilon_greedy, additive" in refused(analysis.plot, tables, "budget", methods={"mulx": "x"})
        assert "did you mean 'mulex'?" in refused(analysis.plot, tables, "budget", colours={"mulx": "red"})
        assert "there are w5, w10" in refused(analysis.plot, tables, "budget", worlds={"w15": "x"})
        assert "did you mean 'crimson'?" in refused(analysis.plot, tables, "budget", colours={"mulex": "crimsom"})
        assert "did you mean 'column'?" in refused(analysis.plot, tables, "budget", size="colum")
        assert "1 to 100 inches" in refused(analysis.plot, tables, "budget", size=(6, 0))
        assert "applies to curves" in refused(analysis.plot, tables, "budget", smooth=5)
        assert "use 1 or more" in refused(analysis.plot, tables, "curves", smooth=0)
        assert "starts: no starts.parquet" in refused(analysis.plot, made(tmp_path, draws=2), "starts")


def handles(figure):
    """The coloured patches of a figure's legend."""
    return figure.legends[0].get_patches()


def test_a_moving_average_holds_what_there_is_at_the_ends():
    curve = np.array([[1.0, 2.0, 6.0, 4.0]])
    assert moving_average(curve, 3).tolist() == [[1.5, 3.0, 4.0, 5.0]]
    assert moving_average(curve, 2).tolist() == [[1.0, 1.5, 4.0, 5.0]]
    assert moving_average(curve, 100).tolist() == [[3.25] * 4]


class TestReport:
    def test_the_page_itself_or_a_file(self, tables, tmp_path):
        page = analysis.report(tables)
        assert page.startswith("<!DOCTYPE html>")
        assert analysis.report(tables, tmp_path / "report.html") == str(tmp_path / "report.html")
        assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")

    def test_a_file_that_cannot_be_written(self, tables):
        assert "cannot be written" in refused(analysis.report, tables, "/proc/nowhere/report.html")


def test_importing_is_instant_and_help_needs_no_matplotlib():
    code = (
        "import sys, analysis; assert not {'pandas', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "from analysis.commands.plot import plot\n"
        "plot.main(['--help'], standalone_mode=False)\n"
        "assert not {'pandas', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "assert not hasattr(analysis, 'nothing')\n"
        "from analysis import *; assert load and plot\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in analysis.FIGURE_NAMES)
