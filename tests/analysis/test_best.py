"""`mulex best` and `mulex checklist`."""

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

import analysis
from analysis.best_draws import best_draws
from analysis.commands.best import best
from analysis.commands.checklist import checklist
from analysis.errors import AnalysisError
from mulex.store.folder import open_folder
from sweeps.plan import make_plan
from sweeps.spec import load_spec
from tests.support.analysis_tables import known, made, make_tables, write_sweep

ANSWERS = (
    "Tool: MuleX sweeps",
    "log uniform [1e-05, 0.001]",
    "3 draws of each method x 2 seeds",
    "For testing: **none**",
)


def call(command, *arguments):
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)


def test_the_best_draws_are_those_with_the_highest_mean(tmp_path):
    known(tmp_path, {("w", "mulex"): [[0.1, 0.3], [0.9, 0.7], [0.5, 0.5]], ("w", "additive"): [[0.2]]})
    found = json.loads(call(best, tmp_path, "--top", 2, "--json").stdout)
    mulex = [one for one in found if one["method"] == "mulex"]
    assert [(one["draw"], one["score"]) for one in mulex] == [(1, pytest.approx(0.8)), (2, pytest.approx(0.5))]
    assert mulex[0]["low"] < 0.7 and mulex[0]["high"] > 0.9
    assert mulex[0]["values"] == {"learning_rate": 0.1}
    assert found[0]["low"] is None and "additive" not in json.dumps(mulex)


def test_the_command_trains_that_draw_alone(tmp_path):
    sweep = made(tmp_path / "s", methods=["epsilon_greedy", "additive"], planned=(3, 2), draws=3)
    first = json.loads(call(best, sweep, "--top", 1, "--json").stdout)[0]
    words = shlex.split(first["command"])
    options = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    overrides = {key: YAML(typ="safe").load(text) for key, text in (option.split("=", 1) for option in options)}
    spec = load_spec(words[2], overrides)
    assert list(spec.methods) == [first["method"]] and spec.search.draws == 1
    assert spec.space(first["method"])["learning_rate"].values == (first["values"]["learning_rate"],)
    assert "[-]" not in call(best, sweep).stdout and "draw" in call(best, sweep).stdout


def test_the_command_describes_exactly_the_runs_of_that_draw(tmp_path):
    """In one of two worlds, and without repeating a recipe that the method's name already stands for."""
    tables = analysis.load("docs/results/rooms")
    for one in best_draws(tables, 1):
        words = shlex.split(one.command)
        options = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
        overrides = {key: YAML(typ="safe").load(text) for key, text in (option.split("=", 1) for option in options)}
        planned = make_plan(load_spec(words[2], overrides), open_folder(tmp_path)).runs()
        runs = tables.runs[["world", "method", "draw"]].eq([one.world, one.method, one.draw]).all(axis=1)
        assert {run.run_id for run in planned} == set(tables.runs.loc[runs, "run"])
        assert "recipe" not in one.command


def test_the_checklist_answers_from_the_spec_and_the_store(tmp_path):
    text = call(checklist, made(tmp_path, planned=(3, 2), draws=3)).stdout
    for answer in ANSWERS:
        assert answer in text
    assert text.startswith("# Hyperparameters of the sweep made")
    assert "Complete: yes" in text and "The same for all methods: yes" in text


def test_the_checklist_names_the_code_and_the_machines():
    folder = Path("docs/results/hard")
    text, runs = call(checklist, folder).stdout, pd.read_parquet(folder / "runs.parquet")
    for title, column in {"Package versions": "package_version", "Hosts": "host", "Engines": "engine"}.items():
        assert f"- {title}: {', '.join(sorted(set(runs[column])))}.\n" in text


def test_a_checklist_needs_a_spec(tmp_path):
    with pytest.raises(AnalysisError, match="needs one sweep with its spec"):
        call(checklist, write_sweep(tmp_path, *make_tables(draws=2)))
