"""One launcher per sweep: a numbered file in its folder says who has it, and is renewed while that launcher lives.

Lease n is the file leases/<n>.json. A launcher takes a sweep by creating the file with the
next number; if several try at once, the storage lets only one succeed. The number is also a fencing number: every task
and every run file of a launch carries it, and a worker that sees a higher number stops writing.

No clocks of two machines are compared. Whoever finds a lease watches whether it is renewed: its holder renews it every
RENEW_SECONDS, and gives the sweep up if that fails for EXPIRY_SECONDS, so a lease that stood still for longer is dead.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from mulex.errors import UserError
from mulex.messages import printable
from mulex.store.folder import Folder, StorageError
from mulex.store.layout import LEASE, LEASES, SPEC
from mulex.store.processes import is_certainly_dead, this_process

RENEW_SECONDS = 5.0
EXPIRY_SECONDS = 45.0  # without a renewal, after which a holder gives the sweep up
LOOK_SECONDS = 0.5  # between two looks at another launcher's lease
_LONGEST_HOLDER = 200  # characters of what a lease says of its holder


class SweepBusy(UserError):  # noqa: N818
    """Another launcher has the sweep."""


@dataclass(frozen=True)
class _Found:
    """A lease in the folder. Number 0 is lease.json, the single lease of earlier versions."""

    number: int
    name: str
    content: bytes

    @property
    def about(self) -> dict[str, Any]:
        """What the lease says; nothing if it cannot be read."""
        try:
            about = json.loads(self.content)
        except (ValueError, RecursionError):
            return {}
        return about if isinstance(about, dict) else {}

    @property
    def is_free(self) -> bool:
        """Whether its holder has given it up, or is certainly dead."""
        return self.about.get("released") is True or is_certainly_dead(self.about)

    @property
    def holder(self) -> str:
        pid, host = self.about.get("pid", "unknown"), self.about.get("host", "an unknown host")
        return printable(f"process {pid} on {host}", _LONGEST_HOLDER)


class Lease:
    """Holds a sweep while a block runs."""

    def __init__(self, folder: Folder, say: Callable[[str], None] = lambda line: None) -> None:
        """`say` is told if taking the lease means to wait and see whether another launcher is alive."""
        self.folder, self._say = folder, say
        self.number = 0
        self._about = {"holder": uuid.uuid4().hex, **this_process()}
        self._renewed = time.monotonic()
        self._why_lost: str | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_stopped, name="lease", daemon=True)

    def __enter__(self) -> "Lease":
        found = self._wait_until_free()
        self.number = max((lease.number for lease in found), default=0) + 1
        self._renewed = time.monotonic()
        if not self.folder.create(_name(self.number), self._content()):
            raise SweepBusy(f"{self.folder.url}: another launcher took this sweep at the same moment")
        if newest_number(self.folder) > self.number:  # somebody took it, and removed the one before, in the meantime
            self.folder.remove(_name(self.number))
            raise SweepBusy(f"{self.folder.url}: another launcher took this sweep at the same moment")
        for lease in found:
            self.folder.remove(lease.name)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        with suppress(StorageError):  # a lease that cannot be given up dies with this process
            if not self.is_lost and not self._is_superseded():
                self._release()

    def _release(self) -> None:
        """Keep the number for the next launcher, unless nothing was launched."""
        if self.folder.exists(SPEC):
            self.folder.write(_name(self.number), self._content(released=True))
        else:
            self.folder.remove(_name(self.number))

    @property
    def is_lost(self) -> bool:
        """Whether another launcher has the sweep, or may have it because the lease could not be renewed in time."""
        if self._why_lost is None and time.monotonic() - self._renewed > EXPIRY_SECONDS:
            self._why_lost = f"its lease could not be renewed for {EXPIRY_SECONDS:.0f} s"
        return self._why_lost is not None

    def check(self) -> None:
        """Raise SweepBusy if the lease is lost, as happens to a launcher that was frozen."""
        if not self.is_lost and self._is_superseded():
            self._why_lost = "another launcher has taken it over"
        if self.is_lost:
            raise SweepBusy(f"{self.folder.url}: this launcher no longer has the sweep ({self._why_lost}) and stops")

    def _wait_until_free(self) -> list[_Found]:
        """Return the leases that may be replaced: those given up, and those that stood still while they were watched.

        Raise SweepBusy if one is renewed.
        """
        found = now = _look(self.folder)
        held = [lease.holder for lease in found if not lease.is_free]
        if not held:
            return found
        patience = EXPIRY_SECONDS + RENEW_SECONDS
        self._say(f"{self.folder.url}: {held[0]} may have this sweep; watching it for up to {patience:.0f} s")
        until = time.monotonic() + patience
        while time.monotonic() < until and not all(lease.is_free for lease in now):
            time.sleep(LOOK_SECONDS)
            now = _look(self.folder)
            for lease in now:
                if lease not in found and not lease.is_free:
                    raise SweepBusy(
                        f"{self.folder.url}: another launcher has this sweep ({lease.holder}); wait, or stop it"
                    )
        return now

    def _content(self, released: bool = False) -> bytes:
        moment = datetime.now(UTC).isoformat()
        return json.dumps(self._about | {"released": released, "renewed_at": moment}).encode()

    def _is_superseded(self) -> bool:
        """Whether a newer lease is there; a launcher of an earlier version knows only its own kind of lease."""
        return newest_number(self.folder) > self.number or self.folder.exists(LEASE)

    def _renew_until_stopped(self) -> None:
        while not self._stop.wait(RENEW_SECONDS) and not self.is_lost:
            began = time.monotonic()
            try:
                if self._is_superseded():
                    self._why_lost = "another launcher has taken it over"
                    return
                self.folder.write(_name(self.number), self._content())
            except Exception:  # storage may come back in time, and a thread that dies would lose the lease for sure
                continue
            self._renewed = began


def newest_number(folder: Folder) -> int:
    """The fencing number of the newest launch of a sweep; 0 before the first."""
    numbers = [_number(name) for name in folder.list(LEASES)]
    return max(numbers, default=0)


def _look(folder: Folder) -> list[_Found]:
    """The newest lease, and that of an earlier version; those that are there."""
    number = newest_number(folder)
    names = {LEASE: 0} | ({_name(number): number} if number else {})
    return [_Found(names[name], name, content) for name, content in folder.read_many(names).items()]


def _name(number: int) -> str:
    return f"{LEASES}/{number:08d}.json"


def _number(name: str) -> int:
    """The number of a lease; 0 for any other file."""
    stem = name.rpartition("/")[2].removesuffix(".json")
    number = int(stem) if stem.isascii() and stem.isdigit() else 0
    return number if name == _name(number) else 0
