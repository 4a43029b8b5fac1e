"""Where entries come from: the run files of a sweep and the progress of its packs, or the tables of an archive."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from mulex.errors import UserError
from mulex.store.folder import Folder
from mulex.store.layout import run_name
from mulex.store.roles import TUNE
from mulex.store.run_file import DamagedRunFile
from mulex.store.schema import HYPERPARAMETERS
from mulex.store.score import score_of
from mulex.store.tables import DamagedTable, curve_pieces, read_runs
from sweeps.monitor.status import Board
from sweeps.plan import Plan, PlannedRun
from sweeps.trackers.contract import LABELS, Entry, Sent, results_of

Rows = list[Mapping[str, Any]]


class Source(Protocol):
    """The runs of a sweep, for trackers."""

    name: str

    @property
    def plan(self) -> Plan | None:
        """The plan of the sweep, if its spec is known."""

    def look(self) -> Iterator[tuple[str, str | None]]:
        """Yield every run that has begun, by its id, with the mark of its end if it has ended."""

    def entry(self, run: str, sent: Sent) -> Entry | None:
        """Return what is new of a run since what was sent; None if nothing can be said of it now."""


class FolderSource:
    """A sweep with a spec: its run files as they appear, and its packs while they are being trained."""

    def __init__(self, board: Board) -> None:
        self.board, self.name = board, board.spec.name
        self._packs: dict[str, dict[str, Any]] = {}

    @property
    def plan(self) -> Plan:
        return self.board.plan

    def look(self) -> Iterator[tuple[str, str | None]]:
        status = self.board.refresh()
        self._packs = {run: pack for pack in status.packs for run in pack["runs"]}
        for run in self.board.runs:
            finished = self.board.finished.get(run)
            if run in self._packs and (finished is None or finished.status == "failed"):
                yield run, None
            elif finished is not None:
                yield run, f"{finished.status} {finished.finished_at}"

    def entry(self, run: str, sent: Sent) -> Entry | None:
        planned = self.board.runs[run]
        pack = self._packs.get(run)
        if pack is not None and (run not in self.board.finished or self.board.finished[run].status == "failed"):
            return self._running(planned, pack, sent)
        try:
            file = self.board.store.read(run_name(planned.method, run))
        except (FileNotFoundError, DamagedRunFile):
            return None
        return ended_entry(self.name, file.row, self._values(planned), file.curve.to_pylist(), sent)

    def _running(self, planned: PlannedRun, pack: dict[str, Any], sent: Sent) -> Entry:
        """Return the rows that follow those that were sent; none if some between them are not known any more."""
        rows = recent_rows(pack, planned.run_id)
        whole = bool(rows) and rows[0]["iteration"] <= sent.iterations + 1
        news = [row for row in rows if row["iteration"] > sent.iterations] if whole else []
        labels = {name: getattr(planned, "run_id" if name == "run" else name) for name in LABELS}
        return Entry(labels, self.name, self._values(planned), "running", news, sent.iterations)

    def _values(self, planned: PlannedRun) -> dict[str, Any]:
        values = self.plan.values[planned.method][planned.draw]
        return {name: value for name, value in values.items() if value is not None}


def recent_rows(pack: dict[str, Any], run: str) -> Rows:
    """Return the last rows of a run that its pack has left in its progress file."""
    said = pack.get("rows")
    if not said:
        return []
    return [dict(zip(said["columns"], row, strict=True)) for row in said["values"][pack["runs"].index(run)]]


def ended_entry(sweep: str, row: Mapping[str, Any], values: dict[str, Any], curve: Rows, sent: Sent) -> Entry:
    """Return a run that has ended from its row of `runs` and its part of `curves`."""
    return Entry(
        labels={"role": TUNE} | {name: row[name] for name in LABELS if row.get(name) is not None},
        sweep=sweep,
        values=values,
        status=row["status"],
        rows=curve,
        known=sent.iterations,
        results=results_of(row, score_of(row)),
        error=row.get("error"),
        started_at=row.get("started_at"),
        finished_at=row.get("finished_at"),
    )


class TableSource:
    """An archived sweep that has its two tables and no run files."""

    def __init__(self, folder: Folder, plan: Plan | None) -> None:
        self.plan: Plan | None = plan
        self._rows = {row["run"]: row for row in read_runs(folder)}
        self.name = next((str(row["sweep"]) for row in self._rows.values() if row.get("sweep")), folder.url)
        self._curves = _Curves(folder)

    def look(self) -> Iterator[tuple[str, str | None]]:
        for run, row in self._rows.items():
            yield run, f"{row['status']} {row['finished_at']}"

    def entry(self, run: str, sent: Sent) -> Entry | None:
        row = self._rows[run]
        return ended_entry(self.name, row, self._values(row), self._curves.of(run), sent)

    def _values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the hyperparameters of the plan; without one, of the columns that always hold some."""
        drawn = self.plan.values.get(row["method"], []) if self.plan else []
        known = drawn[row["draw"]] if row["draw"] < len(drawn) else {name: row.get(name) for name in HYPERPARAMETERS}
        return {name: value for name, value in known.items() if value is not None}


class _Curves:
    """The table of curves, from which the rows of a run are taken when they are wanted."""

    def __init__(self, folder: Folder) -> None:
        try:
            pieces = list(curve_pieces(folder))
        except FileNotFoundError:
            pieces = []
        except DamagedTable as error:
            raise UserError(str(error)) from None
        self._table = pa.concat_tables(pieces, promote_options="default").combine_chunks() if pieces else None
        runs = self._table["run"].cast(pa.string()).to_numpy() if self._table is not None else np.array([], dtype=str)
        self._names, codes = np.unique(runs.astype(str), return_inverse=True)
        self._order = np.argsort(codes, kind="stable")
        self._ends = np.searchsorted(codes[self._order], np.arange(len(self._names) + 1))

    def of(self, run: str) -> Rows:
        """Return the rows of a run in the order of its iterations."""
        at = int(np.searchsorted(self._names, run))
        if self._table is None or at == len(self._names) or self._names[at] != run:
            return []
        rows: Rows = self._table.take(self._order[self._ends[at] : self._ends[at + 1]]).to_pylist()
        return rows
