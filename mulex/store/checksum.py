"""The checksum inside a Parquet file: the SHA-256 of the whole file with the checksum itself blank.

It is an entry of the file's metadata, which Parquet puts at the end. So one flipped bit anywhere, or a missing byte,
makes a file count as damaged.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

KEY = b"mulex.seal"
"""The metadata key; files on disk have it, so it keeps its old name."""
MARK = b"sha256:"
BLANK = MARK + b"0" * 64
FOOTER_BYTES = 2**12
"""The checksum is surely within this many bytes at the end of a run file."""
LARGEST_FOOTER = 2**28
"""And of any other file within so many."""
BLOCK_BYTES = 2**20
JUDGED_VALUES = 1000
"""As many values of a column tell how it is best encoded."""


def parquet_with_checksum(table: pa.Table, metadata: dict[bytes, bytes], store_schema: bool = True) -> bytes:
    """A table as the content of a Parquet file, with these metadata entries and a checksum."""
    return parquet_of_groups([table], table.schema, metadata, store_schema)


def parquet_of_groups(
    groups: Iterable[pa.Table], schema: pa.Schema, metadata: dict[bytes, bytes], store_schema: bool = True
) -> bytes:
    """The same for a table that comes in pieces, of which only one is in memory at a time; each is a row group.

    Every page has a checksum of its own as well, for readers of single columns. The first piece decides how columns are
    encoded.
    """
    file, pieces = io.BytesIO(), iter(groups)
    first = next(pieces, None)
    settings: dict[str, Any] = {"compression": "zstd", "store_schema": store_schema, "write_page_checksum": True}
    if first is not None:
        settings |= _encodings(first)
    with pq.ParquetWriter(file, schema, **settings) as writer:
        for group in chain([] if first is None else [first], pieces):
            writer.write_table(group)
        writer.add_key_value_metadata({**metadata, KEY: BLANK})
    content = file.getbuffer()
    start = _find_last(content, BLANK)
    content[start : start + len(BLANK)] = _checksum(content, start)
    del content  # the buffer must be free before the file is read
    return file.getvalue()


def _encodings(table: pa.Table) -> dict[str, Any]:
    """Split numbers by bytes where a dictionary would have more than half as many entries as there are values.

    Losses and times are such columns. The bytes of their exponents compress well together, so the file is smaller.
    """
    columns = zip(table.column_names, table.columns, strict=True)
    split = [name for name, column in columns if pa.types.is_floating(column.type) and _mostly_differ(column)]
    others = [name for name in table.column_names if name not in split]
    return {"use_dictionary": others, "use_byte_stream_split": split} if split else {}


def _mostly_differ(column: pa.ChunkedArray) -> bool:
    """Return whether most of a column's first values are different ones."""
    values = column.drop_null().slice(0, JUDGED_VALUES)
    return bool(2 * pc.count_distinct(values).as_py() > len(values))


def read_parquet(file: pq.ParquetFile, columns: list[str] | None = None) -> pa.Table:
    """Return these columns of a Parquet file in memory; all of them by default.

    It is read in this thread. A thread of Arrow's pool may still hold the Python object behind the file when the
    interpreter ends, and a C++ thread that asks a finished interpreter for its lock aborts the process.
    """
    return file.read(columns=columns, use_threads=False)


def _find_last(content: memoryview, wanted: bytes) -> int:
    """Where some bytes are last, looked for from the end without a copy of the whole."""
    size = FOOTER_BYTES
    while True:
        start = max(0, len(content) - size)
        found = bytes(content[start:]).rfind(wanted)
        if found >= 0 or start == 0:
            return found if found < 0 else start + found
        size *= 16


def checksum_in(content: bytes) -> str:
    """The checksum that a file, or the end of one, says it has; empty where it says none."""
    start = content.rfind(MARK)
    return content[start : start + len(BLANK)].decode(errors="replace") if start >= 0 else ""


def is_whole(content: bytes) -> bool:
    """Whether a file has a checksum, and it fits the content."""
    start = content.rfind(MARK)
    return start >= 0 and _checksum(memoryview(content), start) == content[start : start + len(BLANK)]


def is_whole_file(file: IO[bytes]) -> bool | None:
    """The same for a file that is read block by block; None if it has no checksum."""
    end = file.seek(0, io.SEEK_END)
    size, found, first = FOOTER_BYTES, -1, end
    while found < 0 and first > 0 and size <= LARGEST_FOOTER:
        first, size = max(0, end - size), size * 16
        file.seek(first)
        tail = file.read()
        found = tail.rfind(MARK)
    if found < 0:
        return None
    stated, start = tail[found : found + len(BLANK)], first + found
    digest = hashlib.sha256()
    file.seek(0)
    _hash_blocks(file, start, digest)
    digest.update(BLANK)
    file.seek(start + len(BLANK))
    _hash_blocks(file, max(0, end - start - len(BLANK)), digest)
    return MARK + digest.hexdigest().encode() == stated


def _hash_blocks(file: IO[bytes], size: int, digest: "hashlib._Hash") -> None:
    while size > 0:
        block = file.read(min(size, BLOCK_BYTES))
        if not block:
            return
        digest.update(block)
        size -= len(block)


def fingerprint(checksums: Mapping[str, str]) -> bytes:
    """A hash of the names and checksums of files; equal ones are of the same files with the same content."""
    return hashlib.sha256(json.dumps(checksums, sort_keys=True).encode()).hexdigest().encode()


def _checksum(content: memoryview, start: int) -> bytes:
    digest = hashlib.sha256(content[:start])
    digest.update(BLANK)
    digest.update(content[start + len(BLANK) :])
    return MARK + digest.hexdigest().encode()
