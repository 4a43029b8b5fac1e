"""A folder of a sweep, on a disk or in object storage, in which files appear whole or not at all."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from mulex.store.errors import StorageError
from mulex.store.local_folder import LocalFolder
from mulex.store.remote_folder import RemoteFolder

__all__ = ["Folder", "LocalFolder", "RemoteFolder", "StorageError", "open_folder"]


class Folder(Protocol):
    """Files by name; a name may have slashes. What is not there raises FileNotFoundError, all else StorageError."""

    url: str

    def read(self, name: str) -> bytes:
        """Return the whole content of a file."""

    def read_many(self, names: Collection[str], last: int | None = None) -> dict[str, bytes]:
        """Read files or their last bytes, at once where the storage can; those that are not there are left out."""

    def read_ranges(self, ranges: Sequence[tuple[str, int, int]]) -> Sequence[bytes]:
        """Read parts of files, each by its name, first byte and length; a part that is not there is empty or short."""

    def open_file(self, name: str) -> IO[bytes]:
        """Open a file of which only parts are wanted."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file; a reader sees the old file or the new one, never a part."""

    def write_many(self, contents: Mapping[str, bytes]) -> None:
        """Write files, at once where the storage can; each of them appears whole or not at all."""

    def create(self, name: str, content: bytes) -> bool:
        """Write a file only if there is none of that name; of several writers one alone is told that it did."""

    def exists(self, name: str) -> bool:
        """Say whether there is such a file."""

    def is_there(self) -> bool:
        """Say whether there is such a folder, or anything in it."""

    def list(self, under: str) -> list[str]:
        """Return the names of all files below a name, sorted."""

    def stamps(self, under: str) -> dict[str, str]:
        """Return the same names, each with a text that changes when the file does."""

    def sizes(self, under: str) -> dict[str, int]:
        """Return the same names, each with the file's size in bytes."""

    def folders(self, under: str = "") -> Sequence[str]:
        """Return the names of the folders directly below a name, sorted."""

    def ages(self, under: str) -> dict[str, float]:
        """Return the same names, each with the seconds since the file was written."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def remove_many(self, names: Collection[str]) -> None:
        """Remove files, at once where the storage can; those that are not there are ignored."""

    def remove_parts(self, older_than: float) -> Sequence[str]:
        """Remove what writes that were interrupted this many seconds ago or earlier left, and return the names."""

    def move(self, name: str, to: str) -> None:
        """Rename a file, replacing another one of the new name."""


def open_folder(where: str | Path) -> Folder:
    """Open a folder by its path or by a URL such as s3://bucket/sweep."""
    if isinstance(where, str) and re.match(r"^[a-z][a-z0-9+.-]+://", where) and not where.startswith("file://"):
        return RemoteFolder(where)
    return LocalFolder(Path(str(where).removeprefix("file://")))
