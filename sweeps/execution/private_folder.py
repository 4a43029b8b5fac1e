"""The folder in which an embedded Ray keeps its sockets, its logs and uploaded code, closed to other users.

Ray makes its session folders writable for everybody, so another user of the machine could replace the code that its
workers run. They are harmless inside a folder that only its owner can enter.
"""

import os
import stat
import sys
from pathlib import Path

from mulex.errors import UserError


def private_ray_folder() -> Path:
    """Return a folder for Ray that only this user can enter; it is made if it is not there.

    It is RAY_TMPDIR if that is private already, else a folder below RAY_TMPDIR or below the system's temporary folder.
    """
    is_linux = sys.platform.startswith("linux")  # a Mac's TMPDIR is too long for the sockets below it
    elsewhere = os.environ.get("TMPDIR") if is_linux else None
    base = Path(os.environ.get("RAY_TMPDIR") or elsewhere or "/tmp").absolute()
    if base.is_dir() and is_private(base):
        return base
    folder = base / f"mulex-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_own(folder):
            folder.chmod(0o700)
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be made for Ray's files ({error}); set RAY_TMPDIR to another folder"
        ) from None
    if not is_private(folder):
        raise UserError(f"{folder}: belongs to another user; set RAY_TMPDIR to a folder of your own for Ray's files")
    return folder


def is_private(folder: Path) -> bool:
    """Say whether a folder is this user's own and closed to all others."""
    return _is_own(folder) and not folder.stat().st_mode & 0o077


def _is_own(folder: Path) -> bool:
    about = folder.lstat()  # not what a link of somebody else points to
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
