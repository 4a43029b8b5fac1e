"""`mulex check`: a learner's contract, tried on a short run. Each point is passed or failed, with what to do."""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from mulex.errors import UserError
from mulex.learners.contract import Run
from mulex.learners.engine import LearnerEngine
from mulex.learners.failures import LearnerFailed
from mulex.learners.limits import NO_LIMITS, Limits
from mulex.learners.make import make_learner_engine
from mulex.learners.names import DQN, LearnerName
from mulex.learners.registry import check_program_here, check_values, describe
from mulex.learners.rows import Row
from mulex.settings import digest

ITERATIONS = 4
_MUCH_GROWTH = 50e6  # bytes an iteration after the first

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Point:
    """One point of the contract."""

    name: str
    outcome: Outcome
    text: str
    """What was seen and, if the point failed, what to do."""


@dataclass(frozen=True)
class Trial:
    """What a learner is tried on."""

    learner: LearnerName
    world: dict[str, Any]
    values: dict[str, Any]
    training: dict[str, Any]
    iterations: int = ITERATIONS
    folder: Path | None = None
    limits: Limits = NO_LIMITS

    @contextmanager
    def engine(self, seed: int) -> Iterator[LearnerEngine]:
        """A fresh engine for the run with this seed, closed afterwards."""
        about = {"learner": self.learner.name, "values": self.values, "world": self.world, "seed": seed}
        with TemporaryDirectory(prefix="mulex-check-") as scratch:
            run = Run(
                run_id=digest(about),
                values=self.values,
                seed=seed,
                world=self.world,
                iterations=self.iterations,
                scratch=Path(scratch) / "run",
                training=self.training,
            )
            made = make_learner_engine(self.learner, run, self.folder, self.limits)
            with closing(made):
                yield made

    def rows(self, seed: int) -> list[Row]:
        """All rows of one undisturbed run."""
        with self.engine(seed) as engine:
            return [engine.iterate()[0] for _ in range(self.iterations)]


def check_learner(trial: Trial) -> Iterator[Point]:
    """Yield each point as it is known; after a failure that leaves nothing to try, the rest is not tried."""
    if trial.learner.kind == "dqn":
        raise UserError(f"learner {DQN}: is our own, which the tests check; name another")
    found = _attempt("importable", lambda: _describe(trial))
    yield found
    if found.outcome == "failed":
        return
    started, memory = time.perf_counter(), _peak_memory()
    first: list[Row] = []
    trained = _attempt("rows", lambda: _train(trial, first))
    seconds, grown = time.perf_counter() - started, _peak_memory() - memory
    yield trained
    if trained.outcome == "failed":
        return
    yield _finite(first)
    yield _attempt("same seed, same rows", lambda: _same_seed(trial, first))
    yield _attempt("other seed, other rows", lambda: _other_seed(trial, first))
    yield _attempt("stopped and resumed", lambda: _resumed(trial, first))
    yield _pace(first, seconds, grown)


def _attempt(name: str, work: Callable[[], tuple[Outcome, str]]) -> Point:
    try:
        return Point(name, *work())
    except (UserError, LearnerFailed) as error:
        return Point(name, "failed", str(error))


def _describe(trial: Trial) -> tuple[Outcome, str]:
    about = describe(trial.learner)
    check_values(trial.learner, trial.values, trial.world, trial.training)
    check_program_here(trial.learner, trial.folder)
    known = ", ".join(f"{name} = {default!r}" for name, default in about.hyperparameters.defaults.items())
    libraries = ", ".join(f"{name} {version or 'not installed'}" for name, version in about.libraries.items())
    parts = [f"hyperparameters: {known or 'any'}", f"version {about.version}" if about.version else "", libraries]
    return "passed", "; ".join(part for part in parts if part)


def _train(trial: Trial, rows: list[Row]) -> tuple[Outcome, str]:
    rows.extend(trial.rows(seed=0))
    return "passed", f"{len(rows)} rows with {', '.join(name for name in rows[-1] if name != 'seconds')}"


def _finite(rows: list[Row]) -> Point:
    wrong = {name for row in rows for name, cell in row.items() if isinstance(cell, float) and isnan(cell)}
    if wrong:
        text = f"NaN or infinite in {', '.join(sorted(wrong))}: kept, and the run counts as diverged if it is the score"
        return Point("finite rows", "failed", f"{text} or a loss; give None for what is unknown")
    return Point("finite rows", "passed", "every number is finite")


def _same_seed(trial: Trial, rows: list[Row]) -> tuple[Outcome, str]:
    difference = _difference(rows, trial.rows(seed=0))
    if difference is None:
        return "passed", "two runs of one seed agree in every cell"
    return "failed", f"{difference}; take all chance from run.rng(), run.key or {{key}}, and seed environments with it"


def _other_seed(trial: Trial, rows: list[Row]) -> tuple[Outcome, str]:
    if _difference(rows, trial.rows(seed=1)) is not None:
        return "passed", "runs of two seeds differ"
    return "failed", "runs of two seeds agree in every cell: the seed is not used; use run.rng(), run.key or {key}"


def _resumed(trial: Trial, rows: list[Row]) -> tuple[Outcome, str]:
    """Stop after half of the rows and go on from what was saved, in an engine of its own."""
    half = trial.iterations // 2
    with trial.engine(seed=0) as stopped:
        for _ in range(half):
            stopped.iterate()
        saved = stopped.save()
    with trial.engine(seed=0) as resumed:
        resumed.load(saved)
        begun_after = resumed.iterations
        rest = [resumed.iterate()[0] for _ in range(trial.iterations - begun_after)]
    if begun_after == 0:
        return "skipped", f"saves nothing after {half} rows: after a loss, runs of it begin again; {_HOW_TO_SAVE}"
    difference = _difference(rows[begun_after:], rest)
    if difference is None:
        return "passed", f"stopped after {half} rows, it went on after row {begun_after} with the same rows"
    return "failed", f"{difference} after resuming; save and load everything that changes"


_DERIVED = ("seconds", "normalised_return")
_HOW_TO_SAVE = "add save() and load(), run.checkpoint(), or {checkpoint}"


def _difference(one: list[Row], other: list[Row]) -> str | None:
    """Where two curves differ, besides how long they took."""
    for row, twin in zip(one, other, strict=True):
        for name in {**row, **twin}:
            cells = row.get(name), twin.get(name)
            if name not in _DERIVED and repr(cells[0]) != repr(cells[1]):  # repr, so that NaN equals NaN
                return f"row {row['iteration']}: {name} is {cells[0]} and {cells[1]}"
    return None


def _pace(rows: list[Row], seconds: float, grown: float) -> Point:
    """How long an iteration takes, and how much the memory grew."""
    each = [float(row["seconds"] or 0.0) for row in rows]
    text = f"an iteration takes {sum(each) / len(each):.3g} s, starting and ending {seconds - sum(each):.3g} s"
    if grown > _MUCH_GROWTH * len(rows):
        return Point("pace", "failed", f"{text}; the memory grew by {grown / 1e6:.0f} MB: long runs may not fit")
    return Point("pace", "passed", text)


def _peak_memory() -> float:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
