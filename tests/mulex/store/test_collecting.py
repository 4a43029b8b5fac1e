"""Making the tables: equal whatever was folded before, in one file or in parts, and only what has changed."""

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from mulex.store import collecting
from mulex.store.collecting import Collected, collect_tables
from mulex.store.folder import Folder, open_folder
from mulex.store.folding import fold
from mulex.store.run_file import write_run_file
from mulex.store.run_store import RunStore
from mulex.store.tables import DamagedTable, damaged_tables, read_table, tables_are_of
from tests.mulex.store.test_run_file import finished


def add(folder: Folder, draws: range, **more: object) -> list[str]:
    """Runs of two methods, of which one has a hyperparameter and a setting of its own."""
    names = []
    for draw in draws:
        common = {"draw": draw, "status": "done", "iterations": 3, **more}
        names.append(write_run_file(folder, finished(f"m{draw}", "mulex", p_task=0.5, **common)))  # type: ignore[arg-type]
        other = finished(f"a{draw}", "additive", beta=1.0, curiosity=f"c{draw}", **common)  # type: ignore[arg-type]
        other.config["training"] = {"n_step": 3 + draw % 2}
        names.append(write_run_file(folder, other))
    return names


def contents(folder: Path) -> list[pd.DataFrame]:
    return [pd.read_parquet(folder / name) for name in ("runs.parquet", "curves.parquet")]


def assert_same(one: list[pd.DataFrame], other: list[pd.DataFrame]) -> None:
    for a, b in zip(one, other, strict=True):
        pd.testing.assert_frame_equal(a, b, check_exact=True)


@pytest.fixture
def expected(tmp_path: Path) -> list[pd.DataFrame]:
    """The tables of six draws whose runs were never folded."""
    add(open_folder(tmp_path / "loose"), range(6))
    assert collect_tables(open_folder(tmp_path / "loose")) == Collected(12, 36, [])
    return contents(tmp_path / "loose")


def test_tables_are_equal_after_any_folding(tmp_path: Path, expected: list[pd.DataFrame]) -> None:
    folder = open_folder(tmp_path / "folded")
    add(folder, range(2, 4))
    fold(RunStore(folder), at_least=1)
    add(folder, range(2))
    fold(RunStore(folder), at_least=1)
    add(folder, range(4, 6))
    assert collect_tables(folder) == Collected(12, 36, [])
    assert_same(contents(tmp_path / "folded"), expected)
    made_of = [read_table(open_folder(tmp_path / name), "runs.parquet").made_of for name in ("loose", "folded")]
    assert made_of[0] == made_of[1]


def test_runs_that_do_not_belong_leave_no_columns(tmp_path: Path, expected: list[pd.DataFrame]) -> None:
    folder = open_folder(tmp_path / "folded")
    add(folder, range(6))
    stranger = write_run_file(folder, finished("z", "mulex", status="done", other="text"))
    fold(RunStore(folder), at_least=1)
    assert collect_tables(folder, lambda entry: entry.run != "z") == Collected(12, 36, [], [stranger])
    assert_same(contents(tmp_path / "folded"), expected)


def test_large_curves_are_parts_that_read_like_one_table(
    tmp_path: Path, expected: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "SINGLE_ROWS", 20)
    monkeypatch.setattr(collecting, "PART_ROWS", 12)
    folder = open_folder(tmp_path / "parts")
    add(folder, range(5))
    assert collect_tables(folder).rows == 30
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts" / "curves.parquet").iterdir()}
    assert len(before) == 4
    add(folder, range(5, 6))
    assert collect_tables(folder).rows == 36
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts" / "curves.parquet").iterdir()}
    assert len(before.items() & after.items()) == 2, "the full parts are kept"
    assert_same(contents(tmp_path / "parts"), expected)
    curves = read_table(folder, "curves.parquet")
    pd.testing.assert_frame_equal(curves.content.to_pandas().astype({"run": "str"}), expected[1].astype({"run": "str"}))
    checksums = RunStore(folder).checksums()
    assert tables_are_of(folder, checksums)
    monkeypatch.undo()
    collect_tables(folder)
    assert (tmp_path / "parts" / "curves.parquet").is_file()
    assert_same(contents(tmp_path / "parts"), expected)


@pytest.mark.parametrize("harm", ["gone", "flipped"])
def test_damage_to_a_part_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    monkeypatch.setattr(collecting, "SINGLE_ROWS", 20)
    folder = open_folder(tmp_path)
    add(folder, range(5))
    collect_tables(folder)
    name = folder.list("curves.parquet")[0]
    content = bytearray(folder.read(name))
    if harm == "gone":
        folder.remove(name)
    else:
        column = pq.read_metadata(tmp_path / name).row_group(0).column(6)
        content[column.dictionary_page_offset + column.total_compressed_size - 3] ^= 1
        folder.write(name, bytes(content))
    assert set(damaged_tables(folder)) >= {name}
    with pytest.raises(DamagedTable):
        read_table(folder, "curves.parquet")
    assert tables_are_of(folder, RunStore(folder).checksums()) == (harm == "flipped"), "pages are checked by readers"
    folder.remove(name)
    collect_tables(folder)
    assert damaged_tables(folder) == []


def test_a_damaged_run_in_a_segment_is_left_out_and_missing_from_then_on(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    names = add(folder, range(2))
    fold(RunStore(folder), at_least=1)
    (segment,) = [name for name in folder.list("segments") if name.endswith(".zip")]
    content = bytearray(folder.read(segment))
    content[content.find(names[0].encode()) + 200] ^= 1
    folder.write(segment, bytes(content))
    assert collect_tables(folder) == Collected(3, 9, [names[0]])
    assert RunStore(folder).refresh().entries.keys() == set(names[1:])
    assert collect_tables(folder) == Collected(3, 9, [])


def test_many_loose_files_are_folded_by_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_folder(tmp_path)
    add(folder, range(3))
    collect_tables(folder)
    assert len(folder.list("runs")) == 6
    monkeypatch.setattr("mulex.store.folding.FOLD_AT", 6)
    before = contents(tmp_path)
    collect_tables(folder)
    assert (folder.list("runs"), len(folder.list("segments"))) == ([], 2)
    assert_same(contents(tmp_path), before)
