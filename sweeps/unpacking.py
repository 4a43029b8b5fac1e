"""A sweep's folder again from its two tables, so that a sweep that was archived without run files can be continued.

The tables have every row and every curve; what they lack, the configuration of each run, comes from the plan of the
spec. A run is unpacked only if the plan gives it the id that the table says, so no run of another spec gets in.
"""

from collections.abc import Iterator

import pyarrow as pa

from mulex.errors import UserError
from mulex.learners.shipping import CODE
from mulex.messages import shown
from mulex.store.collecting import collect_tables
from mulex.store.folder import Folder
from mulex.store.layout import CONFIRMATION, DRAWS, RUNS_TABLE, SPEC, STARTS_TABLE, run_name
from mulex.store.run_file import DamagedRunFile, RunFile, write_run_file
from mulex.store.run_store import read_note
from mulex.store.table_rows import tables_of
from mulex.store.unpacking import Row, read_both, unpacked_curves, unpacked_row
from sweeps.inventory import frozen_spec
from sweeps.plan import Plan, PlannedRun, make_plan


def unpack(source: Folder, target: Folder) -> int:
    """Write the run files of a sweep of which only the spec and the tables are left; gives how many were missing.

    Runs that the target already has are left as they are, so an interrupted call is repeated.

    Raises:
        UserError: The tables are damaged, or not of the spec; or the target is the folder of another sweep.
    """
    plan = make_plan(frozen_spec(source), source)
    finished = list(_unpacked(source, plan))
    _check_target(source, target)
    new = [run for run in finished if not _is_there(target, run)]
    for run in new:
        write_run_file(target, run)
    for name in [*source.list(DRAWS), *source.list(CODE), CONFIRMATION, STARTS_TABLE, SPEC]:
        if source.exists(name):
            target.write(name, source.read(name))
    collect_tables(target, plan.has)
    return len(new)


def _unpacked(source: Folder, plan: Plan) -> Iterator[RunFile]:
    """The runs of both tables, checked: made into tables again, they give the same."""
    runs, curves = read_both(source)
    planned = {run.run_id: run for run in plan.runs()}
    rows = runs.to_pylist()
    finished = []
    for row, curve in zip(rows, unpacked_curves(curves, rows, source.url), strict=True):
        run = _planned(row, planned, source.url)
        config = plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed)
        finished.append(RunFile(unpacked_row(row, config.values), curve, config.model_dump(mode="json")))
    again = tables_of(finished)[0]
    for name in runs.schema.names:
        if name not in again.schema.names or not _equal(again[name], runs[name]):
            raise UserError(f"{source.url}/{RUNS_TABLE}: the column {shown(name)} does not fit spec.yaml")
    yield from finished


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Whether two columns are equal; NaN is equal to itself."""
    return bool(one.to_pandas().equals(other.cast(one.type).to_pandas()))


def _planned(row: Row, planned: dict[str, PlannedRun], url: str) -> PlannedRun:
    run = planned.get(row["run"])
    if run is None:
        raise UserError(f"{url}/{RUNS_TABLE}: {SPEC} does not plan run {row['run']}; restore the spec of these tables")
    if (run.world, run.method, run.draw, run.seed) != tuple(row[n] for n in ("world", "method", "draw", "seed")):
        text = f"run {row['run']} has another world, method, draw or seed than {SPEC} plans"
        raise UserError(f"{url}/{RUNS_TABLE}: {text}; restore the table")
    return run


def _check_target(source: Folder, target: Folder) -> None:
    if target.exists(SPEC) and target.read(SPEC) != source.read(SPEC):
        raise UserError(f"{target.url}: is the folder of another sweep, or has grown since; name a new one")


def _is_there(target: Folder, run: RunFile) -> bool:
    try:
        return bool(read_note(target, run_name(run.row["method"], run.row["run"])).row["run"])
    except (FileNotFoundError, DamagedRunFile):
        return False
