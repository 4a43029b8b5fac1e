"""What a sweep's folder has: its frozen spec, which runs are done, and whether its files are whole."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.folder import Folder
from mulex.provenance import provenance
from mulex.run_file import DamagedRunFile, RunFile, curve_table, read_run_note, run_name, write_run_file
from sweeps.plan import Plan, PlannedRun
from sweeps.spec import Spec, differences, load_spec, write_yaml

SPEC = "spec.yaml"


def frozen_spec(folder: Folder) -> Spec:
    """The spec that a sweep was launched with."""
    try:
        text = folder.read(SPEC).decode()
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder.url}: not a sweep's folder, it has no {SPEC}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{folder.url}/{SPEC}: is not UTF-8: {error}") from None
    return load_spec(text, f"{folder.url}/{SPEC}")


def additions(folder: Folder, spec: Spec) -> list[str]:
    """What a spec adds to the one that its folder was launched with; it may change nothing else."""
    if not folder.exists(SPEC):
        return []
    added, changed = differences(frozen_spec(folder), spec)
    if changed:
        listed = "\n".join(f"  {change}" for change in changed)
        raise UserError(
            f"{folder.url} was launched with another spec:\n{listed}\nuse another --out, or undo these changes"
        )
    return added


def freeze_spec(folder: Folder, spec: Spec) -> None:
    """Keep the spec that is launched."""
    additions(folder, spec)
    folder.write(SPEC, write_yaml(spec.resolved()).encode())


@dataclass
class Stock:
    """The planned runs, by what the store has of them."""

    done: list[PlannedRun] = field(default_factory=list)
    diverged: list[PlannedRun] = field(default_factory=list)
    failed: list[PlannedRun] = field(default_factory=list)
    missing: list[PlannedRun] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    """Run files of no planned run."""
    seals: dict[str, str] = field(default_factory=dict)
    """Of every whole file of a planned run, by its name."""


def take_stock(folder: Folder, plan: Plan) -> Stock:
    """Read every run file once."""
    stock = Stock()
    there = set(folder.list("runs"))
    for run in plan.runs():
        name = run_name(run.method, run.run_id)
        if name not in there:
            stock.missing.append(run)
            continue
        there.discard(name)
        try:
            note = read_run_note(folder, name)
        except DamagedRunFile:
            stock.damaged.append(name)
            stock.missing.append(run)
            continue
        kinds = {"done": stock.done, "stopped": stock.done, "diverged": stock.diverged}
        kinds.get(note.row["status"], stock.failed).append(run)
        stock.seals[name] = note.seal
    stock.strangers = sorted(there)
    return stock


def has_result(folder: Folder, run: PlannedRun) -> bool:
    """Whether a run need not be trained again."""
    try:
        return bool(read_run_note(folder, run_name(run.method, run.run_id)).row["status"] != "failed")
    except (FileNotFoundError, DamagedRunFile):
        return False


def move_aside(folder: Folder, names: list[str]) -> None:
    """Keep damaged files for whoever wants to look, out of the way of their runs."""
    for name in names:
        folder.move(name, f"damaged/{name.rpartition('/')[2]}")


def record_failure(folder: Folder, plan: Plan, run: PlannedRun, error: str, spec_hash: str) -> None:
    """Leave a run file without a curve that says why; the next launch tries the run again."""
    family = plan.families[run.world, run.method]
    config: RunConfig = family.run(plan.values[run.method][run.draw], run.seed)
    row: dict[str, Any] = {
        "run": run.run_id,
        "sweep": plan.spec.name,
        "world": run.world,
        "method": run.method,
        "draw": run.draw,
        "seed": run.seed,
        "status": "failed",
        "error": error,
        "iterations": 0,
        "started_at": datetime.now(UTC),
        "spec_hash": spec_hash,
    }
    write_run_file(folder, RunFile(row | config.values | provenance(), curve_table([]), config.model_dump(mode="json")))
