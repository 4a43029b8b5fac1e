"""What a sweep's folder has: its frozen spec, which runs are done, and whether its files are whole."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.learners.run_config import LearnerRun
from mulex.learners.scratch import sweep_scratch
from mulex.settings import digest
from mulex.store.folder import Folder
from mulex.store.layout import SPEC, run_name
from mulex.store.provenance import provenance
from mulex.store.roles import TEST
from mulex.store.run_file import DamagedRunFile, RunFile, curve_table, write_run_file
from mulex.store.run_store import RunStore, read_run
from mulex.store.score import summary
from sweeps.learner_code import ship_learners
from sweeps.plan import Plan, PlannedRun
from sweeps.rows_so_far import rows_so_far
from sweeps.spec import Spec, differences, parse_frozen, write_yaml


def frozen_spec(folder: Folder) -> Spec:
    """Read the spec that a sweep was launched with."""
    spec = frozen_spec_if_any(folder)
    if spec is None:
        raise UserError(f"{folder.url}: not a sweep's folder, it has no {SPEC}")
    return spec


def frozen_spec_if_any(folder: Folder) -> Spec | None:
    """Read the spec that a sweep was launched with; None before the first launch."""
    try:
        text = folder.read(SPEC).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UserError(f"{folder.url}/{SPEC}: is not UTF-8: {error}") from None
    return parse_frozen(text, f"{folder.url}/{SPEC}")


def additions(folder: Folder, spec: Spec) -> list[str]:
    """List what a spec adds to the one that its folder was launched with. A spec that changes it is refused."""
    frozen = frozen_spec_if_any(folder)
    if frozen is None:
        return []
    added, changed = differences(frozen, spec)
    if changed:
        listed = "\n".join(f"  {change}" for change in changed)
        raise UserError(
            f"{folder.url} was launched with another spec:\n{listed}\nuse another --out, or undo these changes"
        )
    return added


def freeze_spec(folder: Folder, spec: Spec) -> None:
    """Write the spec that is launched, with nothing left to defaults, to its folder."""
    additions(folder, spec)
    ship_learners(folder, spec)
    folder.write(SPEC, write_yaml(spec.resolved()).encode())


class Stock:
    """The planned runs, by what the store has of them."""

    def __init__(self, store: RunStore, plan: Plan) -> None:
        self.plan = plan
        self.entries = [entry for entry in store.entries.values() if plan.has(entry)]
        """What the store has of planned runs."""
        planned = {run_name(run.method, run.run_id) for run in plan.runs()} if store.damaged else set()
        self.damaged = [name for name in store.damaged if name in planned]
        known = {entry.name for entry in self.entries} | planned
        others = [entry.name for entry in store.entries.values() if entry.name not in known and not plan.had(entry)]
        self.strangers = sorted([*others, *store.others, *(name for name in store.damaged if name not in planned)])
        """The names of run files of no planned run, nor of one that was shorter."""

    def wanted(self, tests_alone: bool = False) -> Iterator[PlannedRun]:
        """Yield the runs to train, first those that are missing, then those that failed."""
        yield from self.plan.missing(self.entries, tests_alone)
        yield from (run for run in self.failed if run.role == TEST or not tests_alone)

    @property
    def missing(self) -> list[PlannedRun]:
        """The runs that the store does not have."""
        return list(self.plan.missing(self.entries))

    @cached_property
    def failed(self) -> list[PlannedRun]:
        """The runs that the next launch tries again, in the order of the plan."""
        worlds, methods = list(self.plan.spec.worlds), list(self.plan.spec.methods)
        failed = self._of(lambda status: status not in ("done", "stopped", "diverged"))
        return sorted(failed, key=lambda r: (r.role == TEST, worlds.index(r.world), r.draw, methods.index(r.method)))

    @property
    def done(self) -> list[PlannedRun]:
        """The runs with a result."""
        return self._of(lambda status: status in ("done", "stopped"))

    @property
    def diverged(self) -> list[PlannedRun]:
        """The runs whose loss became NaN or infinite."""
        return self._of(lambda status: status == "diverged")

    def _of(self, wanted: Callable[[str], bool]) -> list[PlannedRun]:
        return [self.plan.planned(entry) for entry in self.entries if wanted(entry.status)]

    @property
    def checksums(self) -> dict[str, str]:
        """The checksum of every whole file of a planned run, by its name."""
        return {entry.name: entry.checksum for entry in self.entries}


def take_stock(store: RunStore, plan: Plan) -> Stock:
    """Look at the store, and sort the planned runs by what it has of them."""
    return Stock(store.refresh(), plan)


def has_result(store: RunStore, run: PlannedRun) -> bool:
    """Say whether a run need not be trained again."""
    try:
        return bool(store.note(run_name(run.method, run.run_id)).row["status"] != "failed")
    except (FileNotFoundError, DamagedRunFile):
        return False


def _tells_more(folder: Folder, run: PlannedRun, launch: int) -> bool:
    """Say whether the worker itself has recorded the failure, with the whole traceback and the rows so far."""
    try:
        found = read_run(folder, run_name(run.method, run.run_id))
    except (FileNotFoundError, DamagedRunFile):
        return False
    return bool(found.row["status"] == "failed" and found.launch == launch)


def record_failure(folder: Folder, plan: Plan, run: PlannedRun, error: str, spec_hash: str, launch: int) -> None:
    """Write a run file that says why the run failed; the next launch tries it again.

    It keeps the rows so far, as far as they are known outside its worker.
    """
    if _tells_more(folder, run, launch):
        return
    family = plan.families[run.world, run.method]
    config: RunConfig = family.run(plan.values[run.method][run.draw], run.seed)
    row: dict[str, Any] = {
        "run": run.run_id,
        "sweep": plan.spec.name,
        "world": run.world,
        "method": run.method,
        "draw": run.draw,
        "seed": run.seed,
        "role": run.role,
        "status": "failed",
        "error": error,
        "iterations": 0,
        "started_at": datetime.now(UTC),
        "spec_hash": spec_hash,
    }
    if isinstance(config, LearnerRun):
        sweep_scratch()
    curve = rows_so_far(folder, digest([run.run_id]), getattr(config.world, "ideal_return", None))
    row |= summary(curve, config.training.score) if curve else {}
    whole = row | config.values | provenance()
    labels = {key: row[key] for key in ("run", "world", "method", "draw", "seed")}
    rows = curve_table([labels | step for step in curve])
    write_run_file(folder, RunFile(whole, rows, config.model_dump(mode="json"), launch))
