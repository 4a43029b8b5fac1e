"""What docs/scale.md is made of: what the driver, the store and the storage cost, measured on this machine.

python -m tests.scale
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from mulex.folder import open_folder
from mulex.run_file import RunFile, collect_tables, curve_table, write_run_file
from sweeps.board import Board
from sweeps.launch import make_plan
from sweeps.spec import Spec, load_spec
from sweeps.store import freeze_spec, take_stock

SPEC = """
name: scale
worlds: {c: {map: corridor, room_size: 3, time_limit: 1}}
training: {iterations: 800}
search: {draws: DRAWS, seeds: 5}
methods: {mulex: {learning_rate: {log_uniform: [1e-5, 1e-3]}, p_task: {uniform: [0.5, 0.9]}}}
"""
RUNS = 2000
REPORTS = 100
TRIALS = 8


def spec_of(runs: int) -> Spec:
    """With so many runs."""
    return load_spec(SPEC.replace("DRAWS", str(runs // 5)), "scale")


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def planning() -> dict[str, float]:
    """Of a million runs, in processor time; memory is that of the whole process."""
    spec, began = spec_of(1_000_000), time.process_time()
    runs = sum(1 for _ in make_plan(spec, open_folder("/nonexistent")).runs())
    took = time.process_time() - began
    assert runs == 1_000_000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"plan_1m_runs_seconds": took, "plan_1m_runs_mb": peak}


def curve(seed: int) -> list[dict[str, float | int | None]]:
    """Like a real one: returns in steps, everything else noisy, so that it compresses as a real one does."""
    chance = np.random.default_rng(seed)
    rows: list[dict[str, float | int | None]] = []
    for i in range(800):
        noise = chance.random(6).tolist()
        rows.append(
            {
                "iteration": i + 1,
                "eval_return": float(chance.integers(0, 4)),
                "normalised_return": float(chance.integers(0, 4)) / 3,
                "eval_episode_length": noise[0] * 500,
                "train_return": noise[1] * 3,
                "train_episodes": int(chance.integers(5, 50)),
                "explore_fraction": noise[2],
                "mean_bonus": noise[3],
                "loss_task": noise[4],
                "loss_explore": noise[5],
                "env_steps": (i + 1) * 2500,
                "seconds": noise[0],
            }
        )
    return rows


def storing(place: Path) -> dict[str, float]:
    """Files of whole curves: written with fsync as a worker does, read by the launcher and the status."""
    spec, folder = spec_of(RUNS), open_folder(place / "store")
    freeze_spec(folder, spec)
    plan = make_plan(spec, folder)
    tables = [curve_table(curve(seed)) for seed in range(20)]
    rows = [
        {
            "run": run.run_id,
            "sweep": "scale",
            "world": run.world,
            "method": run.method,
            "status": "done",
            "error": None,
            "auc": 1.0,
            "draw": run.draw,
            "seed": run.seed,
            "started_at": datetime.now(UTC),
            "finished_at": datetime.now(UTC),
            "seconds": 1.0,
        }
        for run in plan.runs()
    ]

    def write() -> None:
        for i, row in enumerate(rows):
            write_run_file(folder, RunFile(row, tables[i % 20], {}))

    writing = seconds(write)
    files = [path.stat().st_size for path in (place / "store" / "runs").rglob("*.parquet")]
    board = Board(spec, folder)
    return {
        "bytes_a_run_at_800_iterations": sum(files) / len(files),
        "files_written_a_second": RUNS / writing,
        "files_read_a_second_at_launch": RUNS / seconds(lambda: take_stock(folder, plan)),
        "files_read_a_second_by_status": RUNS / seconds(board.refresh),
        "status_again_ms_a_1000_runs": seconds(board.refresh) * 1e6 / RUNS,
        "collect_ms_a_run": seconds(lambda: collect_tables(folder)) * 1e3 / RUNS,
    }


def driving() -> dict[str, float]:
    """Tune's driver with workers that do nothing but report; its processor time, whatever else the machine does."""
    import sweeps.tuning  # noqa: F401, I001  (settings that Ray reads when it is imported)
    import ray
    from ray import tune

    class Reports(tune.Trainable):
        def setup(self, config: dict[str, int]) -> None:
            self.count = 0

        def reset_config(self, new_config: dict[str, int]) -> bool:
            self.count = 0
            return True

        def step(self) -> dict[str, object]:
            self.count += 1
            return {"count": self.count, "done": self.count == REPORTS}

    class Clock(tune.Callback):
        def __init__(self) -> None:
            self.moments: list[float] = []

        def on_trial_result(self, *_: object, **__: object) -> None:
            self.moments.append(time.process_time())

    clock = Clock()
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="CRITICAL")
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            Reports,
            tune_config=tune.TuneConfig(num_samples=TRIALS, reuse_actors=True),
            run_config=tune.RunConfig(storage_path=folder, verbose=0, callbacks=[clock]),
        )
        tuner.fit()
    ray.shutdown()
    spent = clock.moments[-1] - clock.moments[0]
    return {"driver_cpu_ms_a_result": spent * 1e3 / len(clock.moments)}


def main() -> None:
    """One line of JSON a group."""
    with tempfile.TemporaryDirectory(prefix="mulex-scale-") as place:
        print(json.dumps(storing(Path(place))), flush=True)
    for measure in (driving, planning):
        print(json.dumps(measure()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
