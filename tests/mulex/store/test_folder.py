"""The contract of a folder, on a disk and in object storage."""

import errno
import os
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import pytest

from mulex.store.folder import Folder, LocalFolder, RemoteFolder, StorageError, open_folder
from tests.support.s3_server import S3Server


@pytest.fixture(params=["disk", "memory", "s3"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    """An empty folder of each kind."""
    if request.param == "disk":
        yield open_folder(tmp_path / "sweep")
    elif request.param == "s3":
        yield open_folder(f"{request.getfixturevalue('s3_bucket')}/sweep")
    else:
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
    for name in ("runs/b/2", "runs/a/1", "runs/b/1", "runs.parquet", "other/x", "top"):
        folder.write(name, b"x")
    assert folder.list("runs") == ["runs/a/1", "runs/b/1", "runs/b/2"]


def test_moving_and_removing(folder: Folder) -> None:
    folder.write("a/1", b"x")
    folder.write("b/1", b"old")
    folder.move("a/1", "b/1")
    assert (folder.exists("a/1"), folder.read("b/1")) == (False, b"x")
    folder.remove("b/1")
    assert not folder.exists("b/1")


def test_only_one_of_many_creates_a_file(folder: Folder) -> None:
    """As launchers do that begin at the same moment."""
    folder.write("other", b"")
    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(lambda i: folder.create("lease.json", f"launcher {i}".encode()), range(8)))
    assert created.count(True) == 1
    assert folder.read("lease.json") == f"launcher {created.index(True)}".encode()
    assert not folder.create("lease.json", b"late")
    folder.remove("lease.json")
    assert folder.create("lease.json", b"late")
    assert folder.list("") == ["lease.json", "other"]


def test_many_files_are_read_at_once(folder: Folder) -> None:
    contents = {f"runs/{i}": f"content {i}".encode() for i in range(30)}
    for name, content in contents.items():
        folder.write(name, content)
    assert folder.read_many([*contents, "gone"]) == contents
    assert folder.read_many(["runs/7", "gone", "runs/12"], last=2) == {"runs/7": b" 7", "runs/12": b"12"}
    assert folder.read_many(["runs/7"], last=100) == {"runs/7": b"content 7"}
    assert folder.read_many([]) == {}


def test_a_stamp_changes_with_its_file(folder: Folder) -> None:
    folder.write("runs/a", b"one")
    folder.write("runs/b", b"one")
    before = folder.stamps("runs")
    assert list(before) == ["runs/a", "runs/b"]
    folder.write("runs/a", b"longer")
    after = folder.stamps("runs")
    assert (after["runs/a"] != before["runs/a"], after["runs/b"] == before["runs/b"]) == (True, True)


def test_whether_a_folder_is_there(folder: Folder) -> None:
    assert not folder.is_there()
    folder.write("a", b"")
    assert folder.is_there()


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_folder(tmp_path)
    folder.write("a", b"old")
    monkeypatch.setattr(os, "fsync", _raises(OSError("no space left on device")))
    with pytest.raises(StorageError, match=r"/a: cannot be written \(no space left on device\)"):
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


def test_what_a_disk_refuses_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    folder = open_folder(tmp_path)
    with pytest.raises(StorageError, match="file/a: cannot be written") as error:
        folder.write("file/a", b"")
    assert error.value.exit_code == 2
    assert error.value.errno in (errno.EEXIST, errno.ENOTDIR)
    with pytest.raises(StorageError, match="cannot be written"):
        folder.create("file/a", b"")
    (tmp_path / "folder").mkdir()
    for act in (lambda: folder.read("folder"), lambda: folder.write("folder", b""), lambda: folder.remove("folder")):
        with pytest.raises(StorageError, match=r"folder: cannot be \w+ \("):
            act()
    for name in ("file/a", "gone/b"):
        with pytest.raises(FileNotFoundError):
            folder.read(name)
    assert folder.list("file") == []


def test_a_storage_error_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(StorageError("s3://b/a: cannot be read (denied)", "denied", errno.EACCES)))
    assert str(error) == "s3://b/a: cannot be read (denied)"


def test_a_disk_without_hard_links_creates_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuses)
    folder = open_folder(tmp_path)
    assert (folder.create("a", b"one"), folder.create("a", b"two"), folder.read("a")) == (True, False, b"one")


def test_a_bucket_that_denies_is_a_storage_error(s3_server: S3Server, s3_bucket: str) -> None:
    folder = open_folder(f"{s3_bucket}/sweep")
    folder.write("a", b"here")
    s3_server.deny_writes = True
    for act in (lambda: folder.write("a", b""), lambda: folder.create("b", b""), lambda: folder.remove("a")):
        with pytest.raises(StorageError, match=r"sweep/[ab]: cannot be \w+ \(Access Denied\)"):
            act()
    assert folder.read("a") == b"here"
    s3_server.deny_all = True
    for look in (folder.read, folder.exists, folder.list, folder.stamps):
        with pytest.raises(StorageError, match=r"sweep/a: cannot be \w+ \((Access Denied|Forbidden)\)"):
            look("a")
    with pytest.raises(StorageError):
        folder.read_many(["a"])
    with pytest.raises(StorageError):
        folder.is_there()


def test_slow_storage_lets_only_one_create_a_file(s3_server: S3Server, s3_bucket: str) -> None:
    """With the latencies of S3, writers that look first and write then would both be let in."""
    folder = open_folder(f"{s3_bucket}/sweep")
    delays = iter([0.4, 0.02, 0.2, 0.05, 0.3, 0.1] * 20)
    s3_server.latency = lambda method, path: next(delays)
    with ThreadPoolExecutor(4) as pool:
        created = list(pool.map(lambda i: folder.create("lease.json", f"launcher {i}".encode()), range(4)))
    assert created.count(True) == 1
    s3_server.heal()
    assert folder.read("lease.json") == f"launcher {created.index(True)}".encode()


def test_a_missing_bucket_is_said_in_a_line(s3_bucket: str) -> None:
    folder = open_folder("s3://there-is-no-such-bucket/sweep")
    for act in (lambda: folder.write("a", b""), lambda: folder.create("a", b""), lambda: folder.list("runs")):
        with pytest.raises(StorageError, match=r"such-bucket/.*The specified bucket does not exist") as error:
            act()
        assert error.value.exit_code == 2
    with pytest.raises(FileNotFoundError):
        folder.read("spec.yaml")
    assert (folder.exists("spec.yaml"), folder.is_there()) == (False, False)


@pytest.mark.parametrize("hang", [False, True])
def test_a_short_outage_is_waited_for(s3_server: S3Server, s3_bucket: str, hang: bool) -> None:
    folder = open_folder(f"{s3_bucket}/sweep")
    folder.write("a", b"here")
    s3_server.stop_answering(3, hang)
    began = time.monotonic()
    assert folder.read("a") == b"here"
    assert time.monotonic() - began > 2


def test_a_long_outage_is_a_storage_error(s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3fs.core.S3FileSystem.retries", 1)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    folder = open_folder(f"{s3_bucket}/sweep")
    folder.write("a", b"here")
    s3_server.stop_answering(60)
    for act in (lambda: folder.read("a"), lambda: folder.write("a", b""), lambda: folder.list("a")):
        with pytest.raises(StorageError, match=r"sweep/a: cannot be \w+ \(.*onnect"):
            act()
    s3_server.heal()
    assert folder.read("a") == b"here"


def test_urls_and_paths_are_told_apart(tmp_path: Path) -> None:
    assert isinstance(open_folder("memory://x"), RemoteFolder)
    for place in (tmp_path, str(tmp_path), f"file://{tmp_path}"):
        opened = open_folder(place)
        assert isinstance(opened, LocalFolder)
        assert opened.path == tmp_path
