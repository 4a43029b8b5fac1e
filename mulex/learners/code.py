"""The user's own code (execution.code): what it is, so that a run id can name it, and how a worker finds it."""

import hashlib
import importlib
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mulex.errors import UserError

MOST_BYTES = 100_000_000
_IGNORED_FOLDERS = {"__pycache__", ".git", ".hg", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
_IGNORED_ENDS = (".pyc", ".pyo", "~", ".swp")


@dataclass(frozen=True)
class Code:
    """A folder of code as it was at one moment."""

    folder: str
    checksum: str
    """Of the names and contents of all its files; the same wherever the folder is and whenever it was copied."""
    commit: str | None
    """The commit of the git checkout that the folder is in, if it is in one."""
    dirty: bool | None
    """Whether the folder differs from that commit; None outside a checkout."""

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def read_code(folder: str | Path) -> Code:
    """Look at a folder of code; one that is not there or too large is the user's mistake."""
    path = Path(folder).expanduser().resolve()
    if not path.is_dir() and not path.is_file():
        raise UserError(f"execution.code: {folder} is not a folder; name the one that holds your packages or modules")
    return Code(str(path), checksum(path), *_git(code_root(path)))


def code_root(path: str | Path) -> Path:
    """The folder to import from: the code's own, or that of a single module; a package is named by its __init__.py."""
    path = Path(path).expanduser().resolve()
    if not path.is_file():
        return path
    return path.parent.parent if path.name == "__init__.py" else path.parent


def checksum(folder: Path) -> str:
    """SHA-256 over the files by name, without caches and version control."""
    total, root = hashlib.sha256(), code_root(folder)
    for path in code_files(folder):
        name, content = path.relative_to(root).as_posix().encode(), path.read_bytes()
        total.update(b"%d %s %d " % (len(name), name, len(content)))
        total.update(content)
    return total.hexdigest()[:16]


def code_files(folder: Path) -> list[Path]:
    """Every file that counts, sorted by name; more than 100 MB is refused."""
    if folder.is_file() and folder.name != "__init__.py":
        return [folder]
    folder = folder.parent if folder.is_file() else folder
    found, size = [], 0
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _IGNORED_FOLDERS and not name.endswith(".egg-info")]
        for name in names:
            path = Path(root, name)
            if name.endswith(_IGNORED_ENDS) or not path.is_file():
                continue
            found.append(path)
            size += path.stat().st_size
            if size > MOST_BYTES:
                raise UserError(
                    f"execution.code: {folder} holds more than {MOST_BYTES // 10**6} MB ({path.relative_to(folder)} "
                    "is where it was passed); name a folder with code alone"
                )
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def use_code(folder: str | Path) -> None:
    """Let this process import from the folder, before anything else of the same name."""
    path = str(code_root(folder))
    if path in sys.path:
        sys.path.remove(path)
    sys.path.insert(0, path)
    importlib.invalidate_caches()


def _git(folder: Path) -> tuple[str | None, bool | None]:
    commit = _git_output(folder, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    changed = _git_output(folder, "status", "--porcelain", "--", ".")
    return commit.strip(), bool(changed is None or changed.strip())


def _git_output(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError):
        return None
