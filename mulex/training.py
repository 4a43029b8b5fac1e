"""Train one pack in a folder: continue from its checkpoint, report its progress, write one file per run."""

import math
import time
import traceback
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mulex.config import RunConfig
from mulex.learners.dqn.engines import Engine, Row
from mulex.learners.failures import whole_traceback
from mulex.settings import digest
from mulex.store.checkpoints import Checkpoint, load_checkpoint, note_runs, remove_checkpoints, save_checkpoint
from mulex.store.folder import Folder, StorageError
from mulex.store.layout import CHECKPOINTS, KEPT
from mulex.store.progress import curves_so_far, last_rows, remove_progress, write_progress
from mulex.store.provenance import provenance
from mulex.store.roles import TUNE
from mulex.store.run_file import RunFile, curve_table, write_run_file
from mulex.store.score import summary

PROGRESS_SECONDS = 2.0  # between two progress files of a pack


@dataclass(frozen=True)
class Labels:
    """The columns of a run that are not part of its configuration."""

    sweep: str
    world: str
    draws: list[int]  # (P,)
    spec_hash: str
    launch: int = 0  # the fencing number of the launch that trains it
    role: str = TUNE
    tracked: bool = False  # whether a tracker wants the last rows of running packs


@dataclass
class Pack:
    """Runs of one shape that are trained together, with their curves so far."""

    runs: list[RunConfig]
    labels: Labels
    curves: list[list[Row]] = field(default_factory=list)
    errors: list[str | None] = field(default_factory=list)
    started_at: str = ""

    def __post_init__(self) -> None:
        self.curves = self.curves or [[] for _ in self.runs]
        self.errors = self.errors or [None for _ in self.runs]
        self.started_at = self.started_at or datetime.now(UTC).isoformat()

    @property
    def name(self) -> str:
        """A hash of the ids of its runs."""
        return digest([run.run_id for run in self.runs])

    @property
    def iterations(self) -> int:
        return self.runs[0].training.iterations


class PackTraining:
    """The training of a pack, from its checkpoint to its run files.

    Call begin, then iterate until finished, then finish. It may stop at any moment and in any way: another training
    of the same pack in the same folder continues from the last checkpoint, bit for bit.
    """

    def __init__(
        self,
        pack: Pack,
        engine: Engine,
        folder: Folder,
        keep_policies: bool = False,
        keep_checkpoints: bool = False,
        source: str = "",
    ) -> None:
        """`source` is the name of the pack whose checkpoints it begins with: the same runs when they were shorter."""
        self.pack, self.engine, self.folder, self.keep_policies = pack, engine, folder, keep_policies
        self.keep_checkpoints, self.source = keep_checkpoints, source
        self._progress_written = 0.0
        self._whole = True  # false within an iteration: an error there leaves a state that no checkpoint may hold

    def begin(self) -> list[str]:
        """Take up the latest usable checkpoint, if there is one; gives what the user should know."""
        found = load_checkpoint(self.folder, self.pack.name, self.engine.name) or self._shorter()
        if found is None:
            return []
        if not found.arrays:
            for name in found.unusable:
                self.folder.remove(name)
            return [*found.skipped, "no usable checkpoint is left: beginning again"]
        self.engine.load(found.arrays)
        self.pack.curves, self.pack.errors = found.about["curves"], found.about["errors"]
        self.pack.started_at = found.about["started_at"]
        return [*found.skipped, f"continuing after iteration {self.engine.iterations}"]

    def _shorter(self) -> Checkpoint | None:
        """Return the state of these runs from when they were shorter, if they were and it can be used."""
        for under in (KEPT, CHECKPOINTS) if self.source else ():
            found = load_checkpoint(self.folder, self.source, self.engine.name, under)
            if found is not None and found.arrays:
                return found
        return None

    @property
    def finished(self) -> bool:
        return self.engine.iterations >= self.pack.iterations

    def iterate(self) -> None:
        """Train one iteration. A run whose loss is NaN or infinite has diverged, which does not affect the others.

        If the iteration fails, a run that is trained alone is recorded with its traceback and its rows so far.
        """
        self._whole = False
        try:
            rows = self.engine.iterate()
        except Exception as error:
            self._record(error)
            raise
        for p, row in enumerate(rows):
            if self.pack.errors[p] is None:
                self.pack.errors[p] = _divergence(row)
            self.pack.curves[p].append(row)
        self._whole = True
        if time.monotonic() - self._progress_written > PROGRESS_SECONDS:
            self._write_progress()
            self._progress_written = time.monotonic()

    def checkpoint(self) -> None:
        """Write the whole state as it is now, after the list of runs without which no launch would find it."""
        self._save_state(CHECKPOINTS)

    def _save_state(self, under: str) -> None:
        pack = self.pack
        note_runs(self.folder, [run.run_id for run in pack.runs], under)
        about = {"curves": pack.curves, "errors": pack.errors, "started_at": pack.started_at}
        about["engine"] = self.engine.name
        save_checkpoint(self.folder, pack.name, self.engine.iterations, self.engine.save(), about, under)

    def leave(self) -> None:
        """Stop between two iterations: write a checkpoint, and say no longer that the pack is being trained."""
        if self._whole and self.pack.curves[0]:
            self.checkpoint()
        remove_progress(self.folder, self.pack.name)

    def finish(self) -> None:
        """Write the run files, then remove checkpoints and progress; a pack cut short writes the rows it has."""
        if self.keep_policies:
            self._save_policies()
        if self.keep_checkpoints and self.finished:
            self._save_state(KEPT)
        for p in range(len(self.pack.runs)):
            write_run_file(self.folder, self._run_file(p))
        remove_checkpoints(self.folder, self.pack.name)
        for under in (KEPT, CHECKPOINTS) if self.source and self.finished else ():
            remove_checkpoints(self.folder, self.source, under)
        remove_progress(self.folder, self.pack.name)

    def _save_policies(self) -> None:
        from mulex.learners.dqn.policy import save_policy  # imports torch, which the native engine does without

        for p, run in enumerate(self.pack.runs):
            save_policy(self.folder, run, self.engine.weights(p))

    def _record(self, error: Exception) -> None:
        """Record a failure; of several runs it is not known which one failed, so each is then tried alone."""
        if len(self.pack.runs) == 1 and not isinstance(error, StorageError):
            self._write_failed(0, f"{_last_line(error)}\n{whole_traceback(error)}")

    def _write_failed(self, p: int, error: str) -> None:
        pack, run, curve = self.pack, self.pack.runs[p], self.pack.curves[p]
        common = run_labels(pack, p)
        row = common | {"sweep": pack.labels.sweep, "spec_hash": pack.labels.spec_hash} | run.values
        row["role"] = pack.labels.role
        row |= (summary(curve, run.training.score) if curve else {"iterations": 0}) | provenance()
        row |= {
            "updates": self.engine.updates,
            "engine": self.engine.name,
            "status": "failed",
            "error": error,
            "started_at": datetime.fromisoformat(pack.started_at),
        }
        rows = curve_table([common | step for step in curve])
        write_run_file(self.folder, RunFile(row, rows, run.model_dump(mode="json"), pack.labels.launch))

    def _run_file(self, p: int) -> RunFile:
        pack, run = self.pack, self.pack.runs[p]
        common = run_labels(pack, p)
        row = common | {"sweep": pack.labels.sweep, "spec_hash": pack.labels.spec_hash} | run.values
        row["role"] = pack.labels.role
        row |= summary(pack.curves[p], run.training.score) | provenance()
        row |= {
            "updates": self.engine.updates,
            "engine": self.engine.name,
            "status": "diverged" if pack.errors[p] else "done" if self.finished else "stopped",
            "error": pack.errors[p],
            "started_at": datetime.fromisoformat(pack.started_at),
        }
        curve = curve_table([common | step for step in pack.curves[p]])
        return RunFile(row, curve, run.model_dump(mode="json"), pack.labels.launch)

    def _write_progress(self) -> None:
        pack, engine = self.pack, self.engine
        progress = {
            "world": pack.labels.world,
            "method": pack.runs[0].method,
            "runs": [run.run_id for run in pack.runs],
            "draws": pack.labels.draws,
            "seeds": [run.seed for run in pack.runs],
            "iteration": engine.iterations,
            "iterations": pack.iterations,
            "eval_return": [curve[-1]["eval_return"] for curve in pack.curves],
            "seconds": sum(float(row["seconds"] or 0.0) for curve in pack.curves for row in curve),
            "engine": engine.name,
            "started_at": pack.started_at,
            "curves": curves_so_far(pack.curves),
        }
        if pack.labels.tracked:
            progress["rows"] = last_rows(pack.curves)
        write_progress(self.folder, pack.name, progress)


def run_labels(pack: Pack, p: int) -> dict[str, Any]:
    """The columns that every row of a run has, in both tables."""
    run, labels = pack.runs[p], pack.labels
    labelled = {"run": run.run_id, "world": labels.world, "method": run.method}
    return labelled | {"draw": labels.draws[p], "seed": run.seed}


def _last_line(error: BaseException) -> str:
    """The error in one line, as a traceback ends."""
    return " ".join("".join(traceback.format_exception_only(error)).split())


def _divergence(row: Row) -> str | None:
    for name, x in row.items():
        if name.startswith("loss_") and x is not None and not math.isfinite(x):
            return f"{name} is {x} in iteration {row['iteration']}"
    return None
