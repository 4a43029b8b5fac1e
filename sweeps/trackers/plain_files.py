"""CSV or JSON lines: a file with the curve of each run, and one with a line for every run."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from mulex.store.folder import Folder
from sweeps.trackers.contract import LABELS, Entry, Sent

Row = dict[str, Any]


class PlainFiles:
    """Writes whole files, so that nobody reads half a line; the curve of a run in training grows with it."""

    live = True

    def __init__(self, folder: Folder, form: Literal["csv", "json"]) -> None:
        self.folder, self.form, self.end = folder, form, "csv" if form == "csv" else "jsonl"
        self._runs: dict[str, Row] = {row["run"]: row for row in self._read(f"runs.{self.end}")}
        self._curves: dict[str, list[Row]] = {}
        self._changed = False

    def sent(self, run: str) -> Sent:
        about = self._runs.get(run)
        return Sent(int(about["sent"]), about["mark"] or None) if about else Sent()

    def send(self, entry: Entry) -> None:
        name = f"curves/{entry.labels['method']}/{entry.run}.{self.end}"
        if entry.ended:
            curve = [{**row} for row in entry.rows]
            self._curves.pop(entry.run, None)
        else:
            before = self._curves.get(entry.run)
            if before is None:  # of an earlier launch
                before = [row for row in self._read(name) if int(row["iteration"]) <= entry.known]
            curve = self._curves[entry.run] = [*before, *({**row} for row in entry.rows)]
        self.folder.write(name, self._text([_without_labels(row) for row in curve]))
        self._runs[entry.run] = {
            **entry.parameters,
            **entry.results,
            "status": entry.status,
            "error": entry.error,
            "started_at": str(entry.started_at or ""),
            "finished_at": str(entry.finished_at or ""),
            "mark": entry.mark,
            "sent": entry.iterations,
        }
        self._changed = True

    def flush(self) -> None:
        """Write the file with a line for every run."""
        if self._changed:
            self.folder.write(f"runs.{self.end}", self._text(self._runs.values()))
            self._changed = False

    def close(self) -> None:
        """Do nothing: no file is open."""

    def _read(self, name: str) -> list[Row]:
        try:
            text = self.folder.read(name).decode()
        except FileNotFoundError:
            return []
        if self.form == "csv":
            return list(csv.DictReader(io.StringIO(text)))
        return [json.loads(line) for line in text.splitlines()]

    def _text(self, rows: Iterable[Row]) -> bytes:
        rows = list(rows)
        if self.form == "json":
            return "".join(f"{json.dumps(_finite(row))}\n" for row in rows).encode()
        text = io.StringIO()
        columns = dict.fromkeys(name for row in rows for name in row)
        writer = csv.DictWriter(text, list(columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()


def _without_labels(row: Mapping[str, Any]) -> Row:
    return {name: value for name, value in row.items() if name not in LABELS and value is not None}


def _finite(row: Row) -> Row:
    """Return a row that JSON can hold: null for NaN and infinity."""
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in row.items()}
