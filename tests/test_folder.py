"""The contract of a folder, on a disk and in object storage."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest

from mulex.folder import Folder, LocalFolder, RemoteFolder, open_folder


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    """An empty folder of each kind."""
    if request.param == "disk":
        yield open_folder(tmp_path / "sweep")
        return
    yield open_folder("memory://bucket/sweep")
    fsspec.filesystem("memory").store.clear()


def test_what_is_written_is_read(folder: Folder) -> None:
    folder.write("a/b.bin", b"one")
    assert folder.read("a/b.bin") == b"one"
    folder.write("a/b.bin", b"two")
    assert folder.read("a/b.bin") == b"two"


def test_what_is_not_there(folder: Folder) -> None:
    folder.write("here", b"")
    assert folder.exists("here")
    assert not folder.exists("gone")
    assert not folder.exists("her")
    with pytest.raises(FileNotFoundError):
        folder.read("gone")
    folder.remove("gone")
    assert folder.list("nothing") == []


def test_listing_goes_all_the_way_down_and_is_sorted(folder: Folder) -> None:
    for name in ("runs/b/2", "runs/a/1", "runs/b/1", "other/x", "top"):
        folder.write(name, b"x")
    assert folder.list("runs") == ["runs/a/1", "runs/b/1", "runs/b/2"]


def test_moving_and_removing(folder: Folder) -> None:
    folder.write("a/1", b"x")
    folder.write("b/1", b"old")
    folder.move("a/1", "b/1")
    assert (folder.exists("a/1"), folder.read("b/1")) == (False, b"x")
    folder.remove("b/1")
    assert not folder.exists("b/1")


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_folder(tmp_path)
    folder.write("a", b"old")
    monkeypatch.setattr(os, "fsync", _raises(OSError("no space left on device")))
    with pytest.raises(OSError, match="no space"):
        folder.write("a", b"new")
    assert folder.read("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def _raises(error: Exception) -> Callable[[int], None]:
    def function(_: int) -> None:
        raise error

    return function


def test_parts_of_a_dead_writer_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / ".x.parquet.4711.part").write_bytes(b"half")
    assert open_folder(tmp_path).list("runs") == []


def test_urls_and_paths_are_told_apart(tmp_path: Path) -> None:
    assert isinstance(open_folder("memory://x"), RemoteFolder)
    for place in (tmp_path, str(tmp_path), f"file://{tmp_path}"):
        opened = open_folder(place)
        assert isinstance(opened, LocalFolder)
        assert opened.path == tmp_path
