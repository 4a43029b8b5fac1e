"""Run files and the two tables made from them."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.config import RESERVED_NAMES
from mulex.folder import open_folder
from mulex.run_file import (
    Collected,
    DamagedRunFile,
    RunFile,
    collect_tables,
    curve_table,
    read_run_file,
    write_run_file,
)
from mulex.schema import CURVES, HYPERPARAMETERS, RUNS

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def finished(run: str = "r1", method: str = "mulex", seed: int = 0, **more: Any) -> RunFile:
    """A small finished run."""
    common = {"run": run, "world": "w5", "method": method, "draw": 0, "seed": seed}
    curve = [
        common | {"iteration": i, "eval_return": i / 3, "env_steps": 10 * i, "train_return": None, "loss_task": 0.1 * i}
        for i in (1, 2, 3)
    ]
    row = common | {"learning_rate": 1e-3, "auc": 2 / 3, "started_at": MOMENT, "finished_at": MOMENT} | more
    return RunFile(row, curve_table(curve), {"seed": seed})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    run = finished()
    back = read_run_file(open_folder(tmp_path), write_run_file(open_folder(tmp_path), run))
    assert back.row == run.row
    assert back.config == run.config
    assert back.curve.equals(run.curve)
    assert back.curve["loss_task"].to_pylist() == [0.1 * i for i in (1, 2, 3)]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_damage_is_found(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("sweep")
    name = write_run_file(open_folder(folder), finished())
    path = folder / name
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(DamagedRunFile, match="damaged"):
        read_run_file(open_folder(folder), name)


def test_tables_have_every_column_with_its_type(tmp_path: Path) -> None:
    write_run_file(open_folder(tmp_path), finished("b", "additive", beta=2.0))
    write_run_file(open_folder(tmp_path), finished("c", "mulex", seed=1))
    write_run_file(open_folder(tmp_path), finished("a", "mulex", curiosity=0.5))
    assert collect_tables(open_folder(tmp_path)) == Collected(3, 9, [])
    runs, curves = pq.read_table(tmp_path / "runs.parquet"), pq.read_table(tmp_path / "curves.parquet")
    for field in RUNS:
        assert runs.schema.field(field.name).type == field.type
    for field in CURVES:
        assert curves.schema.field(field.name).type == field.type
    assert runs["run"].to_pylist() == ["b", "a", "c"]
    assert runs["beta"].to_pylist() == [2.0, None, None]
    assert runs["curiosity"].to_pylist() == [None, 0.5, None]
    assert curves["loss_task"].to_pylist() == [0.1 * i for _ in range(3) for i in (1, 2, 3)]


def test_the_page_about_the_tables_has_every_column() -> None:
    runs, curves = Path("docs/tables.md").read_text().split("## curves.parquet")
    for part, schema in ((runs, RUNS), (curves, CURVES)):
        named = {
            name
            for line in part.splitlines()
            if line[:1] == "|"
            for name in re.findall(r"`([a-z0-9_]+)`", line.split("|")[1])
        }
        assert named == set(schema.names)


def test_tables_read_with_pandas(tmp_path: Path) -> None:
    write_run_file(open_folder(tmp_path), finished())
    collect_tables(open_folder(tmp_path))
    assert pd.read_parquet(tmp_path / "runs.parquet")["finished_at"][0] == pd.Timestamp(MOMENT)


def test_names_that_a_hyperparameter_may_not_have_are_the_columns() -> None:
    assert set(RESERVED_NAMES) == set(RUNS.names) - set(HYPERPARAMETERS)


def test_a_damaged_run_is_left_out_of_the_tables_and_named(tmp_path: Path) -> None:
    name = write_run_file(open_folder(tmp_path), finished("a"))
    write_run_file(open_folder(tmp_path), finished("b"))
    (tmp_path / name).write_bytes(b"PAR1")
    assert collect_tables(open_folder(tmp_path)) == Collected(1, 3, [name])


def test_no_runs_make_empty_tables(tmp_path: Path) -> None:
    assert collect_tables(open_folder(tmp_path)) == Collected(0, 0, [])
    assert pq.read_table(tmp_path / "runs.parquet").schema.names == RUNS.names
