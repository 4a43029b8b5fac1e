"""Train one pack in a folder: continue from its snapshot, note its progress, and leave one file a run."""

import json
import math
import os
import platform
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mulex.config import RunConfig, digest
from mulex.engines import Engine, Row
from mulex.folder import Folder
from mulex.provenance import provenance
from mulex.run_file import RunFile, curve_table, write_run_file
from mulex.snapshot import load_snapshot, note_runs, remove_snapshots, save_snapshot

PROGRESS_SECONDS = 1.0  # between two words about a pack


@dataclass(frozen=True)
class Labels:
    """What the tables say of a run besides its configuration."""

    sweep: str
    world: str
    draws: list[int]  # (P,)
    spec_hash: str


@dataclass
class Pack:
    """Runs of one shape that are trained together, and what they have done so far."""

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
        """A hash of what is trained."""
        return digest([run.run_id for run in self.runs])

    @property
    def iterations(self) -> int:
        return self.runs[0].training.iterations


class PackTraining:
    """A pack on its way from its snapshot to its run files.

    begin, then iterate until finished, then finish. It may stop between any two of them, in whatever way, and another
    one of the same pack in the same folder goes on from the last snapshot, bit for bit.
    """

    def __init__(self, pack: Pack, engine: Engine, folder: Folder, keep_policies: bool = False) -> None:
        self.pack, self.engine, self.folder, self.keep_policies = pack, engine, folder, keep_policies
        self._progress_written = 0.0
        self._whole = True  # between two iterations: an error in the middle of one leaves what no snapshot may keep

    def begin(self) -> list[str]:
        """Take up the latest whole snapshot; gives what the user should know."""
        found = load_snapshot(self.folder, self.pack.name)
        if found is None:
            return []
        if not found.arrays:
            return [*found.skipped, "no whole snapshot is left: beginning again"]
        if (other := found.about["engine"]) != self.engine.name:
            return [*found.skipped, f"the snapshot is of engine {other}, this is {self.engine.name}: beginning again"]
        self.engine.load(found.arrays)
        self.pack.curves, self.pack.errors = found.about["curves"], found.about["errors"]
        self.pack.started_at = found.about["started_at"]
        return [*found.skipped, f"continuing after iteration {self.engine.iterations}"]

    @property
    def finished(self) -> bool:
        return self.engine.iterations >= self.pack.iterations

    def iterate(self) -> None:
        """One iteration. A run whose loss is no longer a number has diverged; it cannot harm the others."""
        self._whole = False
        for p, row in enumerate(self.engine.iterate()):
            if self.pack.errors[p] is None:
                self.pack.errors[p] = _divergence(row)
            self.pack.curves[p].append(row)
        self._whole = True
        if time.monotonic() - self._progress_written > PROGRESS_SECONDS:
            self._write_progress()
            self._progress_written = time.monotonic()

    def snapshot(self) -> None:
        """Keep everything as it is now."""
        pack = self.pack
        about = {"curves": pack.curves, "errors": pack.errors, "started_at": pack.started_at}
        about["engine"] = self.engine.name
        save_snapshot(self.folder, pack.name, self.engine.iterations, self.engine.save(), about)
        note_runs(self.folder, [run.run_id for run in pack.runs])

    def leave(self) -> None:
        """Stop here: a snapshot says where to go on, and nothing says that it is still running."""
        if self._whole and self.pack.curves[0]:
            self.snapshot()
        self.folder.remove(progress_name(self.pack.name))

    def finish(self) -> None:
        """Write the runs, then clear away what was needed only on the way; a pack cut short leaves what it has."""
        if self.keep_policies:
            self._save_policies()
        for p in range(len(self.pack.runs)):
            write_run_file(self.folder, self._run_file(p))
        remove_snapshots(self.folder, self.pack.name)
        self.folder.remove(progress_name(self.pack.name))

    def _save_policies(self) -> None:
        from mulex.policy import save_policy  # needs torch, which much training does without

        for p, run in enumerate(self.pack.runs):
            save_policy(self.folder, run, self.engine.weights(p))

    def _run_file(self, p: int) -> RunFile:
        pack, run = self.pack, self.pack.runs[p]
        common = run_labels(pack, p)
        row = common | {"sweep": pack.labels.sweep, "spec_hash": pack.labels.spec_hash} | run.values
        row |= summary(pack.curves[p]) | provenance()
        row |= {
            "updates": self.engine.updates,
            "engine": self.engine.name,
            "status": "diverged" if pack.errors[p] else "done" if self.finished else "stopped",
            "error": pack.errors[p],
            "started_at": datetime.fromisoformat(pack.started_at),
        }
        curve = curve_table([common | step for step in pack.curves[p]])
        return RunFile(row, curve, run.model_dump(mode="json"))

    def _write_progress(self) -> None:
        pack, engine = self.pack, self.engine
        progress = {
            "pack": pack.name,
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
            "host": platform.node(),
            "pid": os.getpid(),
            "updated_at": datetime.now(UTC).isoformat(),
        }
        self.folder.write(progress_name(pack.name), json.dumps(progress).encode())


def progress_name(pack: str) -> str:
    """Where a pack says what it is doing."""
    return f"progress/{pack}.json"


def run_labels(pack: Pack, p: int) -> dict[str, Any]:
    """What stands in every row of a run, in both tables."""
    run, labels = pack.runs[p], pack.labels
    labelled = {"run": run.run_id, "world": labels.world, "method": run.method}
    return labelled | {"draw": labels.draws[p], "seed": run.seed}


def _divergence(row: Row) -> str | None:
    for name, x in row.items():
        if name.startswith("loss_") and x is not None and not math.isfinite(x):
            return f"{name} is {x} in iteration {row['iteration']}"
    return None


def summary(curve: list[Row]) -> dict[str, Any]:
    """What a whole curve comes to."""
    returns = [float(row["eval_return"] or 0.0) for row in curve]
    shares = [row["normalised_return"] for row in curve]
    normalised = [share for share in shares if share is not None]
    ideal = [row["iteration"] for row, share in zip(curve, shares, strict=True) if share is not None and share >= 1]
    return {
        "auc": sum(returns) / len(returns),
        "normalised_auc": sum(normalised) / len(normalised) if normalised else None,
        "final_return": returns[-1],
        "best_return": max(returns),
        "iterations_to_ideal": ideal[0] if ideal else None,
        "iterations": len(curve),
        "env_steps": curve[-1]["env_steps"],
        "seconds": sum(float(row["seconds"] or 0.0) for row in curve),
    }
