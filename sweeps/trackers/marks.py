"""Remembers what a tracker that only writes files has of each run: one small file a run, beside its own."""

import json
from pathlib import Path

from sweeps.trackers.contract import Entry, Sent


def read_mark(path: Path) -> Sent:
    """Return what was sent of a run, as far as its mark says."""
    try:
        said = json.loads(path.read_text())
        return Sent(int(said["iterations"]), said["ended"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return Sent()


def write_mark(path: Path, entry: Entry) -> None:
    """Remember that an entry was sent, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"run": entry.run, "iterations": entry.iterations, "ended": entry.mark}))
    part.replace(path)
