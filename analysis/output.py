"""Writes pictures and pages so that a reader finds the old file or the new one, never a part."""

from pathlib import Path

from analysis.errors import AnalysisError
from mulex.store.folder import open_folder


def write_file(where: str, content: bytes) -> str:
    """Write a file, on a disk or in object storage, and return its path.

    Raises:
        AnalysisError: It cannot be written; what was there before is still there.
    """
    folder, slash, name = where.rpartition("/")
    if not name:
        raise AnalysisError(f"{where}: is a folder; name a file in it, such as {where}report.html")
    try:
        open_folder(folder or (slash or ".")).write(name, content)
    except OSError as error:
        raise AnalysisError(f"{where}: {_reason(Path(where), error)}") from None
    return where


def _reason(path: Path, error: OSError) -> str:
    if path.is_dir():
        return "is a folder; name a file in it"
    if not_folder := next((parent for parent in path.parents if parent.is_file()), None):
        return f"{not_folder} is a file, not a folder; name another path"
    return f"cannot be written ({error.strerror or error}); name another path"
