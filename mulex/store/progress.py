"""What the packs of a sweep are doing now: one small JSON file a pack, written every two seconds."""

import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from mulex.store.folder import Folder
from mulex.store.layout import PROGRESS, progress_name

CURVE_POINTS = 200
PACK_POINTS = 4000
"""The most points of a run's curve so far, and of all curves of a pack: the file stays small."""
ROW_VALUES = 12_000
"""The most numbers of a pack's last rows, where a tracker wants them."""
_NEEDED = {"pack", "runs", "iteration", "iterations", "seconds", "updated_at"}


def write_progress(folder: Folder, pack: str, progress: Mapping[str, Any]) -> None:
    """Say what a pack is doing; the process and the time are added here."""
    here = {"host": platform.node(), "pid": os.getpid(), "updated_at": datetime.now(UTC).isoformat()}
    folder.write(progress_name(pack), json.dumps({"pack": pack, **progress, **here}).encode())


def curves_so_far(curves: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, list[Any]]:
    """The evaluation returns of each run of a pack so far, as averages of neighbouring iterations in long curves."""
    most = max(20, min(CURVE_POINTS, PACK_POINTS // max(1, len(curves))))
    ends = bucket_ends(len(curves[0]) if curves else 0, most)
    returns = [[row.get("eval_return") for row in curve] for curve in curves]
    return {"iteration": ends, "eval_return": [bucket_means(of_run, ends) for of_run in returns]}


def last_rows(curves: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """The last rows of each run of a pack with every column: as many as a progress file should hold."""
    columns = list(dict.fromkeys(name for curve in curves for row in curve[-1:] for name in row))
    most = max(1, ROW_VALUES // max(1, len(columns) * len(curves)))
    values = [[[row.get(name) for name in columns] for row in curve[-most:]] for curve in curves]
    return {"columns": columns, "values": values}


def bucket_ends(length: int, most: int) -> list[int]:
    """Divide so many iterations into at most so many buckets; gives the last iteration of each."""
    buckets = min(length, most)
    return [round((i + 1) * length / buckets) for i in range(buckets)]


def bucket_means(values: Sequence[float | None], ends: Sequence[int]) -> list[float | None]:
    """The mean of each bucket, to five digits; None where it has no finite value."""
    means: list[float | None] = []
    for start, end in pairwise([0, *ends]):
        known = [x for x in values[start:end] if x is not None and math.isfinite(x)]
        means.append(float(f"{sum(known) / len(known):.5g}") if known else None)
    return means


def read_progress(folder: Folder) -> list[dict[str, Any]]:
    """What every pack said last, with `age`, the seconds since then; files that say nothing useful are left out."""
    now = datetime.now(UTC)
    packs = []
    for content in folder.read_many(folder.list(PROGRESS)).values():
        try:
            said = json.loads(content)
            if isinstance(said, dict) and said.keys() >= _NEEDED:
                packs.append(said | {"age": (now - datetime.fromisoformat(said["updated_at"])).total_seconds()})
        except (ValueError, TypeError):
            continue
    return packs


def remove_progress(folder: Folder, pack: str) -> None:
    """Say that a pack is not being trained any more."""
    folder.remove(progress_name(pack))
