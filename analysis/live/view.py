"""How a sweep stands at one moment, with a row for every run, read from its folder alone."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import pandas as pd

from analysis.columns import NEEDED, OPTIONAL
from mulex.errors import UserError
from mulex.settings import digest
from mulex.store.folder import Folder
from mulex.store.layout import RUNS_TABLE, SPEC
from mulex.store.run_store import has_run_files
from mulex.store.score import score_of
from mulex.store.tables import read_runs
from sweeps.monitor.pace import Forecast, forecast
from sweeps.monitor.paused import Paused, find_paused
from sweeps.monitor.status import Board, Line, Status
from sweeps.plan import Plan, make_plan
from sweeps.spec import Spec, parse_frozen

FIRST = ["run", "status", "method", "world", "draw", "seed", "score", "iteration", "iterations"]
LAST = ["seconds", "host", "finished_at", "error"]
"""The columns of the table of runs before and after the hyperparameters."""
UNFINISHED = ("running", "paused", "pending")
"""The states of a run that has no result yet; a paused one waits with a checkpoint."""


@dataclass(frozen=True)
class View:
    """A sweep at one moment.

    Attributes:
        name: The sweep's name.
        runs: One row for each planned run: the columns of `FIRST`, its hyperparameters, and those of `LAST`. Runs that
            an adaptive search has not chosen yet have no row, but are counted as pending.
        lines: Counts and scores by method and world.
        packs: What each running pack last said about itself.
        forecast: The pace and the time left, as long as something happens.
        damaged: The names of run files that are not whole.
        paused: The packs that wait for the next launch with a checkpoint, the furthest first.
    """

    name: str
    runs: pd.DataFrame
    lines: list[Line]
    packs: list[dict[str, Any]] = field(default_factory=list)
    forecast: Forecast | None = None
    damaged: list[str] = field(default_factory=list)
    paused: list[Paused] = field(default_factory=list)

    def count(self, name: str) -> int:
        """Sum `done`, `running`, `failed`, `pending` or `total` over all lines."""
        return sum(getattr(line, name) for line in self.lines)

    @property
    def ended(self) -> bool:
        """Whether no run is running or waiting."""
        return self.count("running") + self.count("pending") == 0

    def finished_mark(self) -> str:
        """Return a text that changes when a run has finished, failed or been tried again."""
        rows = self.runs[~self.runs["status"].isin(UNFINISHED)]
        newest = rows["finished_at"].max() if len(rows) else None
        return digest([len(rows), str(newest), rows["status"].value_counts().sort_index().to_dict()])

    def mark(self) -> str:
        """Return a text that changes when anything does that a page shows."""
        packs = sorted((pack["pack"], pack["iteration"]) for pack in self.packs)
        packs += [(pack.runs[0].run_id, pack.iteration) for pack in self.paused]
        return digest([self.finished_mark(), packs, self.count("total"), self.count("running"), len(self.damaged)])


class Reader(Protocol):
    """Reads one sweep again and again. Without a spec that this version understands there is no plan."""

    @property
    def plan(self) -> Plan | None:
        """The plan of the sweep as far as it is known."""

    def read(self) -> View:
        """Return how the sweep stands now."""


def make_reader(folder: Folder) -> Reader:
    """Return a reader for a sweep's folder; one with tables alone, as an archive has them, needs no spec."""
    has_runs = has_run_files(folder)
    if folder.exists(RUNS_TABLE) and not has_runs:
        return TableReader(folder)
    try:
        spec = _read_spec(folder)
    except (UserError, FileNotFoundError):
        if folder.exists(RUNS_TABLE) or has_runs:
            return TableReader(folder)
        raise
    return BoardReader(Board(spec, folder))


def _read_spec(folder: Folder) -> Spec:
    return parse_frozen(folder.read(SPEC).decode(errors="replace"), f"{folder.url}/{SPEC}")


class BoardReader:
    """Reads the plan, the runs and the progress of a sweep with a spec."""

    def __init__(self, board: Board) -> None:
        self.board = board

    @property
    def plan(self) -> Plan:
        return self.board.plan

    def read(self) -> View:
        status = self.board.refresh()
        paused = find_paused(self.board, status) if status.count("pending") else []
        runs = self._runs(status, paused)
        return View(status.name, runs, status.lines, status.packs, forecast(status), status.damaged, paused)

    def _runs(self, status: Status, paused: list[Paused]) -> pd.DataFrame:
        runs = status.runs
        finished = [self.board.finished.get(run) for run in runs["run"]]
        ended = ~runs["status"].isin(UNFINISHED)
        known = [f if is_ended else None for f, is_ended in zip(finished, ended, strict=True)]
        runs["seconds"] = pd.Series([f.seconds if f else None for f in known], dtype="float64")
        runs["host"] = pd.Series([f.host if f else None for f in known], dtype="object")
        runs["finished_at"] = pd.to_datetime(pd.Series([f.finished_at if f else None for f in known]), utc=True)
        of = {key: family.training.iterations for key, family in self.board.plan.families.items()}
        runs["iterations"] = [of[key] for key in zip(runs["world"], runs["method"], strict=True)]
        self._add_running(runs, status.packs)
        _add_paused(runs, paused)
        values = self._values()
        names = [name for name in values.columns if name not in ("method", "draw")]
        return runs.merge(values, "left", ["method", "draw"])[[*FIRST, *names, *LAST]]

    def _add_running(self, runs: pd.DataFrame, packs: list[dict[str, Any]]) -> None:
        """Fill in what running packs say of where they run and how long each of their runs has taken."""
        running = runs.index[runs["status"] == "running"]
        said = {run: pack for pack in packs for run in pack["runs"]}
        for row in running:
            pack = said[runs.at[row, "run"]]
            runs.at[row, "host"] = pack.get("host")
            runs.at[row, "seconds"] = pack["seconds"] / max(1, len(pack["runs"]))
            runs.at[row, "iterations"] = pack["iterations"]

    def _values(self) -> pd.DataFrame:
        """The hyperparameters by method and draw."""
        drawn = self.board.plan.values
        rows = [{"method": m, "draw": i, **values} for m, of in drawn.items() for i, values in enumerate(of)]
        return pd.DataFrame(rows or None, columns=None if rows else ["method", "draw"])


def _add_paused(runs: pd.DataFrame, paused: list[Paused]) -> None:
    """Mark the runs that wait with a checkpoint, and say how far they are; a failed one that does so stays failed."""
    if not paused:
        return
    at = {run.run_id: pack.iteration for pack in paused for run in pack.runs}
    waits = runs["run"].isin(at) & (runs["status"] == "pending")
    runs.loc[waits, "iteration"] = runs.loc[waits, "run"].map(at)
    runs.loc[waits, "status"] = "paused"


class TableReader:
    """Reads the table of runs of a sweep without run files, or without a spec of this version; nothing is running."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.plan: Plan | None = None
        self._planned: Counter[tuple[str, str]] = Counter()
        with suppress(UserError, FileNotFoundError, ValueError):
            self.plan = make_plan(_read_spec(folder), folder)
            self._planned.update((run.world, run.method) for run in self.plan.runs())

    def read(self) -> View:
        rows = read_runs(self.folder)
        runs = pd.DataFrame(rows)
        runs = runs.reindex(columns=list(dict.fromkeys([*NEEDED, *OPTIONAL, *runs.columns])))
        runs["score"] = pd.Series([score_of(row) for row in rows], dtype="float64")
        runs["iteration"] = pd.to_numeric(runs["iterations"])
        runs["finished_at"] = pd.to_datetime(runs["finished_at"], utc=True)
        values = [name for name in runs if name not in (*NEEDED, *OPTIONAL, *FIRST) and runs[name].notna().any()]
        lines = [_line(key, of_key) for key, of_key in runs.groupby(["world", "method"], sort=False)]
        for line in lines:
            line.pending = max(0, self._planned[line.world, line.method] - line.total)
        names = runs["sweep"].dropna().unique()
        name = str(names[0]) if len(names) == 1 else self.folder.url.rpartition("/")[2]
        return View(name, runs[[*FIRST, *values, *LAST]], lines)


def _line(key: Any, runs: pd.DataFrame) -> Line:
    done = runs["status"].isin(["done", "stopped"])
    scores = runs.loc[runs["status"] == "done", "score"].dropna()
    line = Line(str(key[0]), str(key[1]), done=int(done.sum()), failed=int((~done).sum()))
    line.scores, line.seconds = scores.tolist(), float(runs["seconds"].sum())
    return line
