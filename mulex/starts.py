"""How long the final policies need to the exit from anywhere, with both doors open and the extra reward held."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mulex.errors import UserError
from mulex.folder import Folder
from mulex.policy import Policy, read_policy
from mulex.worlds.interface import GridWorlds

NAME = "starts.parquet"
SCHEMA = pa.schema(
    [
        ("world", pa.string()),
        ("method", pa.string()),
        ("run", pa.string()),
        ("row", pa.int32()),
        ("col", pa.int32()),
        ("steps", pa.int32()),  # null: the policy never arrives
    ]
)


def measure_starts(folder: Folder, runs: int) -> int:
    """Write starts.parquet for the best runs of each method by AUC; gives how many policies were measured."""
    try:
        table = pq.read_table(io.BytesIO(folder.read("runs.parquet"))).to_pylist()
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder.url}: no runs.parquet here; make it with mulex collect") from None
    except pa.ArrowInvalid as error:
        raise UserError(f"{folder.url}/runs.parquet: damaged ({error}); make it again with mulex collect") from None
    kept = {name.rpartition("/")[2].removesuffix(".pt") for name in folder.list("policies")}
    rows: list[dict[str, Any]] = []
    best = _best(table, kept, runs)
    if not best:
        raise UserError(f"{folder.url}: no policies were kept; train with execution.keep_policies: true")
    for run in best:
        policy = read_policy(folder.read(f"policies/{run['run']}.pt"), run["run"])
        labels = {name: run[name] for name in ("world", "method", "run")}
        rows += [labels | row for row in steps_to_exit(policy)]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), file, compression="zstd")
    folder.write(NAME, file.getvalue())
    return len(best)


def _best(table: list[dict[str, Any]], kept: set[str], runs: int) -> list[dict[str, Any]]:
    """The best runs of each method in each world whose policy is there."""
    usable = [run for run in table if run["status"] == "done" and run["run"] in kept]
    usable.sort(key=lambda run: -(run["normalised_auc"] or 0.0))
    best: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in usable:
        best.setdefault((run["world"], run["method"]), []).append(run)
    return [run for group in best.values() for run in group[:runs]]


def steps_to_exit(policy: Policy) -> list[dict[str, Any]]:
    """Follow the greedy policy from every such state at once, ghosts left out, until the exit or the time limit."""
    if not isinstance(policy.worlds, GridWorlds) or policy.worlds.world.ghosts:
        raise UserError(f"{policy.run.run_id}: start states are measured in grid worlds without ghosts only")
    world = policy.worlds.world
    tables = world.tables
    everything = (1 << len(tables.layout.items)) - 1
    starts = np.flatnonzero((tables.items[: tables.live] == everything) & (tables.world[: tables.live] == 0))
    state, steps = starts, np.zeros(len(starts), dtype=np.int64)
    walking = np.ones(len(starts), dtype=bool)
    records = np.repeat(state[:, None, None], policy.stack, axis=1).astype(policy.worlds.record_dtype)  # (N, C, 1)
    known: dict[bytes, int] = {}  # the action for a stack; paths soon meet, or go round
    for _ in range(world.time_limit):
        stacks = [record.tobytes() for record in records]
        new = {stack: place for place, stack in enumerate(stacks) if stack not in known}
        if new:
            known.update(zip(new, policy.actions(records[list(new.values())]).tolist(), strict=True))
        action = np.array([known[stack] for stack in stacks])
        steps += walking
        walking &= ~tables.terminal[state, action]
        state = tables.next_state[state, action]  # a terminal state stays where it is
        records = np.concatenate([records[:, 1:], state[:, None, None].astype(records.dtype)], axis=1)
        if not walking.any():
            break
    return [
        {"row": int(row), "col": int(col), "steps": None if lost else int(n)}
        for (row, col), n, lost in zip(tables.position[starts], steps, walking, strict=True)
    ]
