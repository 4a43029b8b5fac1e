"""The lease: one launcher a sweep, and what is left by a dead or frozen one is taken over."""

import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fsspec
import pytest

from mulex.folder import Folder, open_folder
from sweeps import lease as lease_module
from sweeps.lease import NAME, Lease, SweepBusy
from tests.sweep_helpers import ROOT, wait_until

HOLDS = """
import sys, time
from mulex.folder import open_folder
from sweeps.lease import Lease
with Lease(open_folder(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    """An empty folder of each kind."""
    if request.param == "disk":
        yield open_folder(tmp_path / "sweep")
        return
    yield open_folder("memory://leases/sweep")
    fsspec.filesystem("memory").store.clear()


def leave(folder: Folder, seconds_ago: float = 0.0, **changes: Any) -> None:
    """A lease that somebody left there."""
    moment = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    about = {"holder": "somebody", "pid": os.getpid(), "host": platform.node(), "boot": lease_module._boot()}
    folder.write(NAME, json.dumps(about | {"renewed_at": moment.isoformat()} | changes).encode())


def take(folder: Folder) -> None:
    """Have it for a moment."""
    with Lease(folder):
        pass


def test_it_is_gone_when_the_block_ends(folder: Folder) -> None:
    with Lease(folder):
        assert folder.exists(NAME)
    assert not folder.exists(NAME)
    take(folder)


def test_it_is_gone_when_the_block_fails(folder: Folder) -> None:
    with pytest.raises(RuntimeError, match="on purpose"), Lease(folder):
        raise RuntimeError("on purpose")
    assert not folder.exists(NAME)


def test_a_second_launcher_is_refused_while_the_first_lives(folder: Folder) -> None:
    with Lease(folder):
        with pytest.raises(SweepBusy, match=f"process {os.getpid()} on {platform.node()}"):
            take(folder)
        assert folder.exists(NAME)


def test_a_launcher_on_another_machine_counts_as_alive_until_its_lease_expires(folder: Folder) -> None:
    leave(folder, seconds_ago=25, host="elsewhere", pid=1)
    with pytest.raises(SweepBusy, match="process 1 on elsewhere, last seen 25 s ago"):
        take(folder)
    leave(folder, seconds_ago=31, host="elsewhere", pid=1)
    take(folder)


def test_a_lease_that_was_not_renewed_is_taken_over_even_here(folder: Folder) -> None:
    """Its launcher is frozen, or its process id belongs to another program by now."""
    leave(folder, seconds_ago=31)
    take(folder)


def test_a_lease_from_before_this_machine_started_is_no_proof_of_life(folder: Folder) -> None:
    """The boot differs, so the process id says nothing: it may be another container. It expires."""
    leave(folder, boot="another")
    with pytest.raises(SweepBusy):
        take(folder)


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[]", b'{"holder": "x"}', b"\xff\xfe"])
def test_a_file_that_is_no_lease_is_replaced(rubbish: bytes, folder: Folder) -> None:
    folder.write(NAME, rubbish)
    take(folder)


def test_a_killed_launcher_leaves_it_to_the_next_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(SweepBusy, match=f"process {process.pid}"):
            take(open_folder(tmp_path))
        process.kill()
        process.wait()
        assert (tmp_path / NAME).exists()
        began = time.monotonic()
        take(open_folder(tmp_path))
        assert time.monotonic() - began < 5


def test_it_is_renewed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_module, "RENEW_SECONDS", 0.02)
    with Lease(folder) as lease:
        first = json.loads(folder.read(NAME))
        wait_until(lambda: json.loads(folder.read(NAME))["renewed_at"] > first["renewed_at"], what="a renewal")
        assert json.loads(folder.read(NAME))["holder"] == first["holder"]
        lease.check()


def test_a_lost_lease_is_noticed_and_left_alone(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a launcher that wakes up after another one took the sweep over."""
    monkeypatch.setattr(lease_module, "RENEW_SECONDS", 0.02)
    with Lease(folder) as lease:
        leave(folder, holder="the new one")
        assert lease.lost.wait(10)
        with pytest.raises(SweepBusy, match="taken this sweep over"):
            lease.check()
    assert json.loads(folder.read(NAME))["holder"] == "the new one"


def test_a_lost_lease_is_noticed_before_the_next_renewal_by_who_asks(folder: Folder) -> None:
    with Lease(folder) as lease:
        leave(folder, holder="the new one")
        assert not lease.lost.is_set()
        with pytest.raises(SweepBusy):
            lease.check()
        assert lease.lost.is_set()


def test_of_many_that_begin_together_one_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow writer may come in after another looked; the other then notices that it lost the lease."""
    monkeypatch.setattr(lease_module, "RENEW_SECONDS", 0.05)
    together, over = threading.Barrier(8), threading.Event()
    refused, lost, kept = [], [], []

    def begin() -> None:
        together.wait()
        try:
            with Lease(open_folder(tmp_path)) as lease:
                kept.append(lease)
                while not over.wait(0.01):
                    if lease.lost.is_set():
                        kept.remove(lease)
                        lost.append(lease)
                        return
        except SweepBusy:
            refused.append(1)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(refused) + len(lost) == 7, what="that all but one gave up")
    time.sleep(0.2)
    assert len(kept) == 1
    kept[0].check()
    over.set()
    for thread in threads:
        thread.join()


def test_storage_that_cannot_be_written_for_a_while_does_not_lose_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_module, "RENEW_SECONDS", 0.02)
    folder = open_folder(tmp_path)
    with Lease(folder) as lease:
        write, failed = folder.write, threading.Event()

        def full(name: str, content: bytes) -> None:
            failed.set()
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(folder, "write", full)
        assert failed.wait(10)
        monkeypatch.setattr(folder, "write", write)
        first = json.loads(folder.read(NAME))["renewed_at"]
        wait_until(lambda: json.loads(folder.read(NAME))["renewed_at"] > first, what="a renewal")
        lease.check()
