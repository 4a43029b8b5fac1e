"""How a sweep stands, read from its folder alone: so a live one and a dead one look the same from any terminal."""

import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mulex.store.entry import RunEntry
from mulex.store.folder import Folder
from mulex.store.progress import read_progress
from mulex.store.roles import TEST, TUNE
from mulex.store.run_store import RunStore
from sweeps.confirmation import read_confirmation
from sweeps.plan import PlannedRun, make_plan
from sweeps.spec import Spec

if TYPE_CHECKING:
    import pandas as pd

STILL_ALIVE = 120.0  # seconds since a pack last wrote its progress
EARLIER_RUNS = 3
"""How many runs all those of earlier launches count as in the cost of a run: a machine may have been busier then."""


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
    seconds: float = 0.0  # spent on running packs and on runs that the newest launch finished
    earlier: list[float] = field(default_factory=list)  # the seconds of each run that earlier launches finished

    @property
    def total(self) -> int:
        return self.done + self.running + self.failed + self.pending

    @property
    def ended(self) -> float:
        """Finished runs, and the finished share of running ones by their iterations."""
        return self.done + self.failed + self.partly

    @property
    def timed(self) -> tuple[float, float]:
        """A number of runs and the seconds that they cost, in which earlier launches count little.

        Of earlier launches the median counts, as a machine that is suspended during a run makes that run very long.
        """
        earlier = min(len(self.earlier), EARLIER_RUNS)
        usual = statistics.median(self.earlier) if earlier else 0.0
        return self.done - len(self.earlier) + self.partly + earlier, self.seconds + earlier * usual

    @property
    def seconds_a_run(self) -> float | None:
        """The mean cost of a run; None before anything is known of it."""
        runs, seconds = self.timed
        return seconds / runs if seconds > 0 and runs > 0 else None

    @property
    def best(self) -> float | None:
        return max(self.scores, default=None)

    @property
    def median(self) -> float | None:
        return statistics.median(self.scores) if self.scores else None


@dataclass(frozen=True)
class Status:
    """A whole sweep at one moment.

    Attributes:
        name: The sweep's name.
        lines: One entry for each method in each world, with counts and scores.
        packs: What each running pack last said about itself.
        failures: Every run that failed or diverged, with what its file says.
        damaged: The names of run files that are not whole.
    """

    name: str
    lines: list[Line]
    packs: list[dict[str, Any]]
    failures: list[tuple[PlannedRun, RunEntry]]
    damaged: list[str]
    _tests: Mapping[str, int] = field(default_factory=dict, repr=False)
    _rows: Callable[[], list[dict[str, Any]]] = field(default=list, repr=False)

    def count(self, name: str) -> int:
        """Sum `done`, `running`, `failed` or `pending` over all lines."""
        return sum(getattr(line, name) for line in self.lines)

    def tests(self, name: str) -> int:
        """Count the test runs that are `done`, `running`, `failed` or `pending`."""
        return self._tests[name]

    @property
    def total(self) -> int:
        """The number of planned runs."""
        return sum(line.total for line in self.lines)

    @cached_property
    def runs(self) -> "pd.DataFrame":
        """One row for each planned run that is known, with what it is, its status, score, iteration and error.

        The columns are run, world, method, draw, seed, role, status, score, iteration and error.

        A status is done, stopped, diverged, failed, running or pending.
        """
        import pandas as pd

        columns = ["run", "world", "method", "draw", "seed", "role", "status", "score", "iteration", "error"]
        return pd.DataFrame(self._rows(), columns=columns).astype({"score": "float64", "iteration": "int64"})


class Board:
    """Reads a sweep's folder again and again; what has not changed is read once."""

    def __init__(self, spec: Spec, folder: Folder, store: RunStore | None = None) -> None:
        """A store is given where somebody else keeps one of this folder."""
        self.spec, self.folder, self.store = spec, folder, store or RunStore(folder)
        self._make_plan()
        self.damaged: list[str] = []
        self.begun: dict[str, list[str]] = {}
        """The runs of packs that have left checkpoints, as far as they have been read."""

    def _make_plan(self) -> None:
        self.plan = make_plan(self.spec, self.folder)
        self.finished: dict[str, RunEntry] = {}
        """What the store has of planned runs, by their ids."""
        self._seen: dict[str, RunEntry] = {}
        self._counts = self.plan.counts()
        self.__dict__.pop("runs", None)

    @cached_property
    def runs(self) -> dict[str, PlannedRun]:
        """All planned runs that are known, by their ids, which takes long for large sweeps."""
        return {run.run_id: run for run in self.plan.runs()}

    def refresh(self, store_alone: bool = False) -> Status:
        """Look at what is new. By the store alone nothing is running: so a launch that has ended is judged."""
        if self.plan.search.adaptive or read_confirmation(self.folder) != self.plan.confirmation:
            self._make_plan()
        entries = self.store.refresh().entries
        self.damaged = [name for name in self.store.damaged if _run_id(name) in self.runs]
        for name in self._seen.keys() - entries.keys():
            self.finished.pop(_run_id(name), None)
        for name, entry in entries.items():
            if self._seen.get(name) is not entry and self.plan.has(entry):
                self.finished[entry.run] = entry
        self._seen = dict(entries)
        return self._status([] if store_alone else self._running_packs())

    def is_settled(self, run_id: str) -> bool:
        """Whether a run's file stays as it is; a failed run is tried again by the next launch."""
        return run_id in self.finished and not self.finished[run_id].needs_training

    def _running_packs(self) -> list[dict[str, Any]]:
        packs = [pack for pack in read_progress(self.folder) if pack["age"] < STILL_ALIVE]
        return [pack for pack in packs if self._running(pack)]

    def _running(self, pack: dict[str, Any]) -> list[PlannedRun]:
        """The planned runs of a pack that are not finished, as it says itself which they are."""
        unfinished = [i for i, run in enumerate(pack["runs"]) if not self.is_settled(run)]
        if not pack.keys() >= {"world", "method", "draws", "seeds"} or self.plan.may_repeat:
            return [self.runs[pack["runs"][i]] for i in unfinished if pack["runs"][i] in self.runs]
        place = pack["world"], pack["method"]
        known = range(len(self.plan.values.get(place[1], ())) if place in self.plan.families else 0)
        runs = [
            self.plan.run(*place, pack["draws"][i], pack["seeds"][i]) for i in unfinished if pack["draws"][i] in known
        ]
        return [replace(run, role=self.plan.role(run) or TUNE) for run in runs if run.run_id in pack["runs"]]

    def _status(self, packs: list[dict[str, Any]]) -> Status:
        lines = {(w, m): self._line(w, m) for w in self.spec.worlds for m in self.spec.methods}
        tests = Counter({"pending": self._planned_tests()})
        running = {run.run_id: run for pack in packs for run in self._running(pack)}
        failures = []
        newest = max((entry.launch for entry in self.finished.values()), default=0)
        for run_id, entry in self.finished.items():
            if run_id not in running:
                role = self.plan.role(entry)
                kind = _count(lines[entry.world, entry.method], entry, role, is_new=entry.launch == newest)
                if role == TEST:
                    tests.update({kind: 1, "pending": -1})
                if kind == "failed":
                    failures.append((self.plan.planned(entry), entry))
        for run in running.values():
            lines[run.world, run.method].running += 1
            tests.update({"running": 1, "pending": -1} if run.role == TEST else {})
        for key, line in lines.items():
            line.pending += self._counts[key] - line.done - line.failed - line.running
        for pack in packs:
            self._add_share(pack, lines)
        failures.sort(key=lambda pair: self._order(pair[0]))
        return Status(
            self.spec.name, list(lines.values()), packs, failures, self.damaged, tests, lambda: self._rows(packs)
        )

    def _order(self, run: PlannedRun) -> tuple[bool, int, int, int, int]:
        """The place of a run in the plan."""
        worlds, methods = list(self.spec.worlds), list(self.spec.methods)
        return run.role == TEST, worlds.index(run.world), run.draw, methods.index(run.method), run.seed

    def _planned_tests(self) -> int:
        chosen = [self.plan.confirmation.of(*key) for key in self.plan.families]
        return sum(map(len, chosen)) * self.plan.confirmation.seeds

    def _rows(self, packs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One row for each planned run, with its state as of the last look; `packs` are those that are running."""
        running = {run.run_id: pack["iteration"] for pack in packs for run in self._running(pack)}
        rows = []
        for run in self.plan.runs():
            entry = self.finished.get(run.run_id)
            if run.run_id in running:
                state: dict[str, Any] = {"status": "running", "iteration": running[run.run_id]}
            elif entry is None:
                state = {"status": "pending", "iteration": 0}
            else:
                state = {"status": entry.status, "iteration": entry.iterations}
                state |= {"score": entry.score, "error": entry.error}
            rows.append(run.plain() | {"role": run.role} | state)
        return rows

    def _add_share(self, pack: dict[str, Any], lines: dict[tuple[str, str], Line]) -> None:
        """Count the finished share of a running pack."""
        runs = self._running(pack)
        line = lines[runs[0].world, runs[0].method]
        line.partly += len(runs) * pack["iteration"] / pack["iterations"]
        line.seconds += pack["seconds"] * len(runs) / len(pack["runs"])

    def _line(self, world: str, method: str) -> Line:
        """An empty line, in which runs that an adaptive search has not asked for yet are pending."""
        search = self.spec.search
        unasked = search.draws - len(self.plan.values[method]) if self.plan.search.adaptive else 0
        return Line(world, method, pending=unasked * search.seeds)


def _count(line: Line, entry: RunEntry, role: str | None, is_new: bool) -> str:
    """Count a finished run in its line, and return as what; best and median are those of tuning runs."""
    if entry.status not in ("done", "stopped"):
        line.failed += 1
        return "failed"
    line.done += 1
    if is_new:
        line.seconds += entry.seconds
    else:
        line.earlier.append(entry.seconds)
    line.scores += [entry.score or 0.0] if entry.status == "done" and role == TUNE else []
    return "done"


def _run_id(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".parquet")
