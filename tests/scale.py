"""What docs/scale.md is made of: what the plan, the store and the commands cost, measured on this machine.

python -m tests.scale                          # 2,000, 20,000 and 200,000 runs; about an hour
python -m tests.scale --runs 2000 20000        # some sizes alone
python -m tests.scale --only bucket            # a relaunch on a disk and in a bucket that answers after 30 ms
python -m tests.scale --only launch            # a launch of a million runs until the first of them trains
python -m tests.scale --only driver            # Tune's driver

The runs are synthetic: noisy curves, written by the store's own writer. Of 20,000 runs and more, files are folded into
segments as they are made, without being loose in between, to save the time of writing each of them to the disk.
Every command is a process of its own, whose wall time, processor time and peak memory are measured.
"""

import argparse
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from mulex.store.collecting import collect_tables
from mulex.store.folder import Folder, open_folder
from mulex.store.folding import fold, write_segment
from mulex.store.run_file import RunFile, run_file_content
from mulex.store.run_store import RunStore
from mulex.store.schema import CURVES
from sweeps.inventory import freeze_spec
from sweeps.plan import Plan, PlannedRun, make_plan
from sweeps.spec import Spec, parse_spec
from sweeps.spec.yaml_writer import write_yaml

SPEC = """
name: scale
worlds: {c: {map: corridor, room_size: 3, time_limit: 1}}
training: {iterations: ITERATIONS, steps_per_iteration: 50, evaluation_steps: 10}
search: {draws: DRAWS, seeds: 5}
methods: {mulex: {learning_rate: {log_uniform: [1e-5, 1e-3]}, p_task: {uniform: [0.5, 0.9]}}}
"""
SIZES = (2_000, 20_000, 200_000)
ITERATIONS = 100
NEW = 1_000
"""Runs that come in after the tables were made."""
SEEDS = 5
BATCH = 1_000
LATENCY = 0.03
"""Seconds before the bucket answers."""
REPORTS, TRIALS = 100, 8


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.megabytes:,.0f} MB"


def spec_of(runs: int, iterations: int = ITERATIONS) -> Spec:
    """With so many runs."""
    return parse_spec(SPEC.replace("DRAWS", str(runs // SEEDS)).replace("ITERATIONS", str(iterations)), "scale")


def cost_of(*command: str, codes: tuple[int, ...] = (0,)) -> Cost:
    """Run a command of Python's to its end."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in codes, text
    return Cost(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def mulex(*arguments: str, codes: tuple[int, ...] = (0,)) -> Cost:
    """Run a command of `mulex`."""
    return cost_of("-m", "cluster.cli", *arguments, codes=codes)


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


def commands(place: Path, runs: int, iterations: int) -> Iterator[tuple[str, Cost]]:
    """What every command costs in a sweep of so many finished runs."""
    out, spec = place / f"sweep-{runs}-{iterations}", spec_of(runs, iterations)
    folder, plan = open_folder(out), make_plan(spec, open_folder("/nonexistent"))
    yield "plan all runs", cost_of("-m", "tests.scale", "--plan", str(runs))
    freeze_spec(folder, spec)
    fill(folder, plan, plan.runs(), loose=runs < 20_000)
    yield "collect everything", mulex("collect", str(out))
    yield "resume with nothing to do", mulex("resume", str(out))
    yield "status", mulex("status", str(out))
    yield "verify --quick", mulex("verify", "--quick", str(out))
    yield "verify", mulex("verify", str(out))
    yield "stats", mulex("stats", str(out))
    yield "report", mulex("report", str(out))
    more = spec_of(runs + NEW, iterations)
    (out / "spec.yaml").write_text(write_yaml(more.resolved()))
    grown = make_plan(more, folder)
    fill(folder, grown, islice(grown.runs(), runs, None), loose=True)
    yield f"collect {NEW:,} new runs", mulex("collect", str(out))
    shutil.rmtree(out)


def launch_cost(place: Path, runs: int) -> Cost:
    """Launch a sweep until a worker says that it trains; the memory is the launcher's."""
    out, spec_file = place / f"launch-{runs}", place / f"launch-{runs}.yaml"
    spec_file.write_text(SPEC.replace("DRAWS", str(runs // SEEDS)).replace("ITERATIONS", "1000"))
    began = time.monotonic()
    command = [sys.executable, "-m", "cluster.cli", "sweep", str(spec_file), "--out", str(out), "--cpus", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while not list(out.glob("progress/*.json")) and not list(out.glob("runs/*/*.parquet")):
            assert process.poll() is None, "the launch has ended"
            time.sleep(0.05)
        took = time.monotonic() - began
        about = Path(f"/proc/{process.pid}/status").read_text()
        peak = next(int(line.split()[1]) / 1024 for line in about.splitlines() if line.startswith("VmHWM"))
        return Cost(took, math.nan, peak)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)


def bucket(runs: int) -> Iterator[tuple[str, Cost]]:
    """A relaunch of finished runs, loose and folded, on a disk and in a bucket."""
    from tests.support.s3_server import S3Server, found_by_clients

    server = S3Server()
    with found_by_clients(server), tempfile.TemporaryDirectory(prefix="mulex-scale-") as place:
        spec = spec_of(runs, 20)
        for name, url in (("disk", f"{place}/sweep"), ("bucket", f"s3://{server.make_bucket()}/sweep")):
            folder, plan = open_folder(url), make_plan(spec, open_folder("/nonexistent"))
            freeze_spec(folder, spec)
            fill(folder, plan, plan.runs(), loose=True)
            server.latency = lambda method, path: LATENCY
            yield f"status of {runs:,} loose runs, {name}", mulex("status", url)
            server.latency = lambda method, path: 0.0
            fold(RunStore(folder), at_least=1)
            collect_tables(folder, plan.has)
            server.latency = lambda method, path: LATENCY
            yield f"relaunch of {runs:,} finished runs, {name}", mulex("resume", url)
            server.latency = lambda method, path: 0.0
    server.close()


def driving() -> dict[str, float]:
    """Tune's driver with workers that do nothing but report; its processor time, whatever else the machine does."""
    import sweeps.execution  # noqa: F401, I001  (settings that Ray reads when it is imported)
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


def table(costs: dict[int, dict[str, Cost]]) -> Iterator[str]:
    """The table of docs/scale.md, with the exponent of the processor time from the second size to the last."""
    sizes = list(costs)
    yield "| | " + " | ".join(f"{size:,} runs" for size in sizes) + " | exponent |"
    yield "| --- " * (len(sizes) + 2) + "|"
    for name in costs[sizes[0]]:
        cells = [str(costs[size][name]) for size in sizes]
        yield f"| {name} | " + " | ".join(cells) + f" | {exponent(costs, name)} |"


def exponent(costs: dict[int, dict[str, Cost]], name: str) -> str:
    """By which power of the number of runs the processor time grows, between the last two sizes."""
    if len(costs) < 2:
        return ""
    (a, first), (b, last) = [(size, costs[size][name].cpu) for size in list(costs)[-2:]]
    return f"{math.log(last / first) / math.log(b / a):.2f}"


def tell(measured: Iterator[tuple[str, Cost]]) -> dict[str, Cost]:
    """Print each measurement as it comes."""
    costs = {}
    for name, cost in measured:
        costs[name] = cost
        print(f"{name}: {cost} ({cost.cpu:.1f} s of a core)", flush=True)
    return costs


def all_sizes(place: Path, sizes: Sequence[int], iterations: int) -> None:
    """Measure the commands at each size, and print the table."""
    costs = {size: tell(commands(place, size, iterations)) for size in sizes}
    print(*table(costs), sep="\n", flush=True)


def main() -> None:
    """Measure what the options name."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=SIZES)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--only", choices=("commands", "bucket", "launch", "driver"))
    parser.add_argument("--plan", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plan:
        assert sum(1 for _ in make_plan(spec_of(options.plan), open_folder("/nonexistent")).runs()) == options.plan
        return
    kinds: dict[str, Callable[[Path], object]] = {
        "commands": lambda place: print(
            *table({n: tell(commands(place, n, options.iterations)) for n in options.runs}), sep="\n"
        ),
        "launch": lambda place: print("first run of 1,000,000:", launch_cost(place, 1_000_000), flush=True),
        "bucket": lambda place: tell(bucket(20_000)),
        "driver": lambda place: print(json.dumps(driving())),
    }
    for name, measure in kinds.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory(prefix="mulex-scale-") as place:
                measure(Path(place))


if __name__ == "__main__":
    sys.exit(main())
