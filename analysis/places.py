"""A sweep's folder, on a disk or in object storage, as files by name."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.errors import AnalysisError


class Place:
    """A folder given as a path or a URL such as s3://bucket/sweep."""

    def __init__(self, where: str) -> None:
        self.url = where.rstrip("/") or "/"
        try:
            self._fs, self._root = fsspec.url_to_fs(self.url)
        except (ValueError, ImportError) as error:
            raise AnalysisError(f"{where}: {error}") from None

    def __str__(self) -> str:
        return self.url

    def _at(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def exists(self, name: str = "") -> bool:
        """Whether there is such a file, or the folder itself."""
        self._fs.invalidate_cache()
        return bool(self._fs.exists(self._at(name)))

    def read(self, name: str) -> bytes:
        """The whole content."""
        return bytes(self._fs.cat_file(self._at(name)))

    def ends(self, names: Collection[str], size: int) -> dict[str, bytes]:
        """The last bytes of files, asked for at once where the storage can; nothing where one cannot be read."""
        found = self._fs.cat_ranges([self._at(name) for name in names], -size, None)
        return {name: end if isinstance(end, bytes) else b"" for name, end in zip(names, found, strict=True)}

    def write(self, name: str, content: bytes) -> str:
        """Put a file there and say where that is."""
        where = f"{self.url}/{name}"
        try:
            self._fs.makedirs(self._root, exist_ok=True)
            self._fs.pipe_file(self._at(name), content)
        except IsADirectoryError:
            raise AnalysisError(f"{where}: is a folder; name a file in it with --out") from None
        except (FileExistsError, NotADirectoryError):
            raise AnalysisError(f"{self.url}: is a file, or in one; name a folder with --out") from None
        except OSError as error:
            reason = error.strerror or error
            raise AnalysisError(f"{where}: cannot be written ({reason}); name another place with --out") from None
        return where

    def list(self, under: str) -> dict[str, str]:
        """The Parquet files below a name, each with a mark that changes when the file does."""
        self._fs.invalidate_cache()
        if not self._fs.exists(self._at(under)):
            return {}
        start = len(self._fs._strip_protocol(self._root).rstrip("/")) + 1
        found: dict[str, Any] = self._fs.find(self._at(under), detail=True)
        names = {path[start:]: about for path, about in found.items() if path.endswith(".parquet")}
        return {name: _mark(about) for name, about in names.items() if not Path(name).name.startswith(".")}

    def table(self, name: str, wanted: Callable[[str], bool] = lambda column: True) -> pa.Table:
        """A Parquet file's columns that are wanted."""
        try:
            with self._fs.open(self._at(name), "rb") as file:
                parquet = pq.ParquetFile(file, read_dictionary=["run"])
                return parquet.read(columns=[column for column in parquet.schema_arrow.names if wanted(column)])
        except FileNotFoundError:
            raise AnalysisError(f"{self.url}: has no {name}") from None
        except (pa.ArrowInvalid, OSError) as error:
            raise AnalysisError(f"{self.url}/{name}: cannot be read as Parquet: {error}") from None


def _mark(about: dict[str, Any]) -> str:
    return f"{about.get('size')} {about.get('mtime') or about.get('LastModified') or about.get('etag')}"
