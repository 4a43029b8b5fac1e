"""The two tables: made of the run files of a sweep, and checked wherever they are read."""

import re
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.config import RESERVED_NAMES
from mulex.errors import UserError
from mulex.store.collecting import Collected, collect_tables
from mulex.store.folder import open_folder
from mulex.store.layout import CURVES_TABLE, RUNS_TABLE
from mulex.store.run_file import read_run_note, write_run_file
from mulex.store.schema import CURVES, HYPERPARAMETERS, RUNS
from mulex.store.score import SCORE_NAME, SCORE_VALUE
from mulex.store.tables import DamagedTable, damaged_tables, read_runs, read_table, tables_are_of
from tests.mulex.store.test_run_file import MOMENT, finished


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


SOMETIMES = {"score", "score_name", "training"}  # columns of sweeps that choose a score or vary a training setting


def test_the_page_about_the_tables_has_every_column() -> None:
    runs, curves = Path("docs/tables.md").read_text().split("## curves.parquet")
    for part, schema in ((runs, RUNS), (curves, CURVES)):
        named = {
            name
            for line in part.splitlines()
            if line[:1] == "|"
            for name in re.findall(r"`([a-z0-9_]+)`", line.split("|")[1])
        }
        assert named - SOMETIMES == set(schema.names)


def test_tables_read_with_pandas(tmp_path: Path) -> None:
    write_run_file(open_folder(tmp_path), finished())
    collect_tables(open_folder(tmp_path))
    assert pd.read_parquet(tmp_path / "runs.parquet")["finished_at"][0] == pd.Timestamp(MOMENT)


def test_names_that_a_hyperparameter_may_not_have_are_the_columns() -> None:
    assert set(RESERVED_NAMES) == set(RUNS.names) - set(HYPERPARAMETERS) | {SCORE_VALUE, SCORE_NAME}


def test_a_damaged_run_is_left_out_of_the_tables_and_named(tmp_path: Path) -> None:
    name = write_run_file(open_folder(tmp_path), finished("a"))
    write_run_file(open_folder(tmp_path), finished("b"))
    (tmp_path / name).write_bytes(b"PAR1")
    assert collect_tables(open_folder(tmp_path)) == Collected(1, 3, [name])


def test_no_runs_make_empty_tables(tmp_path: Path) -> None:
    assert collect_tables(open_folder(tmp_path)) == Collected(0, 0, [])
    assert pq.read_table(tmp_path / "runs.parquet").schema.names == RUNS.names


def test_only_planned_runs_go_into_the_tables(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    planned = [write_run_file(folder, finished(run)) for run in ("a", "b")]
    stranger = write_run_file(folder, finished("z", "other"))
    assert collect_tables(folder, lambda entry: entry.name in planned) == Collected(2, 6, [], [stranger])
    assert pq.read_table(tmp_path / RUNS_TABLE)["run"].to_pylist() == ["a", "b"]
    assert set(pq.read_table(tmp_path / CURVES_TABLE)["run"].to_pylist()) == {"a", "b"}
    checksums = {name: read_run_note(folder, name).checksum for name in planned}
    assert tables_are_of(folder, checksums)
    assert not tables_are_of(folder, checksums | {stranger: read_run_note(folder, stranger).checksum})


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_damage_to_a_table_is_found(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("sweep")
    folder = open_folder(path)
    name = write_run_file(folder, finished())
    collect_tables(folder)
    checksums = {name: read_run_note(folder, name).checksum}
    assert tables_are_of(folder, checksums)
    table = data.draw(st.sampled_from([RUNS_TABLE, CURVES_TABLE]))
    content = bytearray((path / table).read_bytes())
    index = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[index:]
    else:
        content[index] ^= 1 << data.draw(st.integers(0, 7))
    (path / table).write_bytes(content)
    with pytest.raises(DamagedTable, match=table):
        read_table(folder, table)
    assert not tables_are_of(folder, checksums)
    assert damaged_tables(folder) == [table]
    assert [row["run"] for row in read_runs(folder)] == ["r1"], "the run files have what a damaged table had"
    collect_tables(folder)
    assert tables_are_of(folder, checksums)


def test_tables_of_earlier_versions_are_read_without_a_checksum(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    write_run_file(folder, finished())
    collect_tables(folder)
    for name in (RUNS_TABLE, CURVES_TABLE):
        pq.write_table(pq.read_table(tmp_path / name).replace_schema_metadata({}), tmp_path / name)
    assert read_table(folder, RUNS_TABLE).content["run"].to_pylist() == ["r1"]
    assert damaged_tables(folder) == []
    assert read_table(folder, RUNS_TABLE).made_of == b""


def test_without_tables_and_run_files_there_are_no_rows(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no runs\.parquet and no run files"):
        read_runs(open_folder(tmp_path))
    (tmp_path / RUNS_TABLE).write_bytes(b"PAR1")
    with pytest.raises(UserError, match="cannot be read as Parquet"):
        read_runs(open_folder(tmp_path))
