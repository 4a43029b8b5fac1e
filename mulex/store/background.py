"""Folds run files in the background of a launch."""

import threading
import time
from collections.abc import Callable
from types import TracebackType

from mulex.store.folder import StorageError
from mulex.store.folding import fold
from mulex.store.lease import SweepBusy
from mulex.store.run_store import RunStore

LOOK_SECONDS = 30.0
"""Between two looks for run files to fold, at least."""
SHARE = 10
"""Looking and folding takes at most one part in so many of a core, on average."""


class BackgroundFolding:
    """Folds run files now and then while a block runs; trouble with the storage is left to those who need it."""

    def __init__(self, store: RunStore, check: Callable[[], None]) -> None:
        """`check` raises SweepBusy if another launcher has the sweep."""
        self._store, self._check = store, check
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._fold_until_stopped, name="folding", daemon=True)

    def __enter__(self) -> "BackgroundFolding":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _fold_until_stopped(self) -> None:
        pause = LOOK_SECONDS
        while not self._stop.wait(pause):
            began = time.monotonic()
            try:
                fold(self._store, check=self._check_and_stop)
            except (SweepBusy, _Stopped):
                return
            except (StorageError, FileNotFoundError):
                pass
            pause = max(LOOK_SECONDS, SHARE * (time.monotonic() - began))

    def _check_and_stop(self) -> None:
        """Stop between two segments if the launch ends."""
        if self._stop.is_set():
            raise _Stopped
        self._check()


class _Stopped(Exception):  # noqa: N818
    """The launch ends; its last folding goes on from here."""
