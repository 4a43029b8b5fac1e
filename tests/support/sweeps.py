"""What the tests of sweeps share: tiny specs, the command in this process and in others, tables to compare.

A test module that needs Ray names tests/support/ray_plugin.py in `pytest_plugins` and marks its tests with RAY_MARKS.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import sweeps.execution  # noqa: F401  (sets what Ray reads; within `mulex` below it would be forgotten again)
from cluster import cli
from mulex.learners.dqn.engines import make_engine
from mulex.store.collecting import collect_tables
from mulex.store.folder import Folder, open_folder
from mulex.training import Labels, Pack, PackTraining
from sweeps.plan import Plan, PlannedRun, make_plan
from sweeps.spec import Spec, parse_spec

ROOT = Path(__file__).parents[2]
FAULTS = ROOT / "tests" / "faults"
TIMES_AND_PLACES = ["seconds", "started_at", "finished_at", "host", "git_commit"]
"""Columns in which two sweeps of one spec may differ; somebody may commit to this checkout between them."""

RAY_MARKS = [
    pytest.mark.usefixtures("local_ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Plain = dict[str, Any]


def tiny(**changes: Any) -> Plain:
    """A spec as plain data: two methods, two draws, two seeds, in a world of two rooms. Changes are by section."""
    spec: Plain = {
        "name": "tiny",
        "worlds": {"small": {"map": "two_rooms", "room_size": 3, "time_limit": 30}},
        "training": {"iterations": 4, "steps_per_iteration": 100, "warm_up": 50, "replay_size": 500},
        "search": {"draws": 2, "seeds": 2},
        "methods": {
            "epsilon_greedy": {"learning_rate": {"log_uniform": [1e-4, 1e-3]}, "epsilon": {"uniform": [0.05, 0.3]}},
            "mulex": {"learning_rate": {"log_uniform": [1e-4, 1e-3]}, "p_task": {"uniform": [0.5, 0.9]}},
        },
        "execution": {"max_concurrent": 1, "max_failures": 0},
    }
    for section, change in changes.items():
        merges = section in ("training", "search", "execution")
        spec[section] = {**spec[section], **change} if merges else change
    return spec


def gym_spec(control: Path, **changes: Any) -> Plain:
    """A spec in the environment that fails on demand."""
    worlds = {"broken": {"id": "tests.support.broken_env:Broken-v0", "kwargs": {"control": str(control)}}}
    methods = {"epsilon_greedy": {"learning_rate": {"log_uniform": [1e-4, 1e-3]}, "epsilon": 0.1}}
    return tiny(**{"worlds": worlds, "methods": methods, **changes})


def as_spec(plain: Plain) -> Spec:
    """Read it as the command does."""
    return parse_spec(json.dumps(plain), "spec.yaml")


def write_spec(folder: Path, plain: Plain) -> str:
    """Write it to a file; JSON is YAML."""
    path = folder / "spec.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plain))
    return str(path)


def plan_of(plain: Plain) -> Plan:
    """All its runs; of a search that asks as it goes, none."""
    return make_plan(as_spec(plain), open_folder("/nonexistent"))


@dataclass(frozen=True)
class Answer:
    """What a command left in the terminal."""

    code: int
    text: str
    json: Any = None
    """What stdout alone says, where it is JSON as every program reads it."""


class _Stdout(io.StringIO):
    """Also writes to the text that has both streams."""

    def __init__(self, both: io.StringIO) -> None:
        super().__init__()
        self.both = both

    def write(self, text: str) -> int:
        self.both.write(text)
        return super().write(text)

    def json(self) -> Any:
        """The JSON that was written, or None; there is no NaN in JSON."""
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(self.getvalue(), parse_constant=pytest.fail)
        return None


def mulex(*arguments: str) -> Answer:
    """The command in this process, as its user meets it: what is no user's mistake is raised."""
    text = io.StringIO()
    stdout = _Stdout(text)
    with (
        mock.patch.object(sys, "argv", ["mulex", *arguments]),
        mock.patch.dict(os.environ, {"COLUMNS": "120"}),
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(text),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    code = ended.value.code
    assert isinstance(code, int)
    return Answer(code, text.getvalue(), stdout.json())


def launch(plain: Plain, out: Path, *options: str) -> Answer:
    """`mulex sweep` in this process."""
    return mulex("sweep", write_spec(out.with_name(f"{out.name}-spec"), plain), "--out", str(out), *options)


class Process:
    """A command in a process of its own, with a Ray of its own; both end with the block."""

    def __init__(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        self.ray_folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="r"))
        self._output = (self.ray_folder / "output").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cluster.cli", *arguments],
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**clean_environment(), "RAY_TMPDIR": str(self.ray_folder), **(env or {})},
            start_new_session=True,
        )

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
        end_session(self.process.pid)
        self._output.close()
        shutil.rmtree(self.ray_folder, ignore_errors=True)

    @property
    def text(self) -> str:
        return (self.ray_folder / "output").read_text()

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self, seconds: float = 120) -> Answer:
        """Until it ends by itself."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s; it said:\n{self.text}") from None
        return Answer(self.process.returncode, self.text)

    def signal(self, number: signal.Signals) -> None:
        """To the command alone."""
        self.process.send_signal(number)

    def signal_all(self, number: int) -> None:
        """To the command and everything in its process group, as a terminal does."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """kill -9 of the command alone; what it started is left to itself."""
        self.process.kill()
        self.process.wait()


def clean_environment() -> dict[str, str]:
    """Without what would lead to another Ray; workers find the tests, and are nice to others here."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_ADDRESS", "MULEX_"))}
    return {**env, "PYTHONPATH": f"{FAULTS}:{ROOT}", "RAY_worker_niceness": "0"}


def processes_of(session: int) -> list[int]:
    """Those of a session, all of which one Process of ours began."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(int(entry.name))
    return found


def end_session(session: int) -> None:
    """End what is left of what we began."""
    for pid in processes_of(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_until(happens: Callable[[], Any], seconds: float = 60, what: str = "it", look: float = 0.02) -> Any:
    """Look often until something true comes back; gives it."""
    deadline = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < deadline, f"{what} did not happen in {seconds} s"
        time.sleep(look)
    return found


def progress(out: Path) -> list[Plain]:
    """What the packs of a sweep said last."""
    said = []
    for path in (out / "progress").glob("*.json"):
        with contextlib.suppress(FileNotFoundError):
            said.append(json.loads(path.read_text()))
    return said


def files(out: Path, under: str = "") -> dict[str, int]:
    """Every file and when it was last written, but the leases, which every launcher writes."""
    there = sorted(path for path in (out / under).rglob("*") if path.is_file() and path.parent.name != "leases")
    return {path.relative_to(out).as_posix(): path.stat().st_mtime_ns for path in there}


def run_files(out: Path) -> dict[str, int]:
    """Every run file by its run's id, and when it was written; parts of dead writers are none."""
    return {Path(name).stem: moment for name, moment in files(out, "runs").items() if not name.endswith(".part")}


def tables(out: Path) -> dict[str, pd.DataFrame]:
    """Both, without times and places."""
    both = {name: pd.read_parquet(out / f"{name}.parquet") for name in ("runs", "curves")}
    return {name: table.drop(columns=TIMES_AND_PLACES, errors="ignore") for name, table in both.items()}


def assert_same_tables(one: Path, other: Path) -> None:
    """Bit for bit."""
    for name, table in tables(one).items():
        assert_same_bits(table, tables(other)[name])


def assert_same_bits(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Equal columns, rows and types, and equal numbers to the last bit; NaN is equal to itself."""
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    for name in one.select_dtypes("float64"):
        bits = [table[name].to_numpy().view(np.int64) for table in (one, other)]
        np.testing.assert_array_equal(*bits, err_msg=name)


def train_alone(plain: Plain, out: Path) -> None:
    """Every run of a spec without Ray and without Tune, each in a pack of its own, as `mulex train` does."""
    spec, folder = as_spec(plain), open_folder(out)
    plan = make_plan(spec, folder)
    for run in plan.runs():
        train_run(plan, run, folder)
    collect_tables(folder)


def train_run(plan: Plan, run: PlannedRun, folder: Folder) -> None:
    """One run, from its beginning to its file."""
    config = plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed)
    labels = Labels(plan.spec.name, run.world, [run.draw], plan.spec.outcome_hash(), role=run.role)
    training = PackTraining(Pack([config], labels), make_engine("auto", "cpu", [config]), folder)
    while not training.finished:
        training.iterate()
    training.finish()
    training.engine.close()


def begin_pack(plan: Plan, runs: list[PlannedRun], folder: Folder, iterations: int) -> str:
    """Train some runs as a pack for a while and leave a checkpoint; gives when the pack was begun."""
    configs = [plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed) for run in runs]
    draws, role = [run.draw for run in runs], runs[0].role
    labels = Labels(plan.spec.name, runs[0].world, draws, plan.spec.outcome_hash(), role=role)
    training = PackTraining(Pack(configs, labels), make_engine("auto", "cpu", configs), folder)
    for _ in range(iterations):
        training.iterate()
    training.leave()
    return training.pack.started_at
