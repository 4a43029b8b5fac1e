"""Everything that is known of one run: its curves, its hyperparameters, where it ran, its error and its checkpoint."""

import math
from typing import Any

import pyarrow as pa

from analysis.labels import display_name
from analysis.live.commands import train_command
from analysis.live.query import plain, plain_rows
from analysis.live.view import FIRST, LAST, UNFINISHED, Reader, View
from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.store.checkpoints import begun_packs, load_checkpoint
from mulex.store.folder import Folder
from mulex.store.layout import CURVES_TABLE, checkpoint_folder, run_name
from mulex.store.progress import bucket_ends, bucket_means
from mulex.store.run_file import DamagedRunFile
from mulex.store.run_store import read_run
from mulex.store.tables import DamagedTable, read_table
from sweeps.plan import Plan

POINTS = 400
"""The most points of a curve that a browser gets."""
LABELS = ("run", "world", "method", "draw", "seed", "iteration")
ORIGIN = ("host", "pid", "engine", "started_at", "finished_at", "seconds", "package_version", "git_commit")


def run_detail(folder: Folder, reader: Reader, view: View, run: str) -> dict[str, Any] | None:
    """Describe a run as JSON has it; None if the sweep has no such run."""
    rows = view.runs[view.runs["run"] == run]
    if rows.empty:
        return None
    row = plain_rows(rows)[0]
    detail: dict[str, Any] = {
        **{name: row[name] for name in (*FIRST, "error")},
        "values": [
            {"name": name, "title": display_name(name), "value": value}
            for name, value in row.items()
            if name not in (*FIRST, *LAST) and value is not None
        ],
        "origin": {name: row[name] for name in ORIGIN if row.get(name) is not None},
        "curves": {"iteration": [], "columns": {}},
        "checkpoint": None,
        "command": _command(reader.plan, row),
    }
    if row["status"] == "running":
        pack = next(pack for pack in view.packs if run in pack["runs"])
        detail["origin"] |= {name: pack[name] for name in ORIGIN if pack.get(name) is not None}
        detail["origin"]["updated"] = pack["age"]
        detail["curves"] = _running_curves(pack, run)
    elif row["status"] not in UNFINISHED:
        _add_finished(detail, folder, row)
    if row["status"] in ("running", "paused"):
        _add_checkpoint(detail, folder, run)
    return detail


def _command(plan: Plan | None, row: dict[str, Any]) -> str | None:
    """The command of a run, from the plan, so that it is known before the run has begun."""
    family = plan.families.get((row["world"], row["method"])) if plan else None
    if plan is None or family is None:
        return None
    drawn = plan.values.get(row["method"]) or []
    values = {name: value for name, value in row.items() if name not in (*FIRST, *LAST) and value is not None}
    try:
        config = family.run(drawn[row["draw"]] if row["draw"] < len(drawn) else values, row["seed"])
        return train_command(config) if type(config) is RunConfig and config.run_id == row["run"] else None
    except (UserError, ValueError):
        return None


def _running_curves(pack: dict[str, Any], run: str) -> dict[str, Any]:
    """The curve that a running pack has left; packs of earlier versions leave none."""
    said = pack.get("curves") or {}
    returns = (said.get("eval_return") or [[]] * len(pack["runs"]))[pack["runs"].index(run)]
    return {"iteration": said.get("iteration", []), "columns": {"eval_return": returns} if returns else {}}


def _add_finished(detail: dict[str, Any], folder: Folder, row: dict[str, Any]) -> None:
    """Add what the run's file says, or else the table of curves where there are no run files."""
    try:
        file = read_run(folder, run_name(row["method"], row["run"]))
    except DamagedRunFile as error:
        detail["error"] = str(error)
        return
    except FileNotFoundError:
        detail["curves"] = _curves(_curve_in_table(folder, row["run"]))
        return
    detail["origin"] |= {name: plain(_moment(file.row[name])) for name in ORIGIN if file.row.get(name) is not None}
    detail["error"] = file.row.get("error")
    detail["curves"] = _curves(file.curve)


def _moment(value: Any) -> Any:
    return value.timestamp() if hasattr(value, "timestamp") else value


def _curve_in_table(folder: Folder, run: str) -> pa.Table | None:
    try:
        content = read_table(folder, CURVES_TABLE).content
    except (FileNotFoundError, DamagedTable):
        return None
    import pyarrow.compute as pc

    return content.filter(pc.equal(pc.cast(content["run"], pa.string()), run))


def _curves(table: pa.Table | None) -> dict[str, Any]:
    """The curves of a finished run: every column of numbers that has a value."""
    if table is None:
        return _means([], {})
    kinds = {name: table.schema.field(name).type for name in table.schema.names if name not in LABELS}
    numbers = [name for name, kind in kinds.items() if pa.types.is_floating(kind) or pa.types.is_integer(kind)]
    return _means(table["iteration"].to_pylist(), {name: table[name].to_pylist() for name in numbers})


def _curves_of_rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The curves so far of a run in a checkpoint, by the rows that its learner reported."""
    names = dict.fromkeys(name for row in rows for name, value in row.items() if isinstance(value, int | float))
    columns = {name: [row.get(name) for row in rows] for name in names if name not in LABELS}
    return _means([row["iteration"] for row in rows], columns)


def _means(iterations: list[int], columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Means of neighbouring iterations where curves are long; columns without any value are left out."""
    ends = bucket_ends(len(iterations), POINTS)
    means = {name: bucket_means(values, ends) for name, values in columns.items()}
    known = {name: of_column for name, of_column in means.items() if any(mean is not None for mean in of_column)}
    return {"iteration": [iterations[end - 1] for end in ends], "columns": known}


def _add_checkpoint(detail: dict[str, Any], folder: Folder, run: str) -> None:
    """Add the iteration and the age in seconds of a run's newest checkpoint, and its curves if nobody trains it."""
    for pack, runs in begun_packs(folder).items():
        ages = folder.ages(checkpoint_folder(pack)) if run in runs else {}
        if names := [name for name in ages if name.endswith(".npz")]:
            iteration = int(max(names).rpartition("/")[2].partition("-")[0])
            age = ages[max(names)]
            detail["checkpoint"] = {"iteration": iteration, "age": max(0.0, age) if math.isfinite(age) else 0.0}
            if detail["status"] == "paused":
                detail["curves"] = _curves_of_rows(_rows_in_checkpoint(folder, pack, runs.index(run)))


def _rows_in_checkpoint(folder: Folder, pack: str, member: int) -> list[dict[str, Any]]:
    """The rows of a member of a pack in its newest whole checkpoint; none if it cannot be read."""
    try:
        found = load_checkpoint(folder, pack)
    except UserError:
        return []
    curves = found.about.get("curves", []) if found else []
    return list(curves[member]) if member < len(curves) else []
