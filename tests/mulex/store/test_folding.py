"""Folding run files into segments: nothing is lost or counted twice, whenever a process is killed."""

import uuid
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mulex.errors import UserError
from mulex.store import segments as segments_module
from mulex.store.folder import Folder, RemoteFolder, open_folder
from mulex.store.folding import FOLD_AT, fold, take_out
from mulex.store.layout import index_name, run_name
from mulex.store.run_file import DamagedRunFile, write_run_file
from mulex.store.run_store import RunStore, read_run
from tests.mulex.store.test_run_file import finished


def store_of(folder: Folder) -> RunStore:
    return RunStore(folder).refresh()


def add(folder: Folder, *runs: str, **values: object) -> list[str]:
    """Write the files of runs as a worker does."""
    return [write_run_file(folder, finished(run, **{"status": "done", **values})) for run in runs]  # type: ignore[arg-type]


def segment_in(folder: Folder) -> str:
    (name,) = [name for name in folder.list("segments") if name.endswith(".zip")]
    return name


def test_folded_runs_are_the_same_runs(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    names = add(folder, "a", "b") + add(folder, "c", status="diverged", error="loss is NaN")
    before = {name: (store_of(folder).entries[name], folder.read(name)) for name in names}
    assert fold(store_of(folder), at_least=3) == 3
    assert folder.list("runs") == []
    store = store_of(folder)
    assert {name: (store.entries[name], store.contents([name])[name]) for name in names} == before
    assert store.read(names[0]).curve.equals(finished("a").curve)
    assert read_run(folder, names[2]).row["error"] == "loss is NaN"
    assert dict(store.read_many(names)).keys() == set(names)
    with pytest.raises(FileNotFoundError):
        store.read("runs/mulex/none.parquet")


def test_a_segment_is_an_archive_of_the_files_as_they_were(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    names = add(folder, "a", "b")
    contents = folder.read_many(names)
    fold(store_of(folder), at_least=1)
    with zipfile.ZipFile(tmp_path / segment_in(folder)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == contents


def test_few_files_and_failed_runs_stay_loose(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    names = add(folder, "a", "b")
    assert fold(store_of(folder)) == 0
    assert FOLD_AT > 2
    assert folder.list("runs") == names
    failed = add(folder, "f", status="failed", error="no")
    assert fold(store_of(folder), at_least=1) == 2
    assert folder.list("runs") == failed
    assert store_of(folder).entries.keys() == {*names, *failed}


def test_a_newer_loose_file_counts_before_the_folded_one(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    (name,) = add(folder, "a", seconds=1.0)
    fold(store_of(folder), at_least=1)
    add(folder, "a", seconds=2.0)
    assert store_of(folder).entries[name].seconds == 2.0
    fold(store_of(folder), at_least=1)
    assert (folder.list("runs"), store_of(folder).entries[name].seconds) == ([], 2.0)
    assert len(store_of(folder).indexes) == 2


def test_a_reader_that_looked_before_finds_what_was_folded_since(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    names = add(folder, "a", "b")
    reader = store_of(folder)
    fold(store_of(folder), at_least=1)
    assert reader.read(names[0]).row["run"] == "a"
    assert {name for name, run in reader.read_many(names) if run} == set(names)
    assert reader.refresh().entries.keys() == set(names)


@pytest.mark.parametrize("harm", ["missing", "flipped", "another", "version"])
def test_an_index_that_does_not_fit_is_made_again(tmp_path: Path, harm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_folder(tmp_path)
    names = add(folder, "a", "b")
    fold(store_of(folder), at_least=1)
    index = index_name(segment_in(folder))
    whole = folder.read(index)
    if harm == "missing":
        folder.remove(index)
    elif harm == "flipped":
        folder.write(index, bytes([*whole[:-40], whole[-40] ^ 1, *whole[-39:]]))
    elif harm == "another":
        other = open_folder(tmp_path / "other")
        add(other, "c")
        fold(store_of(other), at_least=1)
        folder.write(index, other.read(index_name(segment_in(other))))
    else:
        monkeypatch.setattr("mulex.store.index.VERSION", 2)
        folder.remove(index)
        fold(store_of(folder), at_least=1)
        monkeypatch.setattr("mulex.store.index.VERSION", 1)
    store = store_of(folder)
    assert store.entries.keys() == set(names)
    assert [problem.partition(",")[0] for problem in store.problems] == [f"{index}: unusable"]
    fold(store, at_least=1)
    assert (folder.read(index), store_of(folder).problems) == (whole, [])


def test_a_segment_of_a_later_version_is_refused_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_folder(tmp_path)
    add(folder, "a")
    monkeypatch.setattr(segments_module, "VERSION", 2)
    monkeypatch.setattr("mulex.store.index.VERSION", 2)
    fold(store_of(folder), at_least=1)
    monkeypatch.undo()
    before = folder.read(segment_in(folder))
    with pytest.raises(UserError, match="a segment of version 2, this package reads version 1; nothing is lost"):
        store_of(folder)
    assert folder.read(segment_in(folder)) == before


def test_what_is_whole_in_a_damaged_segment_counts(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    names = add(folder, "a", "b", "c")
    fold(store_of(folder), at_least=1)
    segment = segment_in(folder)
    whole = folder.read(segment)
    folder.write(segment, whole[: len(whole) // 2])  # no table of contents, and half of the runs
    store = store_of(folder)
    assert store.entries.keys() == {names[0]}
    assert f"{segment}: damaged: {names[1]}" in store.problems
    folder.remove(segment)
    assert store_of(folder).problems == [f"{index_name(segment)}: its segment is missing"]


def test_damaged_runs_are_taken_out_of_their_segment(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    names = add(folder, "a", "b", "c")
    fold(store_of(folder), at_least=1)
    segment = segment_in(folder)
    content = bytearray(folder.read(segment))
    content[content.find(names[1].encode()) + 200] ^= 1
    folder.write(segment, bytes(content))
    store = store_of(folder)
    assert store.entries.keys() == set(names), "the index is believed until somebody reads the run"
    with pytest.raises(DamagedRunFile):
        store.read(names[1])
    take_out(store, [names[1]])
    assert store_of(folder).entries.keys() == {names[0], names[2]} == store.entries.keys()
    assert folder.list("damaged") == ["damaged/b.parquet"]
    assert segment not in folder.list("segments")
    assert store_of(folder).read(names[2]).row["run"] == "c"


class Killed(BaseException):
    """Stands for kill -9."""


class Mortal(RemoteFolder):
    """A folder in memory whose process dies at some operation that changes it, before or after it is done."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.left = 10**9
        self.after = False

    def _live(self, change: object, *arguments: object) -> None:
        self.left -= 1
        if self.left < 0 and not self.after:
            raise Killed
        change(*arguments)  # type: ignore[operator]
        if self.left < 0:
            raise Killed

    def write(self, name: str, content: bytes) -> None:
        self._live(super().write, name, content)

    def write_many(self, contents: Mapping[str, bytes]) -> None:
        for name, content in contents.items():
            self.write(name, content)

    def remove(self, name: str) -> None:
        self._live(super().remove, name)

    def remove_many(self, names: object) -> None:
        for name in names:  # type: ignore[attr-defined]
            self.remove(name)


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abcdef"), st.sampled_from(["done", "failed", "diverged"])),
        st.tuples(st.just("fold"), st.integers(1, 3), st.integers(0, 12), st.booleans()),
        st.tuples(st.just("take_out"), st.sampled_from("abcdef"), st.integers(0, 8), st.booleans()),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(ACTIONS)
@example([("add", "a", "done"), ("fold", 1, 3, False), ("take_out", "a", 4, False)])
@example(
    [
        *[("add", run, "done") for run in "ab"],
        *[("fold", 1, 4, False), ("take_out", "a", 2, True), ("take_out", "b", 2, True)],
    ]
)
@example(
    [
        *[("add", run, "done") for run in "ab"],
        *[("fold", 1, 4, False), ("take_out", "a", 2, False), ("take_out", "b", 5, False)],
    ]
)
def test_any_history_of_adding_folding_and_dying_keeps_exactly_the_runs(actions: list[tuple]) -> None:  # type: ignore[type-arg]
    folder = Mortal(f"memory://{uuid.uuid4().hex}")
    expected: dict[str, str] = {}
    for kind, *details in actions:
        if kind == "add":
            run, status = details
            if expected.get(run, "failed") == "failed":  # only failed runs are trained again
                folder.left = 10**9
                add(folder, run, status=status, error=None)
                expected[run] = status
            continue
        what, folder.left, folder.after = details
        out = {what} if kind == "take_out" and store_of(folder).is_folded(run_name("mulex", what)) else set()
        with suppress(Killed):
            if kind == "fold":
                fold(store_of(folder), at_least=what)
            take_out(store_of(folder), [run_name("mulex", run) for run in out])
        is_whole, folder.left = folder.left >= 0, 10**9
        found = {entry.run: entry.status for entry in store_of(folder).entries.values()}
        assert found.keys() | out == expected.keys(), "a killed process has taken out what it should, or not yet"
        assert not (is_whole and found.keys() & out)
        expected = {run: status for run, status in expected.items() if run in found}
        assert found == expected
    fold(store_of(folder), at_least=1)
    store = store_of(folder)
    assert {entry.run: entry.status for entry in store.entries.values()} == expected
    assert {name for name, run in store.read_many(store.entries) if run} == store.entries.keys()
    assert (store.problems, store.damaged) == ([], [])
    failed = {run for run, status in expected.items() if status == "failed"}
    assert set(folder.list("runs")) == {run_name("mulex", run) for run in failed}
