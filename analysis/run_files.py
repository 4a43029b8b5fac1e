"""The runs of a sweep that is still going on: read from its run files, before there are tables.

A run file is sealed: its metadata has the SHA-256 of the whole file with the seal itself blank. The tables name what
they were made of: a hash of the seals of all run files.
"""

import hashlib
import io
import json
from collections.abc import Collection
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.places import Place

KEY, MADE_OF = b"mulex.run", b"mulex.made_of"
MARK = b"sha256:"
BLANK = MARK + b"0" * 64
FOOTER = 2**12
"""Bytes at the end of a run file that its seal is surely in."""
Cache = dict[tuple[str, str, str], tuple[dict[str, Any], pa.Table]]
"""Run files that were read before, by folder, name and mark, so that a live report reads only new ones."""


def read_run_files(place: Place, files: dict[str, str], cache: Cache) -> tuple[pa.Table, pa.Table, list[str]]:
    """The rows of `runs`, those of `curves`, and the names of the files that are not whole."""
    rows, curves, damaged = [], [], []
    for name, mark in files.items():
        key = (place.url, name, mark)
        try:
            if key not in cache:
                cache[key] = _read(name, place.read(name))
        except (pa.ArrowInvalid, OSError, KeyError, ValueError):
            damaged.append(name)
            continue
        rows.append(cache[key][0])
        curves.append(cache[key][1])
    runs = pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False) if rows else pa.table({})
    return runs, pa.concat_tables(curves, promote_options="default") if curves else pa.table({}), damaged


def is_made_of(runs: pa.Table, place: Place, names: Collection[str]) -> bool:
    """Whether the tables were made of these run files as they are now, and of no others."""
    if runs.num_rows != len(names):
        return False
    seals = {name: _seal_in(end).decode(errors="replace") for name, end in place.ends(names, FOOTER).items()}
    found = hashlib.sha256(json.dumps(seals, sort_keys=True).encode()).hexdigest()
    return (runs.schema.metadata or {}).get(MADE_OF) == found.encode()


def _read(name: str, content: bytes) -> tuple[dict[str, Any], pa.Table]:
    seal = _seal_in(content)
    if not seal or MARK + hashlib.sha256(content.replace(seal, BLANK)).hexdigest().encode() != seal:
        raise ValueError("its seal does not fit its content")
    file = pq.ParquetFile(io.BytesIO(content))
    row: dict[str, Any] = json.loads(file.metadata.metadata[KEY])["row"]
    if name != f"runs/{row['method']}/{row['run']}.parquet":
        raise ValueError("it is of another run")
    for moment in ("started_at", "finished_at"):
        row[moment] = pd.to_datetime(row[moment], utc=True) if row.get(moment) else pd.NaT
    return row, file.read()


def _seal_in(content: bytes) -> bytes:
    start = content.rfind(MARK)
    return content[start : start + len(BLANK)] if start >= 0 else b""
