"""A folder of a sweep, on a disk or in object storage, in which files appear whole or not at all."""

import os
import re
import uuid
from pathlib import Path
from typing import Any, Protocol

from mulex.errors import UserError

PART = ".part"


class Folder(Protocol):
    """Files by name; a name may have slashes. What is not there raises FileNotFoundError."""

    url: str

    def read(self, name: str) -> bytes:
        """The whole content."""

    def write(self, name: str, content: bytes) -> None:
        """Put it there; a reader sees the old file or the new one, never a part."""

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""

    def list(self, under: str) -> list[str]:
        """The names of all files below a name, sorted."""

    def remove(self, name: str) -> None:
        """Take it away, if it is there."""

    def move(self, name: str, to: str) -> None:
        """Give it another name."""


class LocalFolder:
    """On a disk, NFS included: write beside, flush, rename."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = str(path)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}{PART}")  # process ids repeat on other machines
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)

    def exists(self, name: str) -> bool:
        return (self.path / name).is_file()

    def list(self, under: str) -> list[str]:
        names = []
        for folder, _, files in os.walk(self.path / under):
            inside = Path(folder).relative_to(self.path).as_posix()
            names += [f"{inside}/{file}" for file in files if not file.endswith(PART)]
        return sorted(names)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def move(self, name: str, to: str) -> None:
        (self.path / to).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).replace(self.path / to)


class RemoteFolder:
    """In object storage, where a file is put there whole by its nature; through fsspec."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url.rstrip("/")
        try:
            filesystem, root = fsspec.url_to_fs(self.url)
        except (ImportError, ValueError) as error:  # no such protocol, or its package is not installed
            raise UserError(f"{url}: cannot be opened: {error}") from None
        self._fs: Any = filesystem
        self._root = root.rstrip("/")

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def read(self, name: str) -> bytes:
        return bytes(self._fs.cat_file(self._at(name)))

    def write(self, name: str, content: bytes) -> None:
        self._fs.pipe_file(self._at(name), content)

    def exists(self, name: str) -> bool:
        self._fs.invalidate_cache()
        return bool(self._fs.isfile(self._at(name)))

    def list(self, under: str) -> list[str]:
        self._fs.invalidate_cache()
        start = self._fs._strip_protocol(self._root).rstrip("/") + "/"
        return sorted(path.removeprefix(start) for path in self._fs.find(self._at(under)))

    def remove(self, name: str) -> None:
        if self.exists(name):
            self._fs.rm_file(self._at(name))

    def move(self, name: str, to: str) -> None:
        self._fs.mv(self._at(name), self._at(to))


def open_folder(place: str | Path) -> Folder:
    """From a path or a URL such as s3://bucket/sweep."""
    if isinstance(place, str) and re.match(r"^[a-z][a-z0-9+.-]+://", place) and not place.startswith("file://"):
        return RemoteFolder(place)
    return LocalFolder(Path(str(place).removeprefix("file://")))
