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
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class RunFile:
    """A finished run: its row of `runs`, its rows of `curves`, and its whole configuration."""

    row: dict[str, Any]
    curve: Rows
    config: dict[str, Any]


class DamagedRunFile(Exception):  # noqa: N818
    """A file that is not a whole run file."""


def run_name(method: str, run: str) -> str:
    """Where a sweep keeps a run."""
    return f"runs/{method}/{run}.parquet"


def write_run_file(folder: Folder, finished: RunFile) -> str:
    """Add a run to a sweep's folder, whole or not at all; gives its name there."""
    name = run_name(finished.row["method"], finished.row["run"])
    about = json.dumps({"row": finished.row, "config": finished.config}, default=datetime.isoformat)
    table = pa.Table.from_pylist(finished.curve, curves_schema(finished.curve))
    blank = io.BytesIO()
    with pq.ParquetWriter(blank, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY: about.encode(), _SEAL_KEY: _BLANK})
    sealed = blank.getvalue().replace(_BLANK, _seal(blank.getvalue()))
    folder.write(name, sealed)
    return name


def read_run_file(folder: Folder, name: str) -> RunFile:
    """Read a run, or raise DamagedRunFile."""
    content = folder.read(name)
    start = content.rfind(_SEAL_MARK)
    seal = content[start : start + len(_BLANK)]
    if start < 0 or _seal(content[:start] + _BLANK + content[start + len(_BLANK) :]) != seal:
        raise DamagedRunFile(f"{folder.url}/{name}: damaged, its checksum does not fit its content")
    file = pq.ParquetFile(io.BytesIO(content))
    table, about = file.read(), json.loads(file.metadata.metadata[_KEY])
    row = about["row"]
    for moment in ("started_at", "finished_at"):
        row[moment] = datetime.fromisoformat(row[moment])
    return RunFile(row, table.to_pylist(), about["config"])


def _seal(blank: bytes) -> bytes:
    return _SEAL_MARK + hashlib.sha256(blank).hexdigest().encode()


def collect_tables(folder: Folder) -> tuple[int, int]:
    """Make runs.parquet and curves.parquet from the run files; gives the number of runs and of curve rows."""
    finished = [read_run_file(folder, name) for name in folder.list("runs") if name.endswith(".parquet")]
    finished.sort(key=lambda f: (f.row["world"], f.row["method"], f.row["draw"], f.row["seed"]))
    rows = [f.row for f in finished]
    curves = [row for f in finished for row in f.curve]
    _write_table(folder, "runs.parquet", rows, runs_schema(rows))
    _write_table(folder, "curves.parquet", curves, curves_schema(curves))
    return len(rows), len(curves)


def _write_table(folder: Folder, name: str, rows: Rows, schema: pa.Schema) -> None:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), file, compression="zstd")
    folder.write(name, file.getvalue())
