"""A limit for the memory that a learner's process takes, so that one that leaks ends alone and with a clear message."""

import ctypes
import faulthandler
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from mulex.errors import UserError
from mulex.learners.time_limit import GRACE_SECONDS

LOOK_SECONDS = 0.2  # between two looks at a process
_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryLimitPassed(BaseException):
    """Raised inside code whose process has grown too much. A BaseException, so that `except Exception` lets it pass."""


def resident(pid: int | str = "self") -> int:
    """The bytes of memory that a process has in use; 0 of one that has ended."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE
    except (FileNotFoundError, ProcessLookupError):
        if not (_PROC / "self").exists():
            raise UserError(f"execution.memory_limit: works on Linux alone, this is {sys.platform}") from None
        return 0


def resident_of_group(group: int) -> int:
    """The bytes of memory that all processes of a group have in use."""
    return sum(resident(path.name) for path in _PROC.glob("[0-9]*") if _group(path) == group)


def _group(path: Path) -> int | None:
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[2])
    except (FileNotFoundError, ProcessLookupError):
        return None


def size(count: float) -> str:
    """A number of bytes for messages."""
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


@contextmanager
def memory_limit(
    most: float | None, began: int, stacks: TextIO = sys.stderr, grace: float = GRACE_SECONDS
) -> Iterator[None]:
    """Raise MemoryLimitPassed in the block when this process has grown by more than that many bytes; None is no limit.

    If the block does not return within the grace period, for example because it is stuck in compiled code, the process
    writes the stacks of all threads and ends.

    Args:
        most: The bytes by which the process may grow.
        began: The bytes that it had before.
        stacks: An open file for the stacks.
        grace: Seconds between the exception and the end of the process.
    """
    if most is None:
        yield
        return
    watch = _Watch(most + began, stacks, grace)
    watch.start()
    try:
        try:
            yield
        finally:
            watch.stop()
        if resident() > most + began:  # blocks that are too short to be watched
            raise MemoryLimitPassed
    except MemoryLimitPassed:
        watch.stop()  # it may have been raised just before the watch was stopped
        raise


class _Watch(threading.Thread):
    """Looks at this process, and raises in the thread that made it."""

    def __init__(self, most: float, stacks: TextIO, grace: float) -> None:
        super().__init__(name="memory", daemon=True)
        self._most, self._stacks, self._grace = most, stacks, grace
        self._watched = threading.get_ident()
        self._over, self._lock = threading.Event(), threading.Lock()  # nothing is raised once it is over

    def run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            if resident() > self._most:
                self._raise()
                if not self._over.wait(self._grace):
                    faulthandler.dump_traceback(self._stacks)
                    os._exit(1)

    def stop(self) -> None:
        with self._lock:
            self._over.set()

    def _raise(self) -> None:
        with self._lock:
            if not self._over.is_set():
                passed = ctypes.py_object(MemoryLimitPassed)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._watched), passed)
