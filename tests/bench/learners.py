"""What it costs to train somebody's learner through this package, over calling it in a bare loop.

The wall and processor time that an iteration costs beyond the learner's own, also as a share of an iteration of one
second, and those of a run of next to nothing, without the start of its worker. The last figures are what such a run
takes in a sweep on all cores, as a trial of Ray Tune by itself and in packs. The goals are 1 %, and 20 ms in packs.
"""

import inspect
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from ruamel.yaml import YAML

from mulex.learners.contract import Run
from mulex.learners.run_config import LearnerRun
from mulex.learners.runs import learner_pack
from mulex.learners.training import LearnerTraining
from mulex.store.folder import open_folder
from mulex.training import Labels, Pack
from sweeps.plan import make_plan
from sweeps.spec import parse_spec, write_yaml
from tests.bench.sweeps import sweep

ITERATIONS, RUNS, ROUNDS, SWEEP_RUNS, PACKED = 200, 40, 5, 200, 10
SPEC = """
name: cost
worlds: {pole: {id: CartPole-v1}}
training: {iterations: NUMBER}
search: {draws: 1, seeds: SEEDS}
methods: {bare: {learner: "tests.bench.learners:Bare", step: 1}}
"""


class Bare:
    """Next to nothing: one addition an iteration."""

    hyperparameters = {"step": 1.0}  # noqa: RUF012

    def __init__(self, run: Run) -> None:
        self.step, self.at = float(run.values["step"]), 0.0

    def iterate(self) -> dict[str, float]:
        self.at += self.step
        return {"eval_return": self.at, "loss": 0.5}


class Spent(NamedTuple):
    """Seconds of the clock and of the processor."""

    wall: float
    cpu: float


def measure() -> dict[str, float]:
    """Train as a worker does, without Ray; then a sweep."""
    with tempfile.TemporaryDirectory(prefix="mulex-bench-") as folder:
        place = Path(folder)
        _spent(_runs(1, 1), place / "first")  # imports
        rounds = [_an_iteration(place / f"one{number}") for number in range(ROUNDS)]
        each = [_spent([run], place / "many") for run in _runs(1, RUNS)]
        figures = {}
        for kind in Spent._fields:
            iteration = statistics.median(getattr(spent, kind) for spent in rounds)
            figures[f"learners: {kind} ms an iteration over a bare loop"] = 1000 * iteration
            figures[f"learners: {kind} per cent of a second's iteration"] = 100 * iteration
            a_run = statistics.median(getattr(spent, kind) for spent in each)
            figures[f"learners: {kind} ms a run of one iteration"] = 1000 * a_run
        for draws in (1, PACKED):
            name = "alone" if draws == 1 else f"in packs of {draws}"
            figures[f"learners: wall ms a run in a sweep, {name}"] = 1000 * _in_a_sweep(place / name, draws)
        return figures


def _an_iteration(path: Path) -> Spent:
    """Return what one of many iterations costs over a bare loop."""
    (run,) = _runs(ITERATIONS, 1)
    ours, bare = _spent([run], path), _bare(run)
    return Spent(*((mine - least) / ITERATIONS for mine, least in zip(ours, bare, strict=True)))


def _in_a_sweep(place: Path, draws_per_pack: int) -> float:
    """Return the time from the first finished run of a sweep to its last, by run."""
    (place / "code").mkdir(parents=True)
    (place / "code" / "bare.py").write_text(inspect.getsource(Bare).replace(": Run", ""))
    plain = YAML(typ="safe").load(SPEC.replace("NUMBER", "1").replace("SEEDS", "1"))
    plain["search"]["draws"] = SWEEP_RUNS
    plain["methods"] = {"bare": {"learner": "bare:Bare", "step": {"uniform": [0, 1]}}}
    plain["execution"] = {"code": str(place / "code"), "draws_per_pack": draws_per_pack}
    sweep(place, "sweep", write_yaml(plain))
    finished = pd.read_parquet(place / "sweep" / "runs.parquet")["finished_at"]
    return float((finished.max() - finished.min()).total_seconds() / (len(finished) - 1))


def _runs(iterations: int, seeds: int) -> list[LearnerRun]:
    spec = parse_spec(SPEC.replace("NUMBER", str(iterations)).replace("SEEDS", str(seeds)), "bench")
    plan = make_plan(spec, open_folder(tempfile.gettempdir()))
    made = [plan.families["pole", "bare"].run(plan.values["bare"][0], seed) for seed in range(seeds)]
    return [run for run in made if isinstance(run, LearnerRun)]


def _spent(runs: list[LearnerRun], path: Path) -> Spent:
    folder = open_folder(path)
    began = _now()
    with closing(learner_pack(runs, folder=folder)) as engine:
        training = LearnerTraining(Pack(list(runs), Labels("cost", "pole", [0], "none")), engine, folder)
        training.begin()
        while not training.finished:
            training.iterate()
        training.finish()
    return _since(began)


def _bare(run: LearnerRun) -> Spent:
    learner = Bare(Run(run.run_id, run.given, run.seed, {}, ITERATIONS, Path(tempfile.gettempdir())))
    began = _now()
    for _ in range(ITERATIONS):
        learner.iterate()
    return _since(began)


def _now() -> Spent:
    return Spent(time.perf_counter(), time.process_time())


def _since(began: Spent) -> Spent:
    now = _now()
    return Spent(now.wall - began.wall, now.cpu - began.cpu)
