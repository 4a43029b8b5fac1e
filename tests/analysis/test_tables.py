"""Reading tables: what is there is joined, what is wrong is said in a sentence."""

import json
import subprocess
import sys
import tracemalloc

import fsspec
import numpy as np
import pandas as pd
import pytest

from analysis import columns
from analysis.columns import FITS, hyperparameters
from analysis.errors import AnalysisError
from analysis.tables import load_tables
from mulex.store import schema
from mulex.store.collecting import collect_tables
from mulex.store.folder import LocalFolder, open_folder
from mulex.store.run_file import RunFile, curve_table, write_run_file
from sweeps.plan import make_plan
from sweeps.spec import parse_spec
from tests.mulex.store.test_run_file import finished
from tests.support.analysis_tables import fail, made, make_tables, write_sweep


def test_the_columns_that_the_analysis_knows_are_those_of_the_schema():
    chosen = schema.runs_schema({"score": {float}, "score_name": {str}})
    for name, kind in {**columns.NEEDED, **columns.OPTIONAL}.items():
        assert FITS[kind](chosen.field(name).type), name
    for name, kind in columns.CURVES_NEEDED.items():
        assert FITS[kind](schema.CURVES.field(name).type), name
    assert {"sweep": "text", "auc": "number", "iterations": "number", "finished_at": "moment"}.items() <= (
        columns.OPTIONAL.items()
    )


def test_hyperparameters_are_the_columns_that_nobody_else_knows(tmp_path):
    runs, curves = make_tables()
    runs["target_period"] = 500.0
    tables = load_tables([write_sweep(tmp_path, runs, curves)])
    names = hyperparameters(tables.sweeps[0].runs)
    assert names == ["learning_rate", "epsilon", "beta", "p_task", "gamma_steps", "target_period"]


def test_curves_are_rows_in_the_order_of_the_runs(tmp_path):
    runs, curves = make_tables(draws=3, iterations=5)
    tables = load_tables([write_sweep(tmp_path, runs, curves.sample(frac=1, random_state=0))])
    for row, run in enumerate(runs["run"]):
        expected = curves[curves["run"] == run].sort_values("iteration")["eval_return"]
        assert tables.matrices["eval_return"][row].tolist() == expected.tolist()
    assert tables.ideal("w5") == 4


def test_a_whole_sweep_has_no_note_and_a_partial_one_has(tmp_path):
    runs, curves = make_tables(draws=4)
    assert load_tables([write_sweep(tmp_path / "a", runs, curves, planned=(4, 2))]).complete.note() == ""
    assert load_tables([write_sweep(tmp_path / "b", runs, curves)]).complete.note() == ""
    some = write_sweep(tmp_path / "c", *fail(runs, curves, [5]), planned=(500, 2))
    assert load_tables([some]).complete.note() == "23 of 3,000 runs (1 failed)"


def test_a_method_without_any_run_counts_as_missing(tmp_path):
    runs, curves = make_tables(methods=["mulex"], draws=2)
    folder = write_sweep(tmp_path, runs, curves, planned=(2, 2), methods=["mulex", "additive"])
    tables = load_tables([folder])
    assert tables.complete.note() == "4 of 8 runs"
    assert tables.methods == ["mulex"]


@pytest.mark.parametrize("text", ["", "- a list", "search: 3", "{unclosed", "search: {draws: x, seeds: 1}"])
def test_a_spec_that_says_nothing_plans_nothing(tmp_path, text):
    folder = made(tmp_path, draws=2)
    (tmp_path / "spec.yaml").write_text(text)
    tables = load_tables([folder])
    assert not tables.complete.is_planned
    assert tables.complete.note() == ""


def test_sweeps_are_joined_and_shared_runs_count_once(tmp_path):
    runs, curves = make_tables(worlds=["w5", "w10"], draws=2)
    both = write_sweep(tmp_path / "both", runs, curves, planned=(2, 2))
    one = write_sweep(tmp_path / "one", runs[runs["world"] == "w5"], curves[curves["world"] == "w5"], planned=(2, 2))
    tables = load_tables([both, one])
    assert len(tables.runs) == len(runs)
    assert tables.worlds == ["w5", "w10"]
    assert tables.complete.note() == ""


def test_sweeps_of_other_seeds_plan_all_of_them(tmp_path):
    """What both plan is planned once, and nothing hides behind the other."""
    runs, curves = make_tables(draws=3, seeds=4)
    early, late = (runs[runs["seed"].isin(seeds)] for seeds in ((0, 1), (2,)))
    one = write_sweep(tmp_path / "one", early, curves, planned=(3, 2))
    more = write_sweep(tmp_path / "more", late, curves, planned=(5, 2), first_seed=2)
    assert load_tables([one]).complete.note() == ""
    for places in ([one, more], [more, one]):
        assert load_tables(places).complete.note() == "27 of 48 runs"
    again = write_sweep(tmp_path / "again", early, curves, planned=(3, 3))
    assert load_tables([again, more]).complete.note() == f"27 of {3 * (3 + 3 + 5 + 5)} runs"


FOUR = "p_task: {choice: [0.5, 0.5, 0.7]}, gamma_steps: {choice: [0.8, 0.9]}"
"""A space of four points."""


@pytest.mark.parametrize("algorithm", ["random", "sobol"])
@pytest.mark.parametrize("space", [FOUR, "p_task: {choice: [0.5, 0.7]}", "epsilon: 0.1", "p_task: {uniform: [0, 1]}"])
def test_the_counts_are_those_of_the_plan(tmp_path, algorithm, space):
    runs, curves = make_tables(methods=["mulex"], draws=1)
    folder = write_sweep(tmp_path, runs, curves, planned=(9, 2), space=space, algorithm=algorithm)
    plan = make_plan(parse_spec((tmp_path / "spec.yaml").read_text(), "spec.yaml"), open_folder(folder))
    complete = load_tables([folder]).complete
    assert (complete.total, complete.perhaps) == (len(list(plan.runs())), 0)


def test_draws_of_an_adaptive_search_that_may_repeat_others_are_not_missing(tmp_path):
    runs, curves = make_tables(methods=["mulex"], draws=4)
    four = write_sweep(tmp_path / "four", runs, curves, planned=(9, 2), space=FOUR, algorithm="tpe")
    assert load_tables([four]).complete.note() == ""
    some = runs[runs["draw"] != 2][1:]
    three = write_sweep(tmp_path / "some", some, curves, planned=(9, 2), space=FOUR, algorithm="tpe")
    found = load_tables([three]).complete
    assert found.note() == "5 of at most 8 runs"
    assert found.counts[["planned", "missing", "perhaps"]].to_numpy().tolist() == [[6, 1, 2]]


def test_draws_that_were_written_down_leave_no_doubt(tmp_path):
    runs, curves = make_tables(methods=["mulex"], draws=3)
    space = "p_task: {choice: [0.1, 0.2, 0.3, 0.4]}"
    sweep = write_sweep(tmp_path, runs, curves, planned=(4, 2), space=space, algorithm="tpe")
    assert load_tables([sweep]).complete.note() == "6 of at most 8 runs"
    (tmp_path / "draws").mkdir()
    space_of = parse_spec((tmp_path / "spec.yaml").read_text(), "spec.yaml").space("mulex")
    constants = {name: values.at(0.0) for name, values in space_of.items() if values.is_constant}
    for drawn, note in (([1, 2, 3], "6 of at most 8 runs"), ([1, 2, 1, 3], ""), ([4, 2, 1, 3], "6 of 8 runs")):
        draws = [constants | {"p_task": value / 10} for value in drawn]
        (tmp_path / "draws/mulex.json").write_text(json.dumps(draws))
        assert load_tables([sweep]).complete.note() == note


def test_a_plan_of_a_million_runs_is_counted_and_not_made(tmp_path):
    folder = write_sweep(tmp_path, *make_tables(methods=["mulex"], draws=1), planned=(250_000, 4))
    load_tables([folder])
    tracemalloc.start()
    complete = load_tables([folder]).complete
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert complete.total == 1_000_000
    assert most < 20e6


def test_other_draws_of_the_same_settings_are_joined_and_kept_apart(tmp_path):
    """Two sweeps with other search seeds: draw 1 of both is not the same draw, and both count in full."""
    places = [made(tmp_path / f"{i}", name=f"made{i}", draws=3, seed=i, planned=(4, 2)) for i in range(2)]
    tables = load_tables(places)
    assert tables.worlds == ["w5"]
    mulex = tables.scored[tables.scored["method"] == "mulex"]
    assert mulex["draw"].nunique() == mulex["learning_rate"].nunique() == 6
    assert sorted(mulex["draw"].unique()) == [0, 1, 2, 3, 4, 5]
    assert (tables.complete.total, tables.complete.scored) == (3 * 8 * 2, 3 * 6 * 2)
    assert mulex.groupby("draw")["learning_rate"].nunique().eq(1).all()


def test_other_seeds_of_the_same_draws_are_joined_as_the_same_draws(tmp_path):
    one = make_tables(draws=3, name="one")
    more = make_tables(draws=3, name="two")
    more[0]["seed"] += 2
    tables = load_tables([write_sweep(tmp_path / "a", *one), write_sweep(tmp_path / "b", *more)])
    assert tables.scored.groupby("method")["draw"].nunique().eq(3).all()
    assert tables.scored.groupby(["method", "draw"])["seed"].nunique().eq(4).all()


def test_other_settings_in_a_world_of_the_same_name_are_another_world(tmp_path):
    for i in range(2):
        made(tmp_path / f"{i}", name=f"made{i}", draws=3, seed=i, planned=(3, 2))
    spec = tmp_path / "1" / "spec.yaml"
    spec.write_text(spec.read_text() + "training: {target_period: 77}\n")
    assert load_tables([str(tmp_path / "0"), str(tmp_path / "1")]).worlds == ["made0: w5", "made1: w5"]


def test_other_runs_in_a_world_of_the_same_name_are_another_world(tmp_path):
    places = [made(tmp_path / name, name=name, draws=2, seed=i) for i, name in enumerate(["main", "rainbow"])]
    tables = load_tables(places)
    assert tables.worlds == ["main: w5", "rainbow: w5"]
    assert len(list(tables.groups())) == 6


def test_a_folder_by_url(tmp_path):
    assert len(load_tables([f"file://{made(tmp_path, draws=2)}"]).runs) == 12
    memory = fsspec.filesystem("memory")
    for name in ("runs.parquet", "curves.parquet"):
        memory.pipe_file(f"/bucket/sweep/{name}", (tmp_path / name).read_bytes())
    assert len(load_tables(["memory://bucket/sweep"]).runs) == 12


def test_a_sweep_that_goes_on_is_read_from_its_run_files(tmp_path):
    runs, curves = make_tables(methods=["mulex"], draws=2)
    write_run_files(tmp_path, runs[:3], curves)
    cache = {}
    live = load_tables([str(tmp_path)], cache)
    assert live.runs["score"].tolist() == runs["normalised_auc"][:3].tolist()
    assert live.matrices["eval_return"][2].tolist() == curves["eval_return"][40:60].tolist()
    assert len(cache) == 3
    write_sweep(tmp_path, runs[:2], curves)
    assert len(load_tables([str(tmp_path)]).runs) == 3, "run files that know more than the tables win"
    (tmp_path / "runs/mulex/broken.parquet").write_bytes(b"PAR1")
    assert load_tables([str(tmp_path)], cache).sweeps[0].damaged == ["runs/mulex/broken.parquet"]


def write_run_files(folder, runs, curves):
    """A file for each run."""
    for row in runs.astype(object).where(runs.notna(), None).to_dict("records"):
        curve = curves[curves["run"] == row["run"]].to_dict("records")
        write_run_file(LocalFolder(folder), RunFile(row, curve_table(curve), {}))


def in_memory(folder, name):
    """The same folder as an object store has it."""
    fsspec.filesystem("memory").put(f"{folder}/", f"/{name}/", recursive=True)
    return f"memory://{name}"


@pytest.mark.parametrize("there", [str, lambda folder: in_memory(folder, "again")])
def test_tables_of_other_run_files_are_not_believed(tmp_path, there):
    runs, curves = make_tables(methods=["mulex"], draws=2)
    write_run_files(tmp_path, *fail(runs, curves, [1]))
    collect_tables(LocalFolder(tmp_path))
    cache = {}
    assert load_tables([there(tmp_path)], cache).runs["outcome"].tolist() == ["done", "failed", "done", "done"]
    assert cache == {}, "the tables are of these run files, which need not be read"
    write_run_files(tmp_path, runs[1:2], curves)  # mulex resume
    again = load_tables([there(tmp_path)], cache)
    assert again.complete.counts["done"].tolist() == [4]
    assert sorted(again.runs["score"]) == sorted(runs["normalised_auc"])
    assert len(cache) == 4


def test_a_run_file_that_was_changed_is_damaged(tmp_path):
    runs, curves = make_tables(methods=["mulex"], draws=2)
    write_run_files(tmp_path, runs, curves)
    name, moved = (f"runs/mulex/{run}.parquet" for run in runs["run"][:2])
    content = (tmp_path / name).read_bytes()
    other = content.replace(b'"status": "done"', b'"status": "fine"')
    assert other != content
    (tmp_path / name).write_bytes(other)
    (tmp_path / moved).rename(tmp_path / "runs/mulex/other.parquet")
    tables = load_tables([str(tmp_path)])
    assert sorted(tables.sweeps[0].damaged) == sorted([name, "runs/mulex/other.parquet"])
    assert tables.runs["run"].tolist() == runs["run"][2:].tolist()


def test_without_an_ideal_return_the_auc_counts(tmp_path):
    runs, curves = make_tables(draws=2)
    runs["normalised_auc"] = np.nan
    curves["normalised_return"] = np.nan
    tables = load_tables([write_sweep(tmp_path, runs, curves)])
    assert tables.score_name == "AUC"
    assert tables.runs["score"].tolist() == runs["auc"].tolist()
    assert tables.ideal("w5") is None


def test_each_world_has_its_own_score(tmp_path):
    """A grid world and a Gym world without an ideal return, in one sweep."""
    runs, curves = make_tables(draws=2, worlds=["w5", "pole"])
    gym = runs["world"] == "pole"
    runs.loc[gym, "auc"] *= 100
    runs.loc[gym, "normalised_auc"] = curves.loc[curves["world"] == "pole", "normalised_return"] = np.nan
    runs, curves = fail(runs, curves, [0])
    tables = load_tables([write_sweep(tmp_path, runs, curves)])
    assert tables.score_names == {"w5": "Normalised AUC", "pole": "AUC"}
    assert tables.score_name == "Score"
    assert tables.runs["outcome"].value_counts().to_dict() == {"done": 23, "failed": 1}
    assert tables.runs["score"][gym].tolist() == runs["auc"][gym].tolist()
    assert tables.runs["score"][~gym][1:].tolist() == runs["normalised_auc"][~gym][1:].tolist()
    assert tables.only(["pole"]).score_name == "AUC"


def test_an_older_table_without_the_optional_columns_loads(tmp_path):
    runs, curves = make_tables(draws=2)
    older = runs.drop(columns=["schema_version", "error", "host", "seconds"])
    assert len(load_tables([write_sweep(tmp_path, older, curves)]).scored) == 12


def message(places):
    """What is said of them."""
    with pytest.raises(AnalysisError) as error:
        load_tables([str(place) for place in places])
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)
    return str(error.value)


def test_bad_folders_are_named(tmp_path):
    assert "no such folder" in message([tmp_path / "nowhere"])
    assert "no runs.parquet" in message([tmp_path])
    assert "no_such_protocol" in message(["no_such_protocol://x"])
    folder = made(tmp_path / "half", draws=2)
    (tmp_path / "half/curves.parquet").unlink()
    assert "curves.parquet" in message([folder])
    (tmp_path / "half/curves.parquet").write_text("not a table")
    assert "cannot be read as Parquet" in message([folder])


def test_bad_tables_are_named(tmp_path):
    runs, curves = make_tables(draws=2)
    assert "no column method" in message([write_sweep(tmp_path / "a", runs.drop(columns=["method"]), curves)])
    assert "no column iteration" in message([write_sweep(tmp_path / "b", runs, curves.drop(columns=["iteration"]))])
    text = runs.assign(normalised_auc="high")
    assert "normalised_auc has type" in message([write_sweep(tmp_path / "c", text, curves)])
    assert "schema version 99" in message([write_sweep(tmp_path / "d", runs.assign(schema_version=99), curves)])
    assert "no runs yet" in message([write_sweep(tmp_path / "e", runs[:0], curves[:0])])
    assert "iteration below 1" in message([write_sweep(tmp_path / "f", runs, curves.assign(iteration=0))])


def test_a_ledger_that_is_damaged_plans_nothing(tmp_path):
    runs, curves = make_tables(methods=["mulex"], draws=2)
    sweep = write_sweep(tmp_path, runs, curves, planned=(4, 2), space=FOUR, algorithm="tpe")
    (tmp_path / "draws").mkdir()
    (tmp_path / "draws/mulex.json").write_text("[{")
    tables = load_tables([sweep])
    assert (len(tables.runs), tables.complete.is_planned) == (4, False)


def test_loading_needs_neither_torch_nor_ray(tmp_path):
    folder = made(tmp_path, draws=2, planned=(2, 2))
    code = f"import sys, analysis; analysis.load({folder!r}); print([m for m in ('torch', 'ray') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_score_is_what_the_training_chose(tmp_path):
    runs, curves = make_tables()
    runs["score"], runs["score_name"] = runs["final_return"], "Final return"
    tables = load_tables([write_sweep(tmp_path / "chosen", runs, curves)])
    assert list(tables.runs["score"]) == list(runs["final_return"])
    assert tables.score_name == "Final return" and "score" not in tables.hyperparameters
    assert load_tables([made(tmp_path / "auc")]).score_name == "Normalised AUC"


def test_curves_in_parts_and_many_runs(tmp_path, monkeypatch):
    """Large sweeps: the same numbers from several files, and every n-th draw where there are too many runs."""
    folder = LocalFolder(tmp_path)
    for draw in range(6):
        for seed in range(2):
            row = {"draw": draw, "iterations": 3, "status": "done", "normalised_auc": draw / 10, "role": "tune"}
            write_run_file(folder, finished(f"r{draw}{seed}", seed=seed, **row))
    collect_tables(folder)
    whole = load_tables([str(tmp_path)])
    monkeypatch.setattr("mulex.store.collecting.SINGLE_ROWS", 1)
    monkeypatch.setattr("mulex.store.collecting.PART_ROWS", 7)
    collect_tables(folder)
    assert len(list((tmp_path / "curves.parquet").iterdir())) == 6
    parts = load_tables([str(tmp_path)])
    pd.testing.assert_frame_equal(parts.runs, whole.runs)
    for name, matrix in whole.matrices.items():
        np.testing.assert_array_equal(parts.matrices[name], matrix)
    pd.testing.assert_frame_equal(parts.curves, whole.curves)
    assert parts.warnings == []
    monkeypatch.setattr("analysis.sampling.MOST_RUNS", 5)
    some = load_tables([str(tmp_path)])
    assert some.warnings == ["4 of 12 runs are analysed: draws 0, 3, 6 and so on of each method, and all test runs"]
    assert some.runs["run"].tolist() == ["r00", "r01", "r30", "r31"]
    assert some.complete.total == 12
    np.testing.assert_array_equal(some.matrices["eval_return"], whole.matrices["eval_return"][[0, 1, 6, 7]])


def test_many_runs_without_tables_are_not_read_one_by_one(tmp_path, monkeypatch):
    folder = LocalFolder(tmp_path)
    for run in "abc":
        write_run_file(folder, finished(run))
    monkeypatch.setattr("analysis.loading.MOST_LOOSE", 2)
    with pytest.raises(AnalysisError, match="make them first with mulex collect"):
        load_tables([str(tmp_path)])
    collect_tables(folder)
    assert len(load_tables([str(tmp_path)]).runs) == 3
