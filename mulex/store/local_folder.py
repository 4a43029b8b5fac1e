"""A sweep's folder on a disk."""

import errno
import os
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mulex.store.errors import failures
from mulex.store.layout import PART


class LocalFolder:
    """A folder on a disk, NFS included: a file is written beside its name, flushed, then renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = str(path)

    def read(self, name: str) -> bytes:
        with failures("read", f"{self.url}/{name}"):
            return (self.path / name).read_bytes()

    def read_many(self, names: Collection[str], last: int | None = None) -> dict[str, bytes]:
        contents = {}
        for name in names:
            try:
                contents[name] = self.read(name) if last is None else self._read_end(name, last)
            except FileNotFoundError:
                continue
        return contents

    def _read_end(self, name: str, size: int) -> bytes:
        with failures("read", f"{self.url}/{name}"), (self.path / name).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - size))
            return file.read()

    def read_ranges(self, ranges: Sequence[tuple[str, int, int]]) -> Sequence[bytes]:
        parts: dict[int, bytes] = {}
        for name, wanted in _by_file(ranges).items():
            try:
                with failures("read", f"{self.url}/{name}"), (self.path / name).open("rb") as file:
                    for i, start, size in wanted:
                        file.seek(start)
                        parts[i] = file.read(size)
            except FileNotFoundError:
                continue
        return [parts.get(i, b"") for i in range(len(ranges))]

    def open_file(self, name: str) -> IO[bytes]:
        with failures("read", f"{self.url}/{name}"):
            return (self.path / name).open("rb")

    def write(self, name: str, content: bytes) -> None:
        with failures("written", f"{self.url}/{name}"), self._beside(name, content) as beside:
            beside.replace(self.path / name)

    def write_many(self, contents: Mapping[str, bytes]) -> None:
        for name, content in contents.items():
            self.write(name, content)

    def create(self, name: str, content: bytes) -> bool:
        with failures("written", f"{self.url}/{name}"), self._beside(name, content) as beside:
            try:
                os.link(beside, self.path / name)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
                    raise
                return self._create_exclusively(name, content)  # a file system without hard links
            return True

    def _create_exclusively(self, name: str, content: bytes) -> bool:
        try:
            with (self.path / name).open("xb") as file:
                file.write(content)
        except FileExistsError:
            return False
        return True

    @contextmanager
    def _beside(self, name: str, content: bytes) -> Iterator[Path]:
        """Write a file under a passing name, flushed to the disk, and remove that name afterwards."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}{PART}")  # process ids repeat on other machines
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield beside
        finally:
            beside.unlink(missing_ok=True)

    def exists(self, name: str) -> bool:
        with failures("read", f"{self.url}/{name}"):
            return (self.path / name).is_file()

    def is_there(self) -> bool:
        return self.path.is_dir()

    def list(self, under: str) -> list[str]:
        return sorted(self._files(under))

    def stamps(self, under: str) -> dict[str, str]:
        return {name: f"{about.st_size} {about.st_mtime}" for name, about in self._stats(self.list(under))}

    def ages(self, under: str) -> dict[str, float]:
        return {name: time.time() - about.st_mtime for name, about in self._stats(self.list(under))}

    def _stats(self, names: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
        for name in names:
            try:
                with failures("read", f"{self.url}/{name}"):
                    about = (self.path / name).stat()
            except FileNotFoundError:
                continue
            yield name, about

    def sizes(self, under: str) -> dict[str, int]:
        return {name: about.st_size for name, about in self._stats(self.list(under))}

    def folders(self, under: str = "") -> Sequence[str]:
        with failures("listed", f"{self.url}/{under}"), os.scandir(self.path / under) as entries:
            return sorted((Path(under) / entry.name).as_posix() for entry in entries if entry.is_dir())

    def _files(self, under: str, parts: bool = False) -> Iterator[str]:
        """The names of files, or instead those of parts of files that are being written."""
        with failures("listed", f"{self.url}/{under}"):
            for folder, _, files in os.walk(self.path / under, onerror=_raise_unless_gone):
                inside = Path(folder).relative_to(self.path)
                yield from ((inside / file).as_posix() for file in files if file.endswith(PART) == parts)

    def remove(self, name: str) -> None:
        with failures("removed", f"{self.url}/{name}"):
            (self.path / name).unlink(missing_ok=True)

    def remove_many(self, names: Collection[str]) -> None:
        for name in names:
            self.remove(name)
        for table in {(self.path / name).parent for name in names if "/" in name}:
            if table.suffix == ".parquet":  # the files of a table; other folders may be about to get new files
                with suppress(OSError):
                    table.rmdir()

    def remove_parts(self, older_than: float) -> Sequence[str]:
        parts = sorted(self._files("", parts=True))
        old = [name for name, about in self._stats(parts) if time.time() - about.st_mtime >= older_than]
        for name in old:
            self.remove(name)
        return old

    def move(self, name: str, to: str) -> None:
        with failures("moved", f"{self.url}/{name}"):
            (self.path / to).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).replace(self.path / to)


def _raise_unless_gone(error: OSError) -> None:
    """Say that a folder cannot be listed, unless it is just not there: os.walk alone would call it empty."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _by_file(ranges: Sequence[tuple[str, int, int]]) -> dict[str, list[tuple[int, int, int]]]:
    """Group ranges by their file; each has its place in the list, its first byte and its length."""
    grouped: dict[str, list[tuple[int, int, int]]] = {}
    for i, (name, start, size) in enumerate(ranges):
        grouped.setdefault(name, []).append((i, start, size))
    return grouped
