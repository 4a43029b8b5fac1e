"""Sweeps of synthetic runs: noisy curves, written by the store's own writer."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import numpy as np
import pyarrow as pa

from mulex.store.folder import Folder
from mulex.store.folding import write_segment
from mulex.store.run_file import RunFile, run_file_content
from mulex.store.run_store import RunStore
from mulex.store.schema import CURVES
from sweeps.plan import Plan, PlannedRun
from sweeps.spec import Spec, parse_spec

SPEC = """
name: scale
worlds: {c: {map: corridor, room_size: 3, time_limit: 1}}
training: {iterations: ITERATIONS, steps_per_iteration: 50, evaluation_steps: 10}
search: {draws: DRAWS, seeds: 5}
methods: {mulex: {learning_rate: {log_uniform: [1e-5, 1e-3]}, p_task: {uniform: [0.5, 0.9]}}}
"""
ITERATIONS = 100
SEEDS = 5
BATCH = 4_000
"""Runs that are written at a time: those of a segment."""


def spec_text(runs: int, iterations: int = ITERATIONS) -> str:
    """Return a spec with so many runs."""
    return SPEC.replace("DRAWS", str(runs // SEEDS)).replace("ITERATIONS", str(iterations))


def spec_of(runs: int, iterations: int = ITERATIONS) -> Spec:
    """Return the same as it is read."""
    return parse_spec(spec_text(runs, iterations), "scale")


def curve(seed: int, iterations: int) -> pa.Table:
    """A curve like a real one: returns in steps, everything else noisy, so that it compresses as a real one does."""
    chance = np.random.default_rng(seed)
    noise = {name: chance.random(iterations) for name in ("train_return", "explore_fraction", "mean_bonus", "seconds")}
    columns = {
        "iteration": np.arange(1, iterations + 1),
        "eval_return": chance.integers(0, 4, iterations).astype(float),
        "normalised_return": chance.integers(0, 4, iterations) / 3,
        "eval_episode_length": chance.random(iterations) * 500,
        "train_episodes": chance.integers(5, 50, iterations),
        "env_steps": np.arange(1, iterations + 1) * 2500,
        **noise,
    }
    losses = {name: pa.array(chance.random(iterations)) for name in ("loss_task", "loss_explore")}
    fields = [field for field in CURVES if field.name in columns]
    return pa.table({f.name: pa.array(columns[f.name], f.type) for f in fields} | losses)


def run_files(plan: Plan, runs: Iterator[PlannedRun]) -> Iterator[tuple[str, bytes]]:
    """The files of planned runs, with one of 20 curves each."""
    now, made = datetime.now(UTC), {}
    for run in runs:
        family = plan.families[run.world, run.method]
        config = family.run(plan.values[run.method][run.draw], run.seed)
        iterations = family.training.iterations
        number = run.draw % 20
        if number not in made:
            made[number] = curve(number, iterations)
        labels = {"run": run.run_id, "world": run.world, "method": run.method, "draw": run.draw, "seed": run.seed}
        row = labels | config.values | {"sweep": "scale", "status": "done", "error": None, "iterations": iterations}
        row |= {"auc": 1.0, "normalised_auc": float(number / 20), "final_return": 1.0, "best_return": 3.0}
        row |= {"env_steps": 2500 * iterations, "seconds": 1.0, "engine": "native", "host": "here"}
        row |= {"started_at": now, "finished_at": now, "spec_hash": plan.spec_hash, "schema_version": 1}
        repeated = {f.name: pa.array([labels[f.name]] * iterations, f.type) for f in CURVES if f.name in labels}
        table = pa.table(repeated | dict(zip(made[number].schema.names, made[number].columns, strict=True)))
        content = run_file_content(RunFile(row, table, config.model_dump(mode="json"), 1))
        yield f"runs/{run.method}/{run.run_id}.parquet", content


def fill(folder: Folder, plan: Plan, runs: Iterator[PlannedRun], loose: bool = False) -> None:
    """Write runs as loose files, or as segments."""
    files, store = run_files(plan, runs), RunStore(folder)
    while batch := dict(islice(files, BATCH)):
        if loose:
            folder.write_many(batch)
        else:
            write_segment(store, batch)
