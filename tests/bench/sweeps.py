"""What orchestration costs: training replaced by next to nothing, large plans, large stores, and a real sweep."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from mulex.store.collecting import collect_tables
from mulex.store.folder import open_folder
from mulex.store.run_file import RunFile, curve_table, write_run_file
from sweeps.inventory import freeze_spec
from sweeps.plan import make_plan
from sweeps.spec import Spec, parse_spec

CORES = os.cpu_count() or 1

NOTHING = """
name: nothing
worlds: {c: {map: corridor, room_size: 3, time_limit: 1}}
training: {iterations: 1, steps_per_iteration: 1, evaluation_steps: 1, replay_size: 100, body: mlp, hidden: 1}
search: {draws: DRAWS, seeds: 5}
methods: {epsilon_greedy: {learning_rate: {log_uniform: [1e-5, 1e-3]}}}
"""

REAL = """
name: real
worlds: {w5: {room_size: 5}}
training: {iterations: 160}
search: {draws: 4, seeds: 5}
methods: {epsilon_greedy: {learning_rate: {log_uniform: [1e-5, 1e-3]}}}
execution: {checkpoint_every: 1min}
"""

_SWEEP = """
import json, sys, time
from rich.console import Console
from mulex.store.folder import open_folder
from sweeps.api import launch_in
from sweeps.execution.cluster import Cluster, connected
from sweeps.inventory import freeze_spec
from sweeps.spec import parse_spec
spec, folder = parse_spec(open(sys.argv[1]).read(), "bench"), open_folder(sys.argv[2])
freeze_spec(folder, spec)
began = time.perf_counter()
with connected(Cluster()):
    started = time.perf_counter()
    launch_in(spec, folder, Cluster())
    ended = time.perf_counter()
status = open("/proc/self/status").read()  # ru_maxrss would be that of whoever started this process
peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps({"with_ray": ended - began, "without_ray": ended - started, "mb": peak}))
"""


def measure() -> dict[str, float]:
    """Milliseconds a run, seconds, megabytes, and one ratio."""
    with tempfile.TemporaryDirectory(prefix="mulex-bench-") as scratch:
        place = Path(scratch)
        return _orchestration(place) | _planning() | _large_store(place) | _real(place)


def sweep(place: Path, name: str, text: str) -> dict[str, float]:
    """Run a sweep in a process of its own; gives its seconds and its memory."""
    spec_file = place / f"{name}.yaml"
    spec_file.write_text(text)
    command = [sys.executable, "-c", _SWEEP, str(spec_file), str(place / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _orchestration(place: Path) -> dict[str, float]:
    runs = 1000
    figures = sweep(place, "nothing", NOTHING.replace("DRAWS", str(runs // 5)))
    return {"orchestration_ms_per_run": figures["without_ray"] / runs * 1000, "orchestration_driver_mb": figures["mb"]}


def _planning() -> dict[str, float]:
    spec = parse_spec(NOTHING.replace("DRAWS", "20000"), "bench")
    return {"plan_100k_runs_seconds": _time(lambda: list(make_plan(spec, open_folder("unused")).runs()))}


def _time(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _large_store(place: Path) -> dict[str, float]:
    """3,000 runs of 800 iterations, made by hand: nothing left to train, and the tables."""
    spec = parse_spec(NOTHING.replace("DRAWS", "600"), "bench")
    folder = open_folder(place / "large")
    freeze_spec(folder, spec)
    _fill(spec, str(place / "large"))
    size = sum(path.stat().st_size for path in (place / "large" / "runs").rglob("*.parquet"))
    collecting = _time(lambda: collect_tables(folder))
    resume = [sys.executable, "-m", "cluster.cli", "resume", str(place / "large")]
    return {
        "collect_3000_runs_x_800_seconds": collecting,
        "resume_finished_3000_runs_seconds": _time(lambda: subprocess.run(resume, capture_output=True, check=True)),
        "run_file_kb": size / 3000 / 1024,
    }


def _fill(spec: Spec, place: str) -> None:
    random, now = np.random.default_rng(0), datetime.now(UTC)
    plan = make_plan(spec, open_folder(place))
    for run in plan.runs():
        labels = {"run": run.run_id, "world": run.world, "method": run.method, "draw": run.draw, "seed": run.seed}
        returns = random.integers(0, 5, 800) / 1.0
        curve = [labels | {"iteration": i + 1, "eval_return": r, "loss_task": r / 7} for i, r in enumerate(returns)]
        row = labels | {"status": "done", "error": None, "auc": float(returns.mean()), "started_at": now}
        write_run_file(open_folder(place), RunFile(row | {"finished_at": now}, curve_table(curve), {}))


def _real(place: Path) -> dict[str, float]:
    """Wall time, Ray's start included, over the packs' own training time divided by the cores."""
    figures = sweep(place, "real", REAL)
    runs = pd.read_parquet(place / "real" / "runs.parquet")
    ideal = float(runs["seconds"].sum()) / CORES
    return {"sweep_wall_over_ideal": figures["with_ray"] / ideal, "sweep_ideal_seconds": ideal}
