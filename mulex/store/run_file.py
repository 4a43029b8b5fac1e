"""One Parquet file a finished run: its curve as rows, what it was as JSON in the file's metadata, and a checksum."""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mulex.store.checksum import checksum_in, is_whole, parquet_with_checksum, read_parquet
from mulex.store.folder import Folder
from mulex.store.layout import run_name
from mulex.store.roles import TUNE
from mulex.store.schema import curves_schema, types_of

_KEY = b"mulex.run"
LONGEST_ERROR = 64_000  # characters of an error that are kept: every traceback but an endless one
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b.|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # other control characters, except tabs and newlines
)
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class RunFile:
    """A finished run: its row of `runs`, its part of `curves`, and its whole configuration."""

    row: dict[str, Any]
    curve: pa.Table
    config: dict[str, Any]
    launch: int = 0
    """The fencing number of the launch that wrote it; 0 where there was none."""


def curve_table(rows: Rows) -> pa.Table:
    """Rows of `curves` as a table with fixed types."""
    return pa.Table.from_pylist(rows, curves_schema(types_of(rows)))


class DamagedRunFile(Exception):  # noqa: N818
    """A file that is not a whole run file."""


def write_run_file(folder: Folder, finished: RunFile) -> str:
    """Add a run to a sweep's folder, whole or not at all; gives its name there."""
    row = finished.row | ({"error": plain_error(finished.row["error"])} if finished.row.get("error") else {})
    name = run_name(row["method"], row["run"])
    folder.write(name, run_file_content(RunFile(row, finished.curve, finished.config, finished.launch)))
    return name


def run_file_content(finished: RunFile) -> bytes:
    """The bytes of a run's file."""
    about = {"row": finished.row, "config": finished.config, "launch": finished.launch}
    text = json.dumps(about, default=datetime.isoformat)
    return parquet_with_checksum(finished.curve, {_KEY: text.encode()}, store_schema=False)


def plain_error(error: str) -> str:
    """An error as it is stored and shown: without escape sequences; of an endless one, its two ends."""
    half = LONGEST_ERROR // 2
    if len(error) > 10 * LONGEST_ERROR:
        error = f"{error[: 5 * LONGEST_ERROR]}\n...\n{error[-5 * LONGEST_ERROR :]}"
    plain = _ESCAPES.sub("", error)
    return plain if len(plain) <= LONGEST_ERROR else f"{plain[: half - 5]}\n...\n{plain[-half:]}"


def read_run_file(folder: Folder, name: str) -> RunFile:
    """Read a run, or raise DamagedRunFile."""
    return parse_run_file(folder.read(name), name, folder.url)


def parse_run_file(content: bytes, name: str, url: str) -> RunFile:
    """A run from the content of its file, or raise DamagedRunFile; `url` is its folder's, for the message."""
    about = _about(content, name, url)
    curve = read_parquet(pq.ParquetFile(pa.BufferReader(content)))
    return RunFile(about["row"], curve, about["config"], about.get("launch", 0))


@dataclass(frozen=True)
class RunNote:
    """What can be known of a run without its curve; equal checksums are equal files."""

    row: dict[str, Any]
    checksum: str
    config: dict[str, Any] = field(default_factory=dict)
    launch: int = 0


def read_run_note(folder: Folder, name: str) -> RunNote:
    """Read a run without its curve, several times faster than `read_run_file`."""
    return parse_run_note(folder.read(name), name, folder.url)


def parse_run_note(content: bytes, name: str, url: str) -> RunNote:
    """A run without its curve from the content of its file, or raise DamagedRunFile."""
    about = _about(content, name, url)
    return RunNote(about["row"], checksum_in(content), about["config"], about.get("launch", 0))


def _about(content: bytes, name: str, url: str) -> dict[str, Any]:
    """The metadata of a whole file."""
    if not is_whole(content):
        raise DamagedRunFile(f"{url}/{name}: damaged, its checksum does not fit its content")
    about: dict[str, Any] = json.loads(pq.read_metadata(pa.BufferReader(content)).metadata[_KEY])
    row = about["row"]
    if name != run_name(row["method"], row["run"]):
        raise DamagedRunFile(f"{url}/{name}: of another run, {run_name(row['method'], row['run'])}")
    about["row"] = parsed_row(row)
    return about


def parsed_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of `runs` from what JSON has of it: moments are no texts, and errors are plain."""
    row.setdefault("role", TUNE)  # earlier versions had no others
    for moment in ("started_at", "finished_at"):
        row[moment] = datetime.fromisoformat(row[moment])
    if row.get("error"):
        row["error"] = plain_error(row["error"])
    return row
