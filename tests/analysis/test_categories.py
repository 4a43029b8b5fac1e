"""Texts, booleans and values that exist only under a condition, from the spec to the figures."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.columns import varied
from analysis.figures import importance, response, sensitivity
from analysis.report_page.page import report_page
from analysis.tables import Tables, load_tables
from mulex.store.collecting import collect_tables
from mulex.store.folder import open_folder
from mulex.store.layout import SPEC
from sweeps.inventory import freeze_spec
from sweeps.plan import make_plan
from tests.support.sweeps import as_spec, mulex, tiny
from tests.sweeps.search.test_tpe import leave

SPACE = {
    "learning_rate": {"log_uniform": [1e-4, 1e-2]},
    "optimiser": {"choice": ["rmsprop", "adam"]},
    "rmsprop_decay": {"uniform": [0.5, 0.99], "when": {"optimiser": "rmsprop"}},
    "n_step": {"int_uniform": [1, 5]},
    "bootstrap_at_time_limit": {"choice": [True, False]},
}
WORLDS = {
    "small": {"map": "two_rooms", "room_size": 3},
    "large": {"map": "two_rooms", "room_size": 4, "training": {"warm_up": 80}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep in which Adam is best, and nothing else matters."""
    path = tmp_path_factory.mktemp("sweep")
    methods = {"epsilon_greedy": SPACE, "mulex": {"learning_rate": SPACE["learning_rate"]}}
    spec = as_spec(tiny(worlds=WORLDS, search={"draws": 40, "seeds": 1}, methods=methods))
    sweep = open_folder(path)
    freeze_spec(sweep, spec)
    plan = make_plan(spec, sweep)
    for run in plan.runs():
        values = plan.values[run.method][run.draw]
        score = 0.5 * (values.get("optimiser") == "adam") + 0.001 * (run.draw * 17 % 40)
        leave(sweep, run, score, values=values)
    collect_tables(sweep)
    return path


@pytest.fixture(scope="module")
def tables(folder: Path) -> Tables:
    return load_tables([str(folder)])


def test_every_searched_setting_has_a_column_of_its_type(tables: Tables) -> None:
    runs = tables.runs
    assert set(runs["optimiser"].dropna()) == {"rmsprop", "adam"}
    assert set(runs["bootstrap_at_time_limit"].dropna()) == {True, False}
    own = runs[runs["method"] == "epsilon_greedy"]
    assert (own["rmsprop_decay"].isna() == (own["optimiser"] == "adam")).all()
    assert runs[runs["method"] == "mulex"]["optimiser"].isna().all()


def test_the_spec_says_which_columns_are_hyperparameters(folder: Path, tmp_path: Path) -> None:
    """Without a spec they are the numbers that are nothing else."""
    frame = pd.read_parquet(folder / "runs.parquet").assign(room_temperature=range(160))
    for name, content in (("runs", frame), ("curves", pd.read_parquet(folder / "curves.parquet"))):
        content.to_parquet(tmp_path / f"{name}.parquet")
    numbers = load_tables([str(tmp_path)]).hyperparameters
    assert {"room_temperature", "learning_rate", "n_step"} <= set(numbers)
    assert "optimiser" not in numbers
    (tmp_path / SPEC).write_bytes((folder / SPEC).read_bytes())
    named = load_tables([str(tmp_path)]).hyperparameters
    assert set(named) == {*SPACE, "epsilon", "p_task", "gamma_steps"}


def test_the_response_has_a_median_for_each_category(tables: Tables) -> None:
    found = {(r.world, r.name): r for r in response.compute(tables) if r.method == "epsilon_greedy"}
    by_optimiser = found["small", "optimiser"]
    assert by_optimiser.categories == ("adam", "rmsprop")
    assert by_optimiser.grid.tolist() == [0.0, 1.0]
    assert by_optimiser.median[0] > by_optimiser.median[1] + 0.4
    assert found["small", "bootstrap_at_time_limit"].categories == ("false", "true")
    runs = tables.scored[tables.scored["world"] == "small"]
    assert len(found["small", "rmsprop_decay"].values) == runs["rmsprop_decay"].notna().sum()
    chart = response.chart(tables, list(found.values()))
    ticks = [panel.x.ticks for panel in chart.panels if panel.x.label == "optimiser"]
    assert ticks == [[(0.0, "adam"), (1.0, "rmsprop")]] * 2
    assert [panel.x.whole for panel in chart.panels if panel.x.label == "n step"] == [True] * 2


def test_a_choice_of_few_numbers_that_decides_nothing_has_no_importance() -> None:
    """As a range it had a third of the importance: the width of a density depends on how many points it has."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(5):
        draws = pd.DataFrame({"rate": rng.random(50), "size": rng.choice([1.0, 5.0], 50, p=[0.8, 0.2])})
        draws["flag"] = rng.random(50) < 0.5
        draws["score"] = draws["rate"] + 0.5 * draws["flag"]
        found.append(importance._shares(draws, ["rate", "size", "flag"])["size"])
    assert np.mean(found) < 0.1


def test_the_importance_of_a_category_and_of_a_conditional_value(tables: Tables) -> None:
    (found,) = [item for item in importance.compute(tables) if item.world == "small"]
    assert set(found.shares) == set(SPACE)
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.shares["optimiser"] == max(found.shares.values())


def test_the_sensitivity_compares_equal_draws_in_all_worlds(tables: Tables) -> None:
    """A setting that differs between the worlds does not tell draws apart."""
    assert [item.draws for item in sensitivity.compute(tables)] == [40, 40]
    both = tables.runs.assign(warm_up=tables.runs["world"].map({"small": 50.0, "large": 80.0}))
    assert sensitivity._drawn(both, ["warm_up", "n_step"]) == ["n_step"]
    assert varied(both, ["warm_up"]) == ["warm_up"]


def test_commands_draw_and_report_it(folder: Path, tables: Tables, tmp_path: Path) -> None:
    for figure in ("response", "importance", "sensitivity"):
        answer = mulex("plot", str(folder), "--figure", figure, "--out", str(tmp_path))
        assert answer.code == 0, answer.text
    assert mulex("stats", str(folder)).code == 0
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', report_page(tables), re.DOTALL)
    assert found is not None
    values = json.loads(found[1])["runs"]["values"]
    assert set(values["optimiser"]) == {"adam", "rmsprop", None}
    assert set(values["bootstrap_at_time_limit"]) == {"true", "false", None}
