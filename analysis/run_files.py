"""The runs of a sweep that is still going on: read from its run files, before there are tables."""

import io
import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.places import Place

KEY = b"mulex.run"
Cache = dict[tuple[str, str, str], tuple[dict[str, Any], pa.Table]]
"""Run files that were read before, by folder, name and mark, so that a live report reads only new ones."""


def read_run_files(place: Place, files: dict[str, str], cache: Cache) -> tuple[pa.Table, pa.Table, list[str]]:
    """The rows of `runs`, those of `curves`, and the names of the files that are not whole."""
    rows, curves, damaged = [], [], []
    for name, mark in files.items():
        key = (place.url, name, mark)
        try:
            if key not in cache:
                cache[key] = _read(place.read(name))
        except (pa.ArrowInvalid, OSError, KeyError, ValueError):
            damaged.append(name)
            continue
        rows.append(cache[key][0])
        curves.append(cache[key][1])
    runs = pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False) if rows else pa.table({})
    return runs, pa.concat_tables(curves, promote_options="default") if curves else pa.table({}), damaged


def _read(content: bytes) -> tuple[dict[str, Any], pa.Table]:
    file = pq.ParquetFile(io.BytesIO(content))
    row: dict[str, Any] = json.loads(file.metadata.metadata[KEY])["row"]
    for moment in ("started_at", "finished_at"):
        row[moment] = pd.to_datetime(row[moment], utc=True) if row.get(moment) else pd.NaT
    return row, file.read()
