"""Folders for the temporary files of runs, which are removed also after their process has died."""

import fcntl
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TextIO

PREFIX = "mulex-run-"
_LOCK, _FILES = "lock", "files"
_held: dict[Path, TextIO] = {}


def new_scratch(run_id: str) -> Path:
    """Make a folder for a run on this machine's own disk; folders of dead processes are removed first."""
    sweep_scratch()
    whole = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{run_id}-"))
    lock = (whole / _LOCK).open("w")  # the kernel lets go of it when this process dies, in whatever way
    fcntl.flock(lock, fcntl.LOCK_EX)
    _held[whole / _FILES] = lock
    (whole / _FILES).mkdir()
    return whole / _FILES


def remove_scratch(scratch: Path) -> None:
    """Remove a run's folder with everything in it."""
    lock = _held.pop(scratch, None)
    shutil.rmtree(scratch if lock is None else scratch.parent, ignore_errors=True)
    if lock is not None:
        lock.close()


def sweep_scratch() -> None:
    """Remove the folders of this user's runs whose process has died."""
    for entry in os.scandir(tempfile.gettempdir()):
        if re.fullmatch(rf"{PREFIX}[0-9a-f]+-\w+", entry.name):
            with suppress(OSError), (Path(entry.path) / _LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry.path)
