"""`mulex collect`, `verify` and `resume` with damaged tables, files of other specs and specs that were edited."""

import os
import shutil
from pathlib import Path

import pytest

from analysis.tables import load_tables
from mulex.store.folder import open_folder
from mulex.store.folding import fold
from mulex.store.layout import run_name
from mulex.store.run_file import RunFile, read_run_file, write_run_file
from mulex.store.run_store import RunStore
from mulex.store.tables import read_table
from tests.support.sweeps import ROOT, mulex

TABLES = ("runs.parquet", "curves.parquet")


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """A complete sweep of 12 runs with its tables."""
    data, out = ROOT / "tests" / "data", tmp_path / "sweep"
    shutil.copytree(data / "old_sweep", out, ignore=shutil.ignore_patterns("checkpoints"))
    shutil.copytree(data / "old_sweep_rest", out / "runs" / "mulex", dirs_exist_ok=True)
    assert mulex("collect", str(out)).code == 0
    return out


def add_stranger(out: Path) -> str:
    """A whole file of a run that the spec does not plan."""
    folder = open_folder(out)
    known = read_run_file(folder, folder.list("runs/mulex")[0])
    row = known.row | {"run": "0123456789abcdef", "seed": 99, "normalised_auc": 0.0}
    return write_run_file(folder, RunFile(row, known.curve, known.config))


def flip(path: Path, index: int) -> None:
    """Change one bit."""
    content = bytearray(path.read_bytes())
    content[index] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("index", [100, -300, -20])
@pytest.mark.parametrize("name", TABLES)
def test_resume_makes_a_damaged_table_again(sweep: Path, name: str, index: int) -> None:
    before = {table: (sweep / table).read_bytes() for table in TABLES}
    flip(sweep / name, index)
    answer = mulex("verify", str(sweep))
    assert (answer.code, f"damaged: {name}; mulex collect makes it again" in answer.text) == (1, True)
    assert len(load_tables([str(sweep)]).runs) == 12, "the analysis reads the run files instead"
    answer = mulex("resume", str(sweep))
    assert answer.code == 0, answer.text
    assert {table: (sweep / table).read_bytes() for table in TABLES} == before
    assert mulex("verify", str(sweep)).code == 0


def test_a_damaged_table_without_run_files_is_said(sweep: Path) -> None:
    flip(sweep / "curves.parquet", 100)
    shutil.rmtree(sweep / "runs")
    answer = mulex("stats", str(sweep))
    assert (answer.code, "curves.parquet: damaged, its checksum does not fit" in answer.text) == (2, True)


def test_tables_of_different_runs_are_not_joined(sweep: Path) -> None:
    """As after a crash between the writes of the two."""
    old = (sweep / "runs.parquet").read_bytes()
    (sweep / "runs/mulex/af59bd0480ace124.parquet").unlink()
    assert mulex("collect", str(sweep)).code == 0
    (sweep / "runs.parquet").write_bytes(old)
    assert len(load_tables([str(sweep)]).runs) == 11
    shutil.rmtree(sweep / "runs")
    assert "are not of the same runs" in mulex("stats", str(sweep)).text


def test_runs_of_other_specs_are_left_out_and_named(sweep: Path) -> None:
    before = load_tables([str(sweep)]).runs
    name = add_stranger(sweep)
    for _ in range(2):  # with tables of all files but this one, and with tables that are out of date
        tables = load_tables([str(sweep)])
        assert (tables.sweeps[0].strangers, tables.runs["run"].tolist()) == ([name], before["run"].tolist())
        assert tables.warnings == [f"{sweep}: left out, not planned by spec.yaml: {name}"]
        assert tables.complete.note() == ""
        (sweep / "runs.parquet").unlink(missing_ok=True)
    answer = mulex("collect", str(sweep))
    assert (answer.code, f"left out, not of this spec: {name}" in answer.text) == (1, True)
    assert read_table(open_folder(sweep), "runs.parquet").content.num_rows == 12
    assert name in mulex("stats", str(sweep)).text
    cache: dict = {}
    load_tables([str(sweep)], cache)
    assert cache == {}, "tables of all planned runs are used although there is a stranger"


def test_runs_of_an_edited_spec_do_not_mix_with_those_before(sweep: Path) -> None:
    spec = sweep / "spec.yaml"
    text = spec.read_text()
    spec.write_text(text.replace("iterations: 4", "iterations: 5"))
    assert spec.read_text() != text
    answer = mulex("collect", str(sweep))
    assert answer.code == 1
    assert answer.text.count("left out, not of this spec: ") == 12
    answer = mulex("stats", str(sweep))
    assert (answer.code, "12 run files, none of which spec.yaml plans" in answer.text) == (2, True)
    spec.write_text(text)
    assert mulex("collect", str(sweep)).code == 0
    assert len(load_tables([str(sweep)]).runs) == 12


def test_a_spec_that_cannot_be_read_lets_the_runs_be_analysed(sweep: Path) -> None:
    (sweep / "spec.yaml").write_text("schema_of_the_future: 9\n")
    tables = load_tables([str(sweep)])
    assert (len(tables.runs), tables.complete.is_planned, tables.warnings) == (12, False, [])
    (sweep / "runs.parquet").unlink()
    assert len(load_tables([str(sweep)]).runs) == 12
    assert run_name("mulex", "af59bd0480ace124") in open_folder(sweep).list("runs")


def test_the_next_launch_sweeps_away_what_dead_processes_left(sweep: Path) -> None:
    parts = [sweep / ".spec.yaml.1.part", sweep / "runs/mulex/.a.parquet.2.part"]
    orphan = sweep / "checkpoints/0123456789abcdef/00000001-00.npz"
    orphan.parent.mkdir(parents=True)
    for path in (*parts, orphan):
        path.write_bytes(b"half")
        os.utime(path, (0, 0))
    fresh = sweep / ".runs.parquet.3.part"
    fresh.write_bytes(b"half")
    assert mulex("resume", str(sweep)).code == 0
    assert [path.exists() for path in (*parts, orphan, fresh)] == [False, False, False, True]


def fold_all(out: Path) -> Path:
    """Fold all runs of a sweep; gives the path of the segment."""
    folder = open_folder(out)
    assert fold(RunStore(folder), at_least=1) == 12
    return next((out / "segments").glob("*.zip"))


def test_a_folded_sweep_is_complete_and_grows(sweep: Path) -> None:
    before = {table: (sweep / table).read_bytes() for table in TABLES}
    stats = mulex("stats", str(sweep)).text
    fold_all(sweep)
    assert not list((sweep / "runs").rglob("*.parquet"))
    for command in (("verify",), ("verify", "--quick"), ("resume",), ("status",)):
        answer = mulex(*command, str(sweep))
        assert answer.code == 0, answer.text
    assert {table: (sweep / table).read_bytes() for table in TABLES} == before, "the tables are of these runs"
    assert mulex("stats", str(sweep)).text == stats


def test_damage_in_a_segment_is_found_repaired_and_trained_again(sweep: Path) -> None:
    segment = fold_all(sweep)
    content = bytearray(segment.read_bytes())
    flip(segment, content.find(b"af59bd0480ace124") + 300)
    assert mulex("verify", "--quick", str(sweep)).code == 0
    answer = mulex("verify", str(sweep))
    assert (answer.code, "af59bd0480ace124.parquet; mulex verify --repair takes it out" in answer.text) == (1, True)
    answer = mulex("verify", "--repair", str(sweep))
    assert (answer.code, "11 done, 0 diverged, 0 failed, 1 missing, 1 damaged" in answer.text) == (1, True)
    answer = mulex("verify", str(sweep))
    assert (answer.code, "11 done, 0 diverged, 0 failed, 1 missing, 0 damaged" in answer.text) == (1, True)
    assert (sweep / "damaged" / "af59bd0480ace124.parquet").exists()


def test_a_half_folded_folder_counts_every_run_once(sweep: Path) -> None:
    shutil.copytree(sweep / "runs", sweep / "copy")
    segment = fold_all(sweep)
    shutil.rmtree(sweep / "runs")
    shutil.move(sweep / "copy", sweep / "runs")  # as if the process was killed before it removed the loose files
    index = segment.with_name(segment.stem + ".index.parquet")
    index.unlink()  # or even before it wrote the index
    answer = mulex("verify", str(sweep))
    assert (answer.code, "index.parquet: unusable, it is missing; the segment itself is read" in answer.text) == (
        1,
        True,
    )
    assert "12 done, 0 diverged, 0 failed, 0 missing, 0 damaged" in answer.text
    assert mulex("resume", str(sweep)).code == 0
    assert mulex("collect", str(sweep)).code == 0
    assert index.exists()
    assert not list((sweep / "runs").rglob("*.parquet"))
    assert mulex("verify", str(sweep)).code == 0


def test_a_segment_of_a_later_version_is_said(sweep: Path) -> None:
    segment = fold_all(sweep)
    content = segment.read_bytes()
    segment.write_bytes(content.replace(b"mulex segment, version 1", b"mulex segment, version 12"))
    for command in ("status", "resume", "collect", "verify"):
        answer = mulex(command, str(sweep))
        assert (answer.code, "a segment of version 12, this package reads version 1" in answer.text) == (2, True)
    segment.write_bytes(content)
    assert mulex("verify", str(sweep)).code == 0
