"""A time limit for code that may hang.

In the main thread a timer signal raises inside the hanging code, also while it sleeps or waits. In other threads
Python can only raise between two instructions. If the code still does not return, for example because it is stuck in
compiled code, the process writes the stacks of all threads and ends: its worker is then replaced as after any death.
"""

import ctypes
import faulthandler
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

GRACE_SECONDS = 30.0


class TimeLimitPassed(BaseException):
    """Raised inside code that took too long. A BaseException, so that `except Exception` in it does not swallow it."""


@contextmanager
def time_limit(seconds: float | None, stacks: TextIO = sys.stderr, grace: float = GRACE_SECONDS) -> Iterator[None]:
    """Raise TimeLimitPassed in the block after that many seconds; None is no limit.

    Args:
        seconds: How long the block may take.
        stacks: An open file for the stacks if the block cannot be interrupted; standard error unless given.
        grace: Seconds between the exception and the end of the process.
    """
    if seconds is None:
        yield
        return
    faulthandler.dump_traceback_later(seconds + grace, exit=True, file=stacks)
    try:
        guarded = _signal_limit if threading.current_thread() is threading.main_thread() else _thread_limit
        with guarded(seconds):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def _signal_limit(seconds: float) -> Iterator[None]:
    """A timer signal; a timer that was set before goes on afterwards."""

    def raise_it(*_: Any) -> None:
        raise TimeLimitPassed

    before = signal.signal(signal.SIGALRM, raise_it)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    started = time.monotonic()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if remaining:
            signal.setitimer(signal.ITIMER_REAL, max(remaining - (time.monotonic() - started), 1e-3), interval)


@contextmanager
def _thread_limit(seconds: float) -> Iterator[None]:
    thread = threading.get_ident()
    lock = threading.Lock()  # the exception is never raised after the block

    def raise_it() -> None:
        with lock:
            if not over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeLimitPassed))

    over: list[bool] = []
    timer = threading.Timer(seconds, raise_it)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over.append(True)
        timer.cancel()
