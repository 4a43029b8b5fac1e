"""One launcher a sweep: a file in its folder says who has it, and is renewed while that launcher lives."""

import json
import os
import platform
import threading
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from mulex.errors import UserError
from mulex.folder import Folder

NAME = "lease.json"
RENEW_SECONDS = 5.0
LIVES_SECONDS = 30.0


class SweepBusy(UserError):  # noqa: N818
    """Another launcher has the sweep."""


class Lease:
    """Hold a sweep while a block runs."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.holder = folder, uuid.uuid4().hex
        self.lost = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def __enter__(self) -> "Lease":
        found = _read(self.folder)
        if found is not None and _is_live(found):
            raise SweepBusy(
                f"{self.folder.url}: another launcher has this sweep (process {found['pid']} on {found['host']}, "
                f"last seen {_age(found):.0f} s ago); wait for it, or stop it"
            )
        self._write()
        time.sleep(0.05)  # if two began together, the later writer has it
        if (_read(self.folder) or {}).get("holder") != self.holder:
            raise SweepBusy(f"{self.folder.url}: another launcher took this sweep at the same moment")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        with suppress(OSError):  # storage that cannot be written keeps it until it expires
            if (_read(self.folder) or {}).get("holder") == self.holder:
                self.folder.remove(NAME)

    def check(self) -> None:
        """Raise SweepBusy if another launcher has taken the sweep over, as happens to one that was frozen."""
        if self.lost.is_set() or (_read(self.folder) or {}).get("holder") != self.holder:
            self.lost.set()
            raise SweepBusy(f"{self.folder.url}: another launcher has taken this sweep over; this one leaves it alone")

    def _write(self) -> None:
        about = {"holder": self.holder, "pid": os.getpid(), "host": platform.node(), "boot": _boot()}
        about["renewed_at"] = datetime.now(UTC).isoformat()
        self.folder.write(NAME, json.dumps(about).encode())

    def _renew(self) -> None:
        while not self._stop.wait(RENEW_SECONDS):
            try:
                if (_read(self.folder) or {}).get("holder") != self.holder:
                    self.lost.set()
                    return
                self._write()
            except OSError:
                continue  # storage may come back; the launch itself stops on what it cannot write


def _read(folder: Folder) -> dict[str, Any] | None:
    try:
        found = json.loads(folder.read(NAME))
        return found if isinstance(found, dict) and {"holder", "pid", "host", "renewed_at"} <= set(found) else None
    except (FileNotFoundError, ValueError):
        return None


def _age(found: dict[str, Any]) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(found["renewed_at"])).total_seconds()


def _is_live(found: dict[str, Any]) -> bool:
    """Renewed lately; on this machine also: by a process that still runs."""
    if _age(found) > LIVES_SECONDS:
        return False
    here = found["host"] == platform.node() and found.get("boot") == _boot()
    return not here or _runs(found["pid"])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""
