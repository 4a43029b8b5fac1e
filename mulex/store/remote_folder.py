"""A sweep's folder in object storage."""

import inspect
import io
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import IO, Any

from mulex.errors import UserError
from mulex.store.errors import failures

CONNECTIONS = 64
"""Requests that are under way at the same time; S3's client has 10 by default."""
AT_ONCE = 1000
"""Files that are removed by one request."""
SMALL = 2**26
"""Bytes of a file that is fetched whole when it is opened; parts of it would take several requests, one by one."""


def _options(url: str) -> dict[str, Any]:
    return {"config_kwargs": {"max_pool_connections": CONNECTIONS}} if url.startswith("s3://") else {}


class RemoteFolder:
    """A prefix in object storage, where a file is put whole by its nature; through fsspec."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url.rstrip("/")
        try:
            filesystem, root = fsspec.url_to_fs(self.url, **_options(self.url))
        except (ImportError, ValueError) as error:  # no such protocol, or its package is not installed
            raise UserError(f"{url}: cannot be opened: {error}") from None
        self._fs: Any = filesystem
        self._root = root.rstrip("/")
        self._is_s3 = self.url.startswith("s3://")
        # a client that may fetch a file in several parts first asks how large it is
        self._whole: dict[str, Any] = {"max_concurrency": 1} if self._is_s3 else {}

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    def read(self, name: str) -> bytes:
        with failures("read", f"{self.url}/{name}"):
            return bytes(self._fs.cat_file(self._at(name), **self._whole))

    def read_many(self, names: Collection[str], last: int | None = None) -> dict[str, bytes]:
        with failures("read", f"{self.url}/"):
            paths = [self._at(name) for name in names]
            starts = None if last is None else -last
            contents = self._fs.cat_ranges(paths, starts, None, on_error="return", **self._whole) if paths else []
        there = {}
        for name, content in zip(names, contents, strict=True):
            if isinstance(content, FileNotFoundError):
                continue
            with failures("read", f"{self.url}/{name}"):
                if isinstance(content, BaseException):
                    raise content
                there[name] = bytes(content)
        return there

    def read_ranges(self, ranges: Sequence[tuple[str, int, int]]) -> Sequence[bytes]:
        with failures("read", f"{self.url}/"):
            paths = [self._at(name) for name, _, _ in ranges]
            starts, ends = [start for _, start, _ in ranges], [start + size for _, start, size in ranges]
            parts = self._fs.cat_ranges(paths, starts, ends, on_error="return") if paths else []
        for (name, _, _), part in zip(ranges, parts, strict=True):
            if isinstance(part, BaseException) and not isinstance(part, FileNotFoundError):
                with failures("read", f"{self.url}/{name}"):
                    raise part
        return [b"" if isinstance(part, BaseException) else bytes(part) for part in parts]

    def open_file(self, name: str) -> IO[bytes]:
        with failures("read", f"{self.url}/{name}"):
            self._fs.invalidate_cache()
            about = self._fs.info(self._at(name))
            if about["type"] == "file" and int(about.get("size") or 0) <= SMALL:
                return io.BytesIO(self._fs.cat_file(self._at(name), **self._whole))
            opened: IO[bytes] = self._fs.open(self._at(name), "rb")
            return opened

    def write(self, name: str, content: bytes) -> None:
        with failures("written", f"{self.url}/{name}"):
            self._fs.pipe_file(self._at(name), content)

    def write_many(self, contents: Mapping[str, bytes]) -> None:
        with failures("written", f"{self.url}/"):
            self._fs.pipe({self._at(name): content for name, content in contents.items()})

    def create(self, name: str, content: bytes) -> bool:
        with failures("written", f"{self.url}/{name}"):
            if not self._has_conditional_writes():
                if self.exists(name):
                    return False
                self._fs.pipe_file(self._at(name), content)
                return True
            try:
                self._fs.pipe_file(self._at(name), content, mode="create")
            except FileExistsError:
                # a client that lost the answer to its first try asks again, and then finds its own file
                return self.read(name) == content
            return True

    def _has_conditional_writes(self) -> bool:
        method = self._fs._pipe_file if self._fs.async_impl else self._fs.pipe_file
        return "mode" in inspect.signature(method).parameters

    def exists(self, name: str) -> bool:
        with failures("read", f"{self.url}/{name}"):
            self._fs.invalidate_cache()
            try:
                return bool(self._fs.info(self._at(name))["type"] == "file")
            except FileNotFoundError:  # isfile() would say the same of a bucket that denies or does not answer
                return False

    def is_there(self) -> bool:
        with failures("read", self.url):
            self._fs.invalidate_cache()
            return bool(self._fs.exists(self._root))

    def list(self, under: str) -> list[str]:
        return sorted(self._found(under))

    def stamps(self, under: str) -> dict[str, str]:
        return {
            name: f"{about.get('size')} {about.get('mtime') or about.get('LastModified') or about.get('created')}"
            for name, about in sorted(self._found(under).items())
        }

    def sizes(self, under: str) -> dict[str, int]:
        return {name: int(about.get("size") or 0) for name, about in sorted(self._found(under).items())}

    def ages(self, under: str) -> dict[str, float]:
        now = datetime.now(UTC)
        written = {
            name: about.get("LastModified") or about.get("created") for name, about in self._found(under).items()
        }
        return {name: (now - moment).total_seconds() if moment else 0.0 for name, moment in sorted(written.items())}

    def remove_parts(self, older_than: float) -> Sequence[str]:
        return ()  # an object is there as a whole or not at all

    def folders(self, under: str = "") -> Sequence[str]:
        with failures("listed", f"{self.url}/{under}"):
            self._fs.invalidate_cache()
            start = self._fs._strip_protocol(self._root).rstrip("/") + "/"
            entries = self._fs.ls(self._at(under), detail=True)
            return sorted(e["name"].rstrip("/").removeprefix(start) for e in entries if e["type"] == "directory")

    def _found(self, under: str) -> dict[str, Any]:
        with failures("listed", f"{self.url}/{under}"):
            self._fs.invalidate_cache()
            start = self._fs._strip_protocol(self._root).rstrip("/") + "/"
            if self._is_s3 and under:  # of a path that has nothing below it, it would also ask whether it is a file
                found = self._fs.find(self._root, prefix=f"{under.rstrip('/')}/", detail=True)
            else:
                found = self._fs.find(self._at(under), detail=True)
            files = {path: about for path, about in found.items() if about.get("type") != "directory"}  # s3fs may race
            return {path.removeprefix(start): about for path, about in files.items()}

    def remove(self, name: str) -> None:
        with failures("removed", f"{self.url}/{name}"):
            if self.exists(name):
                self._fs.rm_file(self._at(name))

    def remove_many(self, names: Collection[str]) -> None:
        there = sorted(set(names))
        with failures("removed", f"{self.url}/"):
            for start in range(0, len(there), AT_ONCE):
                paths = [self._at(name) for name in there[start : start + AT_ONCE]]
                try:
                    self._fs.rm(paths)
                except FileNotFoundError:  # somebody else has removed some of them
                    for name in there[start : start + AT_ONCE]:
                        self.remove(name)

    def move(self, name: str, to: str) -> None:
        with failures("moved", f"{self.url}/{name}"):
            self._fs.mv(self._at(name), self._at(to))
