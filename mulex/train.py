"""Train one pack in a folder: continue from its snapshot, note its progress, and leave one file a run."""

import json
import math
import os
import platform
import subprocess
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from mulex.config import RunConfig, digest
from mulex.engines import Engine, Row
from mulex.files import write_text_whole
from mulex.policy import save_policy
from mulex.run_file import RunFile, write_run_file
from mulex.schema import SCHEMA_VERSION
from mulex.snapshot import load_snapshot, save_snapshot


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


@dataclass(frozen=True)
class Where:
    """The folder of a sweep, and what is kept in it."""

    folder: Path
    snapshot_seconds: float = 300.0
    keep_policies: bool = False


class Watcher(Protocol):
    """Who is told how a pack gets on, and may stop it."""

    def say(self, message: str) -> None:
        """Something the user should know."""

    def iterated(self, pack: Pack, engine: Engine) -> bool:
        """An iteration is done; False asks to stop here."""


def train_pack(pack: Pack, engine: Engine, where: Where, watcher: Watcher) -> bool:
    """Train to the end, or until the watcher stops it: then a snapshot is left, and the next call continues there."""
    _continue_from_snapshot(pack, engine, where, watcher)
    finished = _iterate(pack, engine, where, watcher)
    if finished:
        _finish(pack, engine, where)
    return finished


def _checkpoints(pack: Pack, where: Where) -> Path:
    return where.folder / "checkpoints" / pack.name


def _continue_from_snapshot(pack: Pack, engine: Engine, where: Where, watcher: Watcher) -> None:
    found = load_snapshot(_checkpoints(pack, where), pack.name)
    if found is None:
        return
    for message in found.skipped:
        watcher.say(message)
    if not found.arrays:
        watcher.say("no whole snapshot is left: beginning again")
        return
    engine.load(found.arrays)
    pack.curves, pack.errors = found.about["curves"], found.about["errors"]
    pack.started_at = found.about["started_at"]
    watcher.say(f"continuing after iteration {engine.iterations}")


def _iterate(pack: Pack, engine: Engine, where: Where, watcher: Watcher) -> bool:
    saved = time.monotonic()
    while engine.iterations < pack.iterations:
        _add_rows(pack, engine.iterate())
        _write_progress(pack, engine, where)
        goes_on = watcher.iterated(pack, engine)
        if not goes_on or time.monotonic() - saved > where.snapshot_seconds:
            _save(pack, engine, where)
            saved = time.monotonic()
        if not goes_on:
            return False
    return True


def _add_rows(pack: Pack, rows: list[Row]) -> None:
    """A run whose loss is no longer a number has failed; it cannot harm the others, so they go on."""
    for p, row in enumerate(rows):
        lost = [name for name, x in row.items() if name.startswith("loss_") and x is not None and not math.isfinite(x)]
        if lost and pack.errors[p] is None:
            pack.errors[p] = f"{lost[0]} is {row[lost[0]]} in iteration {row['iteration']}"
        pack.curves[p].append(row)


def _save(pack: Pack, engine: Engine, where: Where) -> None:
    about = {"curves": pack.curves, "errors": pack.errors, "started_at": pack.started_at}
    save_snapshot(_checkpoints(pack, where), engine.iterations, pack.name, engine.save(), about)


def _write_progress(pack: Pack, engine: Engine, where: Where) -> None:
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
        "engine": engine.name,
        "host": platform.node(),
        "pid": os.getpid(),
        "updated_at": datetime.now(UTC).isoformat(),
    }
    write_text_whole(where.folder / "progress" / f"{pack.name}.json", json.dumps(progress))


def _finish(pack: Pack, engine: Engine, where: Where) -> None:
    """Write the runs, then clear away what was needed only on the way."""
    for p, run in enumerate(pack.runs):
        if where.keep_policies:
            save_policy(where.folder / "policies" / f"{run.run_id}.pt", run, engine.weights(p))
        labels = pack.labels
        common: dict[str, Any] = {"run": run.run_id, "world": labels.world, "method": run.method}
        common |= {"draw": labels.draws[p], "seed": run.seed}
        curve = [common | row for row in pack.curves[p]]
        row = common | {"sweep": labels.sweep, "spec_hash": labels.spec_hash} | run.values
        row |= summary(pack.curves[p]) | _provenance(pack, engine, p)
        write_run_file(where.folder, RunFile(row, curve, run.model_dump(mode="json")))
    for path in _checkpoints(pack, where).glob("*"):
        path.unlink()
    if _checkpoints(pack, where).exists():
        _checkpoints(pack, where).rmdir()
    (where.folder / "progress" / f"{pack.name}.json").unlink(missing_ok=True)


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


def _provenance(pack: Pack, engine: Engine, p: int) -> dict[str, Any]:
    return {
        "updates": engine.updates,
        "engine": engine.name,
        "status": "failed" if pack.errors[p] else "done",
        "error": pack.errors[p],
        "started_at": datetime.fromisoformat(pack.started_at),
        "finished_at": datetime.now(UTC),
        "host": platform.node(),
        "package_version": version("mulex"),
        "git_commit": git_commit(),
        "schema_version": SCHEMA_VERSION,
    }


def git_commit() -> str | None:
    """The commit of the checkout that this package runs from, if it is one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
