"""The launcher's temporary folder, in which Ray Tune keeps what nobody needs after a launch."""

import fcntl
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "mulex-tune-"
LOCK = "lock"
UNLOCKED_SECONDS = 7 * 86400.0  # age at which a folder without a lock is removed; earlier versions made such folders


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a temporary folder for the time of a block; folders that dead launchers left are removed first."""
    remove_leftovers()
    temporary = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
    with temporary as name, (Path(name) / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel lets go of it when this process dies, in whatever way
        yield Path(name) / "tune"


def remove_leftovers() -> None:
    """Remove the temporary folders of launchers that have died."""
    for folder in Path(tempfile.gettempdir()).iterdir():
        if re.fullmatch(rf"{PREFIX}\w+", folder.name):
            with suppress(OSError):
                if _is_abandoned(folder):
                    shutil.rmtree(folder)


def _is_abandoned(folder: Path) -> bool:
    try:
        with (folder / LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return time.time() - folder.stat().st_mtime > UNLOCKED_SECONDS
