"""The curves of all runs as one DataFrame."""

import pandas as pd
import pytest

import analysis
from tests.support.analysis_tables import make_tables, write_sweep

KEYS = ["run", "world", "method", "draw", "seed", "iteration"]


def test_curves_have_a_row_for_each_run_and_iteration_with_every_column(tmp_path):
    runs, curves = make_tables(draws=2, iterations=5)
    tables = analysis.load(write_sweep(tmp_path, runs, curves.assign(loss_task=0.5)))
    assert tables.curves.columns[:6].tolist() == KEYS
    assert len(tables.curves) == len(runs) * 5
    assert (tables.curves["loss_task"] == 0.5).all()
    assert tables.curves["eval_return"].tolist() == pytest.approx(tables.matrices["eval_return"].ravel().tolist())


def test_a_joined_run_counts_once_and_worlds_have_the_names_of_the_runs(tmp_path):
    one = write_sweep(tmp_path / "one", *make_tables(draws=2, name="one"))
    same = write_sweep(tmp_path / "same", *make_tables(draws=2, name="one"))
    assert len(analysis.load(one, same).curves) == len(analysis.load(one).curves)
    other = write_sweep(tmp_path / "other", *make_tables(draws=2, name="other"))
    both = analysis.load(one, other)
    assert set(both.curves["world"]) == set(both.runs["world"]) == {"one: w5", "other: w5"}


def test_a_part_of_the_worlds_has_their_curves_alone(tmp_path):
    tables = analysis.load(write_sweep(tmp_path, *make_tables(worlds=("a", "b"), draws=2)))
    assert set(tables.only(["b"]).curves["world"]) == {"b"}


def test_runs_without_curves_give_an_empty_frame(tmp_path):
    runs, curves = make_tables(draws=1)
    tables = analysis.load(write_sweep(tmp_path, runs, curves.head(0)))
    assert tables.curves.empty and set(KEYS) <= set(tables.curves.columns)
    assert isinstance(tables.curves, pd.DataFrame)
