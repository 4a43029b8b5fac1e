"""`mulex plot` and `mulex stats` as people call them."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.commands.claims import claims
from analysis.commands.plot import plot
from analysis.commands.report import report
from analysis.commands.stats import stats
from analysis.errors import AnalysisError
from analysis.figures.registry import FIGURES
from tests.support.analysis_tables import fail, made, make_tables, write_sweep


def call(command, *arguments):
    """Run a command; what it raises is raised here."""
    return CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def sweep(tmp_path):
    """A small sweep with a failed run, of which a half is there."""
    return write_sweep(tmp_path / "sweep", *fail(*make_tables(draws=3), [1]), planned=(6, 2))


def test_plot_puts_figures_into_the_sweep(sweep, tmp_path):
    done = call(plot, sweep, "--figure", "violins", "--figure", "curves")
    assert done.exit_code == 0
    assert done.stdout.split() == [f"{sweep}/figures/violins.png", f"{sweep}/figures/curves.png"]
    assert (tmp_path / "sweep/figures/violins.png").read_bytes().startswith(b"\x89PNG")
    assert "17 of 36 runs (1 failed)" in done.stderr


def test_plot_makes_every_format_where_it_is_told(sweep, tmp_path):
    arguments = ["--format", "pdf", "--format", "svg", "--size", "column", "--out", tmp_path / "paper"]
    assert call(plot, sweep, "--figure", "profiles", *arguments).exit_code == 0
    assert (tmp_path / "paper/profiles.pdf").read_bytes().startswith(b"%PDF")
    assert b"17 of 36 runs" in (tmp_path / "paper/profiles.svg").read_bytes()


def test_plot_all_says_what_it_skips(sweep):
    done = call(plot, sweep)
    made_, skipped = done.stdout.split(), [line for line in done.stderr.splitlines() if line.startswith("skipped")]
    assert done.exit_code == 0
    assert len(made_) + len(skipped) == len(FIGURES)
    assert any("rooms: needs several worlds" in line for line in skipped)


def test_a_figure_that_does_not_apply_is_an_error_when_it_was_asked_for(sweep):
    with pytest.raises(AnalysisError, match=r"starts: no starts\.parquet") as error:
        call(plot, sweep, "--figure", "starts")
    assert error.value.exit_code == 2


def test_an_unknown_figure_is_refused_with_the_known_ones(sweep):
    done = call(plot, sweep, "--figure", "pie")
    assert done.exit_code == 2
    assert "'violins'" in done.stderr


def test_stats_in_the_terminal_names_what_does_not_count(sweep, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = call(stats, sweep).stdout
    assert "MuleX beats Additive" in text
    assert "failed: w5 epsilon_greedy draw 0 seed 1 (made-w5-epsilon_greedy-0-1): worker died" in text
    assert "missing: 18 planned runs are not there yet" in text


def test_stats_as_json_is_seeded(sweep):
    first, again, other = (json.loads(call(stats, sweep, "--json", "--seed", seed).stdout) for seed in (3, 3, 4))
    assert first == again
    assert (first["seed"], other["seed"]) == (3, 4)
    assert set(first["methods"][0]) >= {"iqm", "median", "worst_decile", "best", "worst", "iterations_to_ideal"}
    assert first["counts"][0]["failed"] == 1


def test_stats_says_that_draws_of_few_values_may_repeat(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    runs, curves = make_tables(methods=["mulex"], draws=2)
    space = "p_task: {choice: [0.1, 0.2, 0.3]}"
    sweep = write_sweep(tmp_path, runs, curves, planned=(9, 2), space=space, algorithm="tpe")
    text = call(stats, sweep).stdout
    assert "perhaps missing: up to 2 more, unless their draws repeat others" in text
    assert "perhaps" not in call(stats, write_sweep(tmp_path, runs, curves, planned=(9, 2))).stdout


def test_a_seed_below_nothing_is_refused(sweep):
    done = call(stats, sweep, "--seed", -1)
    assert done.exit_code == 2
    assert "-1 is not in the range x>=0" in done.stderr


def refused(command, *arguments):
    """What is said in one line."""
    with pytest.raises(AnalysisError) as error:
        call(command, *arguments)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)
    return str(error.value)


def test_pictures_that_cannot_be_put_there(sweep, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    for place in (file, file / "in"):
        said = refused(plot, sweep, "--figure", "profiles", "--out", place)
        assert said == f"{place}/profiles.png: {file} is a file, not a folder; name another path"
    assert file.read_text() == "mine"
    assert "cannot be written" in refused(plot, sweep, "--figure", "profiles", "--out", "/proc/there")


def test_a_report_that_cannot_be_put_there(sweep, tmp_path):
    there, new = tmp_path / "there", f"{tmp_path}/new/"
    there.mkdir()
    assert refused(report, sweep, "-o", there) == f"{there}: is a folder; name a file in it"
    assert refused(report, sweep, "-o", new) == f"{new}: is a folder; name a file in it, such as {new}report.html"
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("mine")
    assert "is a file, not a folder" in refused(report, sweep, "-o", tmp_path / "file/page.html")
    assert "name another path" in refused(report, sweep, "-o", "/proc/there/page.html")


def test_stats_of_one_run(tmp_path):
    done = call(stats, made(tmp_path, methods=["mulex"], draws=1, seeds=1, iterations=1))
    assert done.exit_code == 0
    assert "MuleX" in done.stdout


@pytest.mark.parametrize("command", ["plot", "stats", "report"])
def test_no_command_loads_torch_or_ray(sweep, command):
    code = (
        f"import sys; from analysis.commands.{command} import {command}\n"
        f"{command}.main([sys.argv[1]], standalone_mode=False)\n"
        "assert not {'torch', 'ray'} & set(sys.modules), 'loaded'"
    )
    done = subprocess.run([sys.executable, "-c", code, sweep], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


NASTY = "tensor[/red] of [3, 4] has \x1b]0;owned\x07\x1b[2J no\nsuch [bold]shape[/bold]"


def test_an_error_is_shown_as_it_is_and_cannot_steer_the_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    runs, curves = fail(*make_tables(draws=2, worlds=["a[/b]"]), [1])
    runs.loc[1, "error"] = NASTY
    text = call(stats, write_sweep(tmp_path / "x[/y]", runs, curves)).stdout
    assert r"tensor[/red] of [3, 4] has \x1b]0;owned\x07\x1b[2J no" in text  # its first line; a report has the rest
    assert "a[/b]" in text
    assert "\x1b" not in text


def test_a_long_error_is_cut(tmp_path):
    runs, curves = fail(*make_tables(draws=2), [1])
    runs.loc[1, "error"] = "x" * 5_000_000
    assert len(call(stats, write_sweep(tmp_path, runs, curves)).stdout) < 10_000


@pytest.mark.parametrize("how", [[], ["--markdown"]])
def test_a_sweeps_name_cannot_steer_the_terminal(tmp_path, monkeypatch, how):
    monkeypatch.setenv("COLUMNS", "300")
    runs, curves = make_tables(draws=6)
    folder = write_sweep(tmp_path, runs.assign(sweep="main-[/red]\x1b[2J"), curves)
    text = call(claims, folder, *how).stdout
    assert r"main-[/red]\x1b[2J" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(("command", "file"), [(report, "report.html"), (plot, "figures/violins.png")])
def test_a_write_that_fails_leaves_the_old_file_and_no_part(sweep, tmp_path, command, file):
    """The limit on a file's size makes a real write fail in the middle, as a full disk does."""
    target = tmp_path / "sweep" / file
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(b"old")
    before = sorted((tmp_path / "sweep").rglob("*"))
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, usual[1]))
    try:
        said = refused(command, sweep, *([] if command is report else ["--figure", "violins"]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert "cannot be written" in said
    assert target.read_bytes() == b"old"
    assert sorted((tmp_path / "sweep").rglob("*")) == before


def test_plot_shows_other_names_colours_and_a_title(sweep):
    options = [
        "--names",
        "mulex=Ours $x_1$",
        "--names",
        "w5=Small = easy",
        "--colours",
        "mulex=#cc0000",
        "--title",
        "T $5",
    ]
    done = call(plot, sweep, "--figure", "violins", "--format", "svg", *options)
    assert done.exception is None
    text = Path(done.stdout.strip()).read_text()
    assert "Ours $x_1$" in text and "T $5" in text and "#cc0000" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--names", "mulex"], "write KEY=TEXT"),
        (["--names", "nobody=X"], "nobody"),
        (["--colours", "mulex=#nocolour"], "no such colour|unknown colour|colour"),
    ],
)
def test_plot_refuses_names_that_cannot_be_used(sweep, options, message):
    with pytest.raises(AnalysisError, match=message):
        raise call(plot, sweep, "--figure", "violins", *options).exception


def test_claims_as_json(tmp_path):
    runs, curves = make_tables(draws=6, iterations=800)
    found = json.loads(call(claims, write_sweep(tmp_path, runs.assign(sweep="main"), curves), "--json").stdout)
    assert {"sweep", "claim", "verdict", "numbers", "draws_needed"} <= set(found[0])
    for one in found:
        of_all = runs.groupby("method")["seed"].nunique().sum()
        assert one["runs_needed"] == (None if one["draws_needed"] is None else one["draws_needed"] * of_all)
    assert any(one["runs_needed"] for one in found)
    is_open = [one for one in found if one["verdict"] == "not enough runs"]
    assert is_open and all(one["draws_needed"] is None or one["draws_needed"] >= 5 for one in is_open)
