"""The lease: one launcher a sweep, and what a dead or frozen one left is taken over."""

import contextlib
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

from mulex.store import lease as lease_module
from mulex.store.folder import Folder, StorageError, open_folder
from mulex.store.layout import LEASE, SPEC
from mulex.store.lease import LEASES, Lease, SweepBusy, newest_number
from mulex.store.processes import this_process
from tests.support.sweeps import ROOT, wait_until

HOLDS = """
import sys
from mulex.store.folder import open_folder
from mulex.store.lease import Lease
with Lease(open_folder(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""
FIRST = f"{LEASES}/00000001.json"


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    """An empty folder of each kind."""
    if request.param == "disk":
        yield open_folder(tmp_path / "sweep")
        return
    yield open_folder("memory://leases/sweep")
    fsspec.filesystem("memory").store.clear()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that are renewed, watched and given up a hundred times as fast."""
    monkeypatch.setattr(lease_module, "RENEW_SECONDS", 0.05)
    monkeypatch.setattr(lease_module, "EXPIRY_SECONDS", 0.3)
    monkeypatch.setattr(lease_module, "LOOK_SECONDS", 0.01)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that a slow disk cannot let expire, for tests in which none should."""
    monkeypatch.setattr(lease_module, "EXPIRY_SECONDS", 30.0)


def leave(folder: Folder, number: int = 1, **changes: Any) -> None:
    """Put a lease there that somebody left."""
    about = {"holder": "somebody", **this_process(), "renewed_at": datetime.now(UTC).isoformat()}
    folder.write(f"{LEASES}/{number:08d}.json", json.dumps(about | changes).encode())


def take(folder: Folder) -> int:
    """Have the lease for a moment; gives its number."""
    with Lease(folder) as lease:
        return lease.number


@pytest.fixture
def renewed(folder: Folder, patient: None) -> Iterator[None]:
    """A lease of another host that is renewed while the test runs."""
    leave(folder, host="elsewhere")
    over = threading.Event()

    def renew() -> None:
        count = 0
        while not over.wait(0.02):
            count += 1
            leave(folder, host="elsewhere", pid=12, count=count)

    thread = threading.Thread(target=renew)
    thread.start()
    yield
    over.set()
    thread.join()


def test_nothing_is_left_of_a_launch_that_froze_no_spec(folder: Folder) -> None:
    with Lease(folder):
        assert folder.exists(FIRST)
    assert folder.list("") == []


@pytest.mark.usefixtures("patient")
def test_numbers_grow_with_every_holder(folder: Folder) -> None:
    folder.write(SPEC, b"")
    assert [take(folder) for _ in range(3)] == [1, 2, 3]
    assert folder.list(LEASES) == [f"{LEASES}/00000003.json"]
    assert newest_number(folder) == 3


@pytest.mark.usefixtures("patient")
def test_it_is_given_up_when_the_block_fails(folder: Folder) -> None:
    folder.write(SPEC, b"")
    with pytest.raises(RuntimeError, match="on purpose"), Lease(folder):
        raise RuntimeError("on purpose")
    began = time.monotonic()
    take(folder)
    assert time.monotonic() - began < lease_module.EXPIRY_SECONDS


@pytest.mark.usefixtures("patient")
def test_a_second_launcher_is_refused_while_the_first_lives(folder: Folder) -> None:
    with Lease(folder):
        with pytest.raises(SweepBusy, match=f"process {os.getpid()} on {platform.node()}"):
            take(folder)
        assert folder.exists(FIRST)


@pytest.mark.usefixtures("renewed")
def test_a_launcher_on_another_machine_is_believed_if_its_lease_is_renewed(folder: Folder) -> None:
    with pytest.raises(SweepBusy, match="process 12 on elsewhere"):
        take(folder)


@pytest.mark.usefixtures("renewed")
@pytest.mark.parametrize("hours", [-5, 5])
def test_the_clock_of_another_machine_does_not_matter(hours: int, folder: Folder) -> None:
    """Its lease looks hours old, or comes from the future; it is renewed all the same."""
    moment = datetime.now(UTC) + timedelta(hours=hours)
    leave(folder, host="elsewhere", renewed_at=moment.isoformat())
    with pytest.raises(SweepBusy):
        take(folder)


@pytest.mark.parametrize("hours", [-5, 0, 5])
def test_a_lease_that_stands_still_is_taken_over_after_it_was_watched(hours: int, folder: Folder) -> None:
    moment = datetime.now(UTC) + timedelta(hours=hours)
    leave(folder, 7, host="elsewhere", renewed_at=moment.isoformat())
    said: list[str] = []
    began = time.monotonic()
    with Lease(folder, said.append) as lease:
        assert lease.number == 8
    assert time.monotonic() - began > lease_module.EXPIRY_SECONDS
    assert "on elsewhere may have this sweep" in said[0]


def test_a_frozen_launcher_of_this_machine_loses_it(folder: Folder) -> None:
    """Its process is there, but its lease is not renewed."""
    leave(folder)
    assert take(folder) == 2


@pytest.mark.parametrize("changes", [{"boot": "another"}, {"namespace": "pid:[1]"}, {"host": "elsewhere"}])
def test_a_process_id_of_elsewhere_proves_nothing(changes: dict[str, str], folder: Folder) -> None:
    """The machine was restarted, or it is another container with the same name: its lease is watched."""
    leave(folder, pid=2**22 + 1, **changes)
    said: list[str] = []
    with Lease(folder, said.append):
        assert len(said) == 1


def test_the_process_id_of_another_process_proves_nothing(folder: Folder) -> None:
    """The launcher is dead, and its process id was given to another program."""
    leave(folder, began="1")
    said: list[str] = []
    with Lease(folder, said.append):
        assert said == []


@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"{",
        b"[]",
        b'{"holder": "x"}',
        b"\xff\xfe",
        b'{"pid": "x", "host": 3, "renewed_at": [1]}',
        b"[" * 200_000,
        b'{"pid": ' + b"9" * 6000 + b"}",
    ],
)
def test_a_file_that_is_no_lease_is_replaced(rubbish: bytes, folder: Folder) -> None:
    folder.write(FIRST, rubbish)
    assert take(folder) == 2


def test_the_lease_of_an_earlier_version_is_watched_and_replaced(folder: Folder) -> None:
    about = {"holder": "x", "pid": os.getpid(), "host": platform.node(), "renewed_at": datetime.now(UTC).isoformat()}
    folder.write(LEASE, json.dumps(about).encode())
    said: list[str] = []
    with Lease(folder, said.append):
        assert len(said) == 1
        assert not folder.exists(LEASE)


def old_lease(renewals: int = 0) -> bytes:
    """The lease of an earlier version, which this process holds."""
    about = {"holder": "x", "pid": os.getpid(), "host": platform.node(), "renewed_at": f"for the {renewals}th time"}
    return json.dumps(about).encode()


@pytest.mark.usefixtures("patient")
def test_a_living_launcher_of_an_earlier_version_is_respected(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the sweep was launched with this version before."""
    folder.write(SPEC, b"")
    take(folder)
    over = threading.Event()

    def renew() -> None:
        count = 0
        while not over.wait(0.02):
            count += 1
            folder.write(LEASE, old_lease(count))

    folder.write(LEASE, old_lease())
    thread = threading.Thread(target=renew)
    thread.start()
    try:
        with pytest.raises(SweepBusy, match=f"process {os.getpid()} on {platform.node()}"):
            take(folder)
    finally:
        over.set()
        thread.join()
    assert newest_number(folder) == 1
    monkeypatch.setattr(lease_module, "EXPIRY_SECONDS", 0.3)
    assert take(folder) == 2
    assert not folder.exists(LEASE)


@pytest.mark.usefixtures("patient")
def test_a_launcher_of_an_earlier_version_that_came_later_is_left_the_sweep(folder: Folder) -> None:
    """It does not see the leases of this version, so it would not stop."""
    with Lease(folder) as lease:
        folder.write(LEASE, old_lease())
        wait_until(lambda: lease.is_lost, what="that it is noticed")
    assert folder.read(LEASE) == old_lease()


@pytest.mark.usefixtures("patient")
def test_files_with_other_names_are_no_leases(folder: Folder) -> None:
    folder.write(SPEC, b"")
    for name in ("5.json", "00000007", "more/00000009.json", "+0000003.json", "notes.txt"):
        folder.write(f"{LEASES}/{name}", b"{}")
    with Lease(folder) as lease:
        lease.check()
        assert lease.number == 1
    assert take(folder) == 2


def test_a_lease_that_says_too_much_is_quoted_short_and_plain(folder: Folder) -> None:
    leave(folder, host="\x1b[31m" + "x" * 100_000)
    said: list[str] = []
    with Lease(folder, said.append):
        assert "\x1b" not in said[0]
        assert len(said[0]) < 500


@pytest.mark.usefixtures("patient")
def test_a_sweep_that_was_taken_and_given_up_in_between_is_not_taken_with_an_old_number(tmp_path: Path) -> None:
    """A launcher is slow between looking and creating; meanwhile one launch ends and another one begins."""
    folder, slow = open_folder(tmp_path), open_folder(tmp_path)
    folder.write(SPEC, b"")
    create = slow.create

    with contextlib.ExitStack() as stack:

        def create_late(name: str, content: bytes) -> bool:
            take(folder)
            stack.enter_context(Lease(folder))
            return create(name, content)

        slow.create = create_late  # type: ignore[method-assign]
        with pytest.raises(SweepBusy, match="at the same moment"):
            take(slow)
        assert folder.list(LEASES) == [f"{LEASES}/00000002.json"]


@pytest.mark.usefixtures("patient")
def test_a_killed_launcher_leaves_it_to_the_next_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and a zombie
        said: list[str] = []
        with Lease(open_folder(tmp_path), said.append) as lease:
            assert (lease.number, said) == (2, [])


def test_it_is_renewed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_module, "EXPIRY_SECONDS", 1.5)
    with Lease(folder) as lease:
        first = folder.read(FIRST)
        wait_until(lambda: folder.read(FIRST) != first, what="a renewal")
        time.sleep(2 * lease_module.EXPIRY_SECONDS)
        lease.check()
        assert not lease.is_lost


@pytest.mark.usefixtures("patient")
def test_a_lease_that_another_launcher_took_is_lost(folder: Folder) -> None:
    with Lease(folder) as lease:
        leave(folder, 2)
        wait_until(lambda: lease.is_lost, what="that it is noticed")
        with pytest.raises(SweepBusy, match="another launcher has taken it over"):
            lease.check()
    assert json.loads(folder.read(f"{LEASES}/00000002.json"))["holder"] == "somebody"


def test_a_lost_lease_is_noticed_before_the_next_renewal_by_who_asks(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_module, "RENEW_SECONDS", 60.0)
    monkeypatch.setattr(lease_module, "EXPIRY_SECONDS", 60.0)
    with Lease(folder) as lease:
        leave(folder, 2)
        assert not lease.is_lost
        with pytest.raises(SweepBusy):
            lease.check()
        assert lease.is_lost


@pytest.mark.usefixtures("patient")
def test_of_many_that_begin_together_one_alone_gets_in(tmp_path: Path) -> None:
    """However slow each step is: a number is created once."""
    together, over = threading.Barrier(8), threading.Event()
    refused, got_in = [], []

    def begin(delay: float) -> None:
        folder = open_folder(tmp_path)
        create = folder.create

        def slow(name: str, content: bytes) -> bool:
            time.sleep(delay)
            return create(name, content)

        folder.create = slow  # type: ignore[method-assign]
        together.wait()
        try:
            with Lease(folder) as lease:
                got_in.append(lease.number)
                over.wait()
        except SweepBusy:
            refused.append(1)

    threads = [threading.Thread(target=begin, args=(0.02 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(refused) == 7, what="that all but one gave up")
    over.set()
    for thread in threads:
        thread.join()
    assert got_in == [1]


class Outage:
    """Makes a folder fail in whatever way, until it is over."""

    def __init__(self, folder: Folder, error: Exception) -> None:
        self.folder, self.error, self.failed = folder, error, threading.Event()
        self.write = folder.write
        folder.write = self.fail  # type: ignore[method-assign]

    def fail(self, name: str, content: bytes) -> None:
        self.failed.set()
        raise self.error

    def end(self) -> None:
        self.folder.write = self.write  # type: ignore[method-assign]


@pytest.mark.parametrize("error", [StorageError("no space left"), RuntimeError("a client's own error")])
@pytest.mark.usefixtures("patient")
def test_a_short_outage_does_not_lose_it(error: Exception, tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    with Lease(folder) as lease:
        outage = Outage(folder, error)
        assert outage.failed.wait(10)
        outage.end()
        before = folder.read(FIRST)
        wait_until(lambda: folder.read(FIRST) != before, what="a renewal")
        lease.check()


def test_a_lease_that_could_not_be_renewed_in_time_is_lost(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    with Lease(folder) as lease:
        outage = Outage(folder, StorageError("no route to host"))
        wait_until(lambda: lease.is_lost, 5, "that it is lost")
        outage.end()
        with pytest.raises(SweepBusy, match="could not be renewed"):
            lease.check()


def test_a_renewal_that_hangs_loses_it(tmp_path: Path) -> None:
    """The thread that renews it cannot say so itself."""
    folder = open_folder(tmp_path)
    goes_on = threading.Event()
    with Lease(folder) as lease:
        folder.write = lambda name, content: goes_on.wait(10)  # type: ignore[assignment, method-assign]
        wait_until(lambda: lease.is_lost, 5, "that it is lost")
        goes_on.set()
