"""How many steps final policies need to the exit from every cell, with both doors open and all items held."""

from typing import Any

import numpy as np
import pyarrow as pa

from mulex.errors import UserError
from mulex.learners.dqn.policy import Policy, read_policy, trusted_worlds
from mulex.store.checksum import parquet_with_checksum
from mulex.store.folder import Folder
from mulex.store.layout import STARTS_TABLE, policy_name
from mulex.store.roles import TEST
from mulex.store.score import score_of
from mulex.store.tables import DamagedTable, read_runs, read_table
from mulex.worlds.interface import GridWorlds

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


def measure_starts(folder: Folder, runs: int, trust: bool = False) -> tuple[int, list[str]]:
    """Write starts.parquet for the best tuning runs of each method by score, and for all test runs.

    Runs whose policies are gone, as those of an unpacked sweep are, keep the rows that an earlier call has written.

    Returns:
        The number of policies that were measured, and warnings about their files.
    """
    table = [run for run in read_runs(folder) if run["status"] == "done"]
    kept = {name.rpartition("/")[2].removesuffix(".pt") for name in folder.list("policies")}
    if not any(run["run"] in kept for run in table):
        raise UserError(f"{folder.url}: no policies were kept; train with execution.keep_policies: true")
    earlier = _earlier_rows(folder)
    usable = [run for run in table if run["run"] in kept or run["run"] in earlier]
    tests = [run for run in usable if run.get("role") == TEST]
    wanted = _best([run for run in usable if run.get("role") != TEST], runs) + tests
    rows: list[dict[str, Any]] = []
    warnings, trusted = [], trusted_worlds(folder)
    for run in wanted:
        labels = {name: run[name] for name in ("world", "method", "run")}
        if run["run"] in kept:
            name = policy_name(run["run"])
            file = read_policy(folder.read(name), f"{folder.url}/{name}")
            warnings += [file.warning] if file.warning else []
            steps = steps_to_exit(file.policy(trusted, trust))
        else:
            steps = earlier[run["run"]]
        rows += [labels | row for row in steps]
    folder.write(STARTS_TABLE, parquet_with_checksum(pa.Table.from_pylist(rows, SCHEMA), {}))
    return sum(run["run"] in kept for run in wanted), warnings


def _earlier_rows(folder: Folder) -> dict[str, list[dict[str, Any]]]:
    """Return the steps in the table that is there by run: nothing where it is missing or damaged."""
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        content = read_table(folder, STARTS_TABLE).content
    except (FileNotFoundError, DamagedTable):
        return found
    runs = content["run"].to_pylist()
    for run, row in zip(runs, content.select(["row", "col", "steps"]).to_pylist(), strict=True):
        found.setdefault(run, []).append(row)
    return found


def _best(usable: list[dict[str, Any]], runs: int) -> list[dict[str, Any]]:
    """Return the best runs of each method in each world."""
    best: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in sorted(usable, key=lambda run: -(score_of(run) or 0.0)):
        best.setdefault((run["world"], run["method"]), []).append(run)
    return [run for group in best.values() for run in group[:runs]]


def steps_to_exit(policy: Policy) -> list[dict[str, Any]]:
    """Follow the greedy policy from all late states at once until the exit or the time limit."""
    if not isinstance(policy.worlds, GridWorlds) or policy.worlds.world.ghosts:
        raise UserError(f"{policy.run.run_id}: start states are measured in grid worlds without ghosts only")
    world = policy.worlds.world
    tables = world.tables
    everything = (1 << len(tables.layout.items)) - 1
    starts = np.flatnonzero((tables.items[: tables.live] == everything) & (tables.world[: tables.live] == 0))
    state, steps = starts, np.zeros(len(starts), dtype=np.int64)
    walking = np.ones(len(starts), dtype=bool)
    records = np.repeat(state[:, None, None], policy.stack, axis=1).astype(policy.worlds.record_dtype)  # (N, C, 1)
    known: dict[bytes, int] = {}  # the action for each stack; paths soon meet, or loop
    for _ in range(world.time_limit):
        stacks = [record.tobytes() for record in records]
        new = {stack: index for index, stack in enumerate(stacks) if stack not in known}
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
