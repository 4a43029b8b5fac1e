"""Where chaos keeps its sweeps: on a disk or in a bucket, each of which can be cut off for a while."""

import contextlib
import json
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mulex.store.folder import Folder, StorageError, open_folder
from mulex.store.layout import CHECKPOINTS, CURVES_TABLE, DAMAGED, PROGRESS, RUNS_TABLE
from mulex.store.run_store import RunStore
from tests.support.sweeps import wait_until


class Storage(ABC):
    """Sweeps below one URL."""

    name: str
    url: str
    can_be_cut_off: bool = True
    look_seconds: float = 0.02
    """How often chaos looks for a moment to strike."""

    @property
    def env(self) -> dict[str, str]:
        """What processes need to find it."""
        return {}

    @abstractmethod
    def cut_off(self, seconds: float) -> None:
        """Refuse everything for some seconds."""

    def folder(self, out: str) -> Folder:
        return open_folder(out)

    def worker_pids(self, out: str) -> list[int]:
        """The processes that said last that they train a pack of a sweep."""
        pids = []
        with contextlib.suppress(StorageError):
            for content in self.folder(out).read_many(self.folder(out).list(PROGRESS)).values():
                with contextlib.suppress(ValueError):
                    pids.append(int(json.loads(content)["pid"]))
        return pids

    def has_checkpoints(self, out: str) -> bool:
        return any(name.endswith(".npz") for name in self.folder(out).list(CHECKPOINTS))

    def has_damage(self, out: str) -> bool:
        return bool(self.folder(out).list(DAMAGED))

    def run_ids(self, out: str) -> set[str]:
        return {entry.run for entry in RunStore(self.folder(out)).refresh().entries.values()}

    def local_copy(self, out: str, to: Path) -> Path:
        """The two tables of a sweep in a folder on this machine."""
        to.mkdir(exist_ok=True)
        for name in (RUNS_TABLE, CURVES_TABLE):
            (to / name).write_bytes(self.folder(out).read(name))
        return to


class Disk(Storage):
    """A folder, or a file system of its own, which can become read-only."""

    name = "disk"

    def __init__(self, folder: Path, is_mounted: bool = False) -> None:
        self.url, self.can_be_cut_off = str(folder), is_mounted

    def cut_off(self, seconds: float) -> None:
        wait_until(lambda: self._remount("ro"), 120, "a moment without a write")
        time.sleep(seconds)
        assert self._remount("rw")

    def _remount(self, mode: str) -> bool:
        """Not possible while a file is open for writing."""
        command = ["mount", "-o", f"remount,{mode}", self.url]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Bucket(Storage):
    """A bucket of an S3 server on loopback."""

    name = "bucket"
    look_seconds = 0.25  # each look costs the server as much as a worker's request

    def __init__(self) -> None:
        from tests.support.s3_server import S3Server

        self.server = S3Server()
        self.url = f"s3://{self.server.make_bucket()}"

    @property
    def env(self) -> dict[str, str]:
        return self.server.environment

    def cut_off(self, seconds: float) -> None:
        self.server.stop_answering(seconds)
        time.sleep(seconds)


@contextmanager
def make_storage(where: str, scratch: Path) -> Iterator[Storage]:
    """`disk` or `bucket`."""
    if where == "bucket":
        from tests.support.s3_server import found_by_clients

        bucket = Bucket()
        with found_by_clients(bucket.server):
            yield bucket
        bucket.server.close()
        return
    place = scratch / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=500m", "tmpfs", str(place)]
    is_mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield Disk(place, is_mounted)
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=True)
