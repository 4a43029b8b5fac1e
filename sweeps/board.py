"""How a sweep stands, read from its folder alone: so a live one and a dead one look the same from any terminal."""

import json
import statistics
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mulex.folder import Folder
from mulex.run_file import DamagedRunFile, read_run_note
from sweeps.launch import make_plan
from sweeps.plan import PlannedRun
from sweeps.spec import Spec

STILL_ALIVE = 120.0  # seconds since a pack last said something


@dataclass(frozen=True)
class Finished:
    """What the board remembers of a run file."""

    status: str
    error: str | None
    score: float  # normalised AUC, or the plain one where there is no ideal return
    seconds: float
    finished_at: datetime


@dataclass
class Line:
    """One method in one world."""

    world: str
    method: str
    done: int = 0
    running: int = 0
    failed: int = 0
    pending: int = 0
    scores: list[float] = field(default_factory=list)
    partly: float = 0.0  # what running packs have done, as a number of runs
    seconds: float = 0.0  # that went into them and into what is done

    @property
    def total(self) -> int:
        return self.done + self.running + self.failed + self.pending

    @property
    def ended(self) -> float:
        """Runs, and parts of runs by their iterations."""
        return self.done + self.failed + self.partly

    @property
    def seconds_a_run(self) -> float | None:
        """None before anything is known of it."""
        return self.seconds / (self.done + self.partly) if self.seconds > 0 and self.done + self.partly > 0 else None

    @property
    def best(self) -> float | None:
        return max(self.scores, default=None)

    @property
    def median(self) -> float | None:
        return statistics.median(self.scores) if self.scores else None


@dataclass(frozen=True)
class Standing:
    """The whole sweep at one moment."""

    lines: list[Line]
    packs: list[dict[str, Any]]  # what each running pack last said
    failures: list[tuple[PlannedRun, Finished]]
    damaged: list[str]

    def count(self, name: str) -> int:
        """Over all lines."""
        return sum(getattr(line, name) for line in self.lines)

    @property
    def total(self) -> int:
        return sum(line.total for line in self.lines)


class Board:
    """Reads a sweep's folder again and again; a run file is read once."""

    def __init__(self, spec: Spec, folder: Folder) -> None:
        self.spec, self.folder = spec, folder
        self._make_plan()
        self.finished: dict[str, Finished] = {}
        self.damaged: list[str] = []

    def _make_plan(self) -> None:
        self.plan = make_plan(self.spec, self.folder)
        self.runs = {run.run_id: run for run in self.plan.runs()}

    def refresh(self) -> Standing:
        """Look at what is new."""
        if self.spec.search.algorithm == "tpe":
            self._make_plan()
        self.damaged = []
        for name in self.folder.list("runs"):
            run_id = name.rpartition("/")[2].removesuffix(".parquet")
            if run_id in self.runs and not self._is_settled(run_id):
                self._read(name, run_id)
        return self._standing(self._progress())

    def _is_settled(self, run_id: str) -> bool:
        """Whether its file stays as it is; a failed run is tried again by the next launch."""
        return run_id in self.finished and self.finished[run_id].status != "failed"

    def _read(self, name: str, run_id: str) -> None:
        try:
            row = read_run_note(self.folder, name).row
        except DamagedRunFile:
            self.damaged.append(name)
            self.finished.pop(run_id, None)
        except FileNotFoundError:
            return
        else:
            score = row["normalised_auc"] if row.get("normalised_auc") is not None else row.get("auc")
            self.finished[run_id] = Finished(
                row["status"], row["error"], float(score or 0.0), float(row.get("seconds") or 0.0), row["finished_at"]
            )

    def _progress(self) -> list[dict[str, Any]]:
        packs = []
        for name in self.folder.list("progress"):
            try:
                said = json.loads(self.folder.read(name))
            except (FileNotFoundError, ValueError):
                continue
            age = (datetime.now(UTC) - datetime.fromisoformat(said["updated_at"])).total_seconds()
            if age < STILL_ALIVE and any(run in self.runs and not self._is_settled(run) for run in said["runs"]):
                packs.append(said | {"age": age})
        return packs

    def _standing(self, packs: list[dict[str, Any]]) -> Standing:
        running = {run for pack in packs for run in pack["runs"]}
        lines = {(w, m): self._line(w, m) for w in self.spec.worlds for m in self.spec.methods}
        failures = []
        for run_id, run in self.runs.items():
            line = lines[run.world, run.method]
            finished = self.finished.get(run_id)
            if finished is None or (finished.status == "failed" and run_id in running):
                line.running += run_id in running
                line.pending += run_id not in running
            elif finished.status in ("done", "stopped"):
                line.done += 1
                line.seconds += finished.seconds
                line.scores += [finished.score] if finished.status == "done" else []
            else:
                line.failed += 1
                failures.append((run, finished))
        for pack in packs:
            mine = [self.runs[run] for run in pack["runs"] if run in self.runs and not self._is_settled(run)]
            line = lines[mine[0].world, mine[0].method]
            line.partly += len(mine) * pack["iteration"] / pack["iterations"]
            line.seconds += pack["seconds"] * len(mine) / len(pack["runs"])
        return Standing(list(lines.values()), packs, failures, self.damaged)

    def _line(self, world: str, method: str) -> Line:
        """With what an adaptive search has not asked for yet as pending."""
        search = self.spec.search
        return Line(world, method, pending=(search.draws - len(self.plan.values[method])) * search.seeds)


@dataclass(frozen=True)
class Forecast:
    """What the pace so far promises."""

    runs_an_hour: float
    seconds_left: float
    is_least: bool  # where nothing is known yet of what some runs cost


class Pace:
    """A forecast from what happened while somebody watched: runs of a large world count for more than small ones."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._first: list[float] | None = None

    def forecast(self, standing: Standing) -> Forecast | None:
        """None as long as there is nothing to go by."""
        ended = [line.ended for line in standing.lines]
        if self._first is None:
            self._first = ended
        spent = time.monotonic() - self._began
        gained = [now - before for now, before in zip(ended, self._first, strict=True)]
        if spent < 2 or sum(gained) <= 0:
            return None
        known = [line.seconds_a_run for line in standing.lines]
        dearest = max((cost for cost in known if cost), default=1.0)
        costs = [cost or dearest for cost in known]
        left = sum((line.total - line.ended) * cost for line, cost in zip(standing.lines, costs, strict=True))
        worked = sum(gain * cost for gain, cost in zip(gained, costs, strict=True))
        is_least = any(not cost and line.pending for cost, line in zip(known, standing.lines, strict=True))
        return Forecast(3600 * sum(gained) / spent, left * spent / worked, is_least) if worked > 0 else None
