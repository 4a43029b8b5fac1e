"""The index of a segment: a Parquet file with a row for each of its runs.

It has the run's entry, where in the segment its file is, and what the tables need of it: its row of `runs`, its
training settings, and the columns of its curve. Everything in it can be computed from the segment again.
"""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mulex.store.checksum import is_whole, parquet_with_checksum, read_parquet
from mulex.store.entry import RunEntry, entry_of_row
from mulex.store.run_file import RunNote, parsed_row
from mulex.store.schema import RUNS
from mulex.store.training_columns import settings_of

VERSION = 1
"""Of segments and indexes; a segment of a higher version is refused."""
_KEY = b"mulex.index"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENTRY = {
    "name": pa.string(),
    "run": pa.string(),
    "world": pa.string(),
    "method": pa.string(),
    "draw": pa.int64(),
    "seed": pa.int64(),
    "status": pa.string(),
    "error": pa.string(),
    "score": pa.float64(),
    "iterations": pa.int64(),
    "seconds": pa.float64(),
    "finished_at": pa.timestamp("us", tz="UTC"),
    "host": pa.string(),
    "spec_hash": pa.string(),
    "launch": pa.int64(),
    "checksum": pa.string(),
}
_MORE = {
    "start": pa.int64(),
    "size": pa.int64(),
    "row": pa.string(),
    "settings": pa.string(),
    "kinds": pa.string(),
    "columns": pa.string(),
}
_SCHEMA = pa.schema({**_ENTRY, **_MORE})


class UnfitIndex(Exception):  # noqa: N818
    """An index that is damaged, of another version, or not of its segment; it can be made again from the segment."""


def about_run(name: str, content: bytes, note: RunNote, start: int) -> dict[str, Any]:
    """What an index says of a run file that begins at a byte of its segment."""
    row = {key: value.isoformat() if isinstance(value, datetime) else value for key, value in note.row.items()}
    schema = pq.read_schema(pa.BufferReader(content))
    return {
        **entry_of_row(name, note.row, note.launch, note.checksum)._asdict(),
        "start": start,
        "size": len(content),
        "row": json.dumps(row),
        "settings": json.dumps(settings_of(note.config)),
        "kinds": json.dumps({key: type(value).__name__ for key, value in row.items() if key not in RUNS.names}),
        "columns": json.dumps({field.name: str(field.type) for field in schema}),
    }


def index_content(runs: list[dict[str, Any]], segment: str, size: int, replaces: list[str]) -> bytes:
    """The file of an index.

    Args:
        runs: What `about_run` says of each run.
        segment: The name of the segment's file.
        size: The length of that file in bytes.
        replaces: Names of segments that this one stands for; they do not count any more.
    """
    about = {"version": VERSION, "segment": segment, "size": size, "replaces": replaces}
    table = pa.Table.from_pylist(runs, _SCHEMA)
    return parquet_with_checksum(table, {_KEY: json.dumps(about).encode()})


@dataclass(frozen=True)
class Index:
    """An index that fits its segment."""

    segment: str
    replaces: tuple[str, ...]
    entries: list[RunEntry]
    """The runs of the segment, in its order."""


@dataclass(frozen=True)
class Details:
    """What an index has of a run beyond its entry."""

    start: int
    size: int
    row: str
    settings: str
    kinds: str
    columns: str


def parse_details(content: bytes) -> dict[str, Details]:
    """Read what an index has beyond the entries, by the names of the runs."""
    table = _read(content, ["name", *_MORE])
    columns = {name: table[name].to_pylist() for name in table.schema.names}
    for name in ("settings", "kinds", "columns"):  # nearly all runs have the same
        columns[name] = [sys.intern(text) for text in columns[name]]
    rows = zip(*(columns[name] for name in _MORE), strict=True)
    return {name: Details(*values) for name, values in zip(columns["name"], rows, strict=True)}


def row_of(text: str) -> dict[str, Any]:
    """A row of `runs` from the column `row`."""
    return parsed_row(json.loads(text))


def parse_index(content: bytes, segment: str, size: int | None) -> Index:
    """Read an index, or raise UnfitIndex; `size` is that of the segment's file, None if there is none."""
    if not is_whole(content):
        raise UnfitIndex("its checksum does not fit its content")
    try:
        about = json.loads(pq.read_metadata(pa.BufferReader(content)).metadata[_KEY])
    except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise UnfitIndex(f"it cannot be read ({type(error).__name__})") from None
    if about["version"] != VERSION:
        raise UnfitIndex(f"it is of version {about['version']}, this is version {VERSION}")
    if about["segment"] != segment or about["size"] != size:
        raise UnfitIndex("it is not of the segment beside it")
    return Index(segment, tuple(about["replaces"]), _entries(content))


def _entries(content: bytes) -> list[RunEntry]:
    table = _read(content, list(_ENTRY))
    columns = [_values(table[name], name) for name in _ENTRY]
    return list(map(RunEntry._make, zip(*columns, strict=True)))


def _values(column: pa.ChunkedArray, name: str) -> list[Any]:
    if name in ("world", "method", "status", "host", "spec_hash"):
        return _shared(column)
    return _moments(column) if name == "finished_at" else list(column.to_pylist())


def _moments(column: pa.ChunkedArray) -> list[datetime | None]:
    """The times of a column; Arrow itself takes longer, and imports pandas for them."""
    counts = column.cast(pa.int64()).to_pylist()
    return [None if count is None else _EPOCH + timedelta(microseconds=count) for count in counts]


def _shared(column: pa.ChunkedArray) -> list[str | None]:
    """The texts of a column that has few different ones, each of which is in memory once."""
    coded = column.combine_chunks().dictionary_encode()
    words = [sys.intern(word) for word in coded.dictionary.to_pylist()]
    return [None if i is None else words[i] for i in coded.indices.to_pylist()]


def _read(content: bytes, columns: list[str]) -> pa.Table:
    return read_parquet(pq.ParquetFile(pa.BufferReader(content)), columns)
