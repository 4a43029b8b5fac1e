"""One Parquet file a finished run: its curve as rows, and what it was as JSON in the file's metadata.

The metadata also holds a seal: the SHA-256 of the whole file with the seal itself blank. So one flipped bit anywhere,
or a missing byte, makes the file count as damaged.
"""

import hashlib
import io
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mulex.folder import Folder
from mulex.schema import curves_schema, runs_schema

_KEY = b"mulex.run"
_SEAL_KEY, _SEAL_MARK = b"mulex.seal", b"sha256:"
_BLANK = _SEAL_MARK + b"0" * 64
RUNS_TABLE, CURVES_TABLE = "runs.parquet", "curves.parquet"
_MADE_OF = b"mulex.made_of"
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class RunFile:
    """A finished run: its row of `runs`, its part of `curves`, and its whole configuration."""

    row: dict[str, Any]
    curve: pa.Table
    config: dict[str, Any]


def curve_table(rows: Rows) -> pa.Table:
    """Rows of `curves` as a table with fixed types."""
    return pa.Table.from_pylist(rows, curves_schema(rows))


class DamagedRunFile(Exception):  # noqa: N818
    """A file that is not a whole run file."""


def run_name(method: str, run: str) -> str:
    """Where a sweep keeps a run."""
    return f"runs/{method}/{run}.parquet"


def write_run_file(folder: Folder, finished: RunFile) -> str:
    """Add a run to a sweep's folder, whole or not at all; gives its name there."""
    name = run_name(finished.row["method"], finished.row["run"])
    about = json.dumps({"row": finished.row, "config": finished.config}, default=datetime.isoformat)
    blank = io.BytesIO()
    with pq.ParquetWriter(blank, finished.curve.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(finished.curve)
        writer.add_key_value_metadata({_KEY: about.encode(), _SEAL_KEY: _BLANK})
    sealed = blank.getvalue().replace(_BLANK, _seal(blank.getvalue()))
    folder.write(name, sealed)
    return name


def read_run_file(folder: Folder, name: str) -> RunFile:
    """Read a run, or raise DamagedRunFile."""
    content, about = _read_sealed(folder, name)
    return RunFile(about["row"], pq.ParquetFile(io.BytesIO(content)).read(), about["config"])


@dataclass(frozen=True)
class RunNote:
    """What can be known of a run without its curve; equal seals are equal files."""

    row: dict[str, Any]
    seal: str


def read_run_note(folder: Folder, name: str) -> RunNote:
    """As `read_run_file`, several times faster."""
    content, about = _read_sealed(folder, name)
    return RunNote(about["row"], _seal_in(content).decode())


def _read_sealed(folder: Folder, name: str) -> tuple[bytes, dict[str, Any]]:
    """The content of a whole file, and its metadata."""
    content = folder.read(name)
    seal = _seal_in(content)
    if not seal or _seal(content.replace(seal, _BLANK)) != seal:
        raise DamagedRunFile(f"{folder.url}/{name}: damaged, its checksum does not fit its content")
    about = json.loads(pq.read_metadata(io.BytesIO(content)).metadata[_KEY])
    row = about["row"]
    if name != run_name(row["method"], row["run"]):
        raise DamagedRunFile(f"{folder.url}/{name}: of another run, {run_name(row['method'], row['run'])}")
    for moment in ("started_at", "finished_at"):
        row[moment] = datetime.fromisoformat(row[moment])
    return content, about


def _seal_in(content: bytes) -> bytes:
    start = content.rfind(_SEAL_MARK)
    return content[start : start + len(_BLANK)] if start >= 0 else b""


def _seal(blank: bytes) -> bytes:
    return _SEAL_MARK + hashlib.sha256(blank).hexdigest().encode()


@dataclass(frozen=True)
class Collected:
    """What went into the two tables."""

    runs: int
    rows: int
    damaged: list[str]


def collect_tables(folder: Folder) -> Collected:
    """Make runs.parquet and curves.parquet from the run files that are whole; the others are named."""
    finished, damaged = [], []
    seals: dict[str, str] = {}
    for name in folder.list("runs"):
        if name.endswith(".parquet"):
            try:
                content, about = _read_sealed(folder, name)
            except DamagedRunFile:
                damaged.append(name)
                continue
            seals[name] = _seal_in(content).decode()
            finished.append(RunFile(about["row"], pq.ParquetFile(io.BytesIO(content)).read(), about["config"]))
    finished.sort(key=lambda f: (f.row["world"], f.row["method"], f.row["draw"], f.row["seed"]))
    rows = [f.row for f in finished]
    curves = _joined([f.curve for f in finished])
    runs = pa.Table.from_pylist(rows, runs_schema(rows))
    _write_table(folder, CURVES_TABLE, curves)
    made_of = {**(runs.schema.metadata or {}), _MADE_OF: _fingerprint(seals)}
    _write_table(folder, RUNS_TABLE, runs.replace_schema_metadata(made_of))
    return Collected(len(rows), len(curves), damaged)


def tables_are_of(folder: Folder, seals: dict[str, str]) -> bool:
    """Whether the two tables were made of the run files with these names and seals, and of no others."""
    try:
        schema = pq.read_schema(io.BytesIO(folder.read(RUNS_TABLE)))
    except (FileNotFoundError, pa.ArrowInvalid):
        return False
    return (schema.metadata or {}).get(_MADE_OF) == _fingerprint(seals) and folder.exists(CURVES_TABLE)


def _fingerprint(seals: dict[str, str]) -> bytes:
    return hashlib.sha256(json.dumps(seals, sort_keys=True).encode()).hexdigest().encode()


def _joined(curves: list[pa.Table]) -> pa.Table:
    """One table with the columns of all; what a run has no value for is null."""
    names = {name: None for curve in curves for name in curve.schema.names}
    schema = curves_schema([names])
    tables = [schema.empty_table(), *curves]
    return pa.concat_tables(tables, promote_options="default").select(schema.names)


def _write_table(folder: Folder, name: str, table: pa.Table) -> None:
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    folder.write(name, file.getvalue())
