"""Which sweeps are behind the paths that were named: sweeps themselves, and folders or prefixes that hold some."""

from collections.abc import Iterable, Sequence

from analysis.errors import AnalysisError
from mulex.settings import digest
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import RUNS_TABLE, SPEC

DEPTH = 3
"""How many levels below a named folder are searched."""
MOST_FOLDERS = 5_000
"""How many folders below a named one are looked at, so that naming / by mistake ends soon."""


def find_sweeps(paths: Sequence[str]) -> dict[str, Folder]:
    """Find the sweeps behind some paths.

    Args:
        paths: Sweeps, or folders (or bucket prefixes) with sweeps at most three levels below them.

    Returns:
        The folder of each sweep by its key, a short readable name that is part of the page's links.

    Raises:
        AnalysisError: A path does not exist, or there is no sweep at or below it.
    """
    found: dict[str, Folder] = {}
    for path in dict.fromkeys(paths):
        root = open_folder(path)
        if not root.is_there():
            raise AnalysisError(f"{path}: no such folder")
        below = list(_sweeps_below(root))
        if not below:
            raise AnalysisError(
                f"{path}: neither a sweep nor a folder of sweeps: no {SPEC} and no {RUNS_TABLE} in it "
                f"or in the {DEPTH} levels below it"
            )
        _name(found, root, below)
    return found


def _sweeps_below(root: Folder) -> Iterable[str]:
    """The names of the sweeps at or below a folder; the empty name is the folder itself."""
    level, seen = [""], 0
    for depth in range(DEPTH + 1):
        below: list[str] = []
        for name in level:
            seen += 1
            if _is_sweep(root, name):
                yield name
            elif depth < DEPTH and seen < MOST_FOLDERS:
                below += [child for child in root.folders(name) if not child.rpartition("/")[2].startswith(".")]
        level = below


def _is_sweep(root: Folder, name: str) -> bool:
    start = f"{name}/" if name else ""
    return root.exists(f"{start}{SPEC}") or root.exists(f"{start}{RUNS_TABLE}")


def _name(found: dict[str, Folder], root: Folder, below: Iterable[str]) -> None:
    """Add sweeps under keys made of their names; a hash is added where a key is taken by another sweep."""
    there = {folder.url for folder in found.values()}
    for name in below:
        folder = open_folder(f"{root.url.rstrip('/')}/{name}") if name else root
        if folder.url in there:
            continue
        words = name or _last_part(root.url)
        key = "".join(c if c.isalnum() or c in "-_." else "-" for c in words).strip(".") or "sweep"
        found[f"{key}-{digest(folder.url)[:6]}" if key in found else key] = folder


def _last_part(url: str) -> str:
    if "://" in url:
        return url.rstrip("/").rpartition("/")[2]
    from pathlib import Path

    return Path(url).resolve().name
