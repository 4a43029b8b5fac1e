"""Columns of `runs` for training settings that differ between the runs of a sweep."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mulex.learners.names import TRAINING_SETTINGS
from mulex.store.collecting import collect_tables
from mulex.store.folder import open_folder
from mulex.store.run_file import RunFile, write_run_file
from mulex.store.training_columns import LEARNER_SETTINGS, with_training_columns
from tests.mulex.store.test_run_file import finished


def run(name: str, training: dict[str, object], recipe: dict[str, object] | None = None, **values: object) -> RunFile:
    """A finished run that was trained with these settings."""
    made = finished(name, "mulex", **values)
    return replace(made, config={"training": training, "recipe": recipe or {}})


def test_only_settings_that_differ_have_a_column_of_their_type(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    shared = {"batch_size": 32, "iterations": 3}
    write_run_file(folder, run("a", {**shared, "hidden": 64, "loss": "huber", "bootstrap_at_time_limit": True}))
    write_run_file(folder, run("b", {**shared, "hidden": 32, "loss": "squared", "bootstrap_at_time_limit": False}))
    collect_tables(folder)
    runs = pq.read_table(tmp_path / "runs.parquet")
    assert "batch_size" not in runs.schema.names
    types = {name: runs.schema.field(name).type for name in ("hidden", "loss", "bootstrap_at_time_limit")}
    assert types == {"hidden": pa.float64(), "loss": pa.string(), "bootstrap_at_time_limit": pa.bool_()}
    assert runs["hidden"].to_pylist() == [64, 32]
    assert runs["bootstrap_at_time_limit"].to_pylist() == [True, False]


def test_numbers_beside_texts_become_texts() -> None:
    """The discount may be a number in one world and `scaled` in another."""
    rows = with_training_columns([run("a", {"discount": "scaled"}), run("b", {"discount": 0.9}), run("c", {})])
    assert [row["discount"] for row in rows] == ["scaled", "0.9", None]


def test_the_value_of_a_searched_setting_is_kept_and_null_stays_null() -> None:
    rows = with_training_columns([run("a", {"n_step": 3}, n_step=None), run("b", {"n_step": 5}, n_step=5.0)])
    assert [row["n_step"] for row in rows] == [None, 5.0]


def test_other_learners_have_only_the_settings_that_they_are_given() -> None:
    theirs = {"learner": "sb3:PPO"}
    training = {"hidden": 16, "steps_per_iteration": 50}
    rows = with_training_columns(
        [run("a", {"hidden": 64, "steps_per_iteration": 100}), run("b", {**training}, theirs), run("c", training)]
    )
    assert [row["hidden"] for row in rows] == [64, None, 16]
    assert [row["steps_per_iteration"] for row in rows] == [100, 50, 50]
    assert LEARNER_SETTINGS == TRAINING_SETTINGS


def test_the_iterations_of_a_run_are_those_that_it_trained() -> None:
    rows = with_training_columns([run("a", {"iterations": 800}, iterations=3), run("b", {"iterations": 400})])
    assert [row.get("iterations") for row in rows] == [3, None]
