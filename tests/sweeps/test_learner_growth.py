"""Longer runs of external learners: those that can be resumed go on bit for bit, the others are refused."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from mulex.store.folder import open_folder
from sweeps.execution.task import make_task
from sweeps.execution.trainable import make_training
from sweeps.growth import with_growth
from sweeps.inventory import freeze_spec, frozen_spec
from sweeps.plan import PlannedPack, make_plan
from tests.support.slow import SLOW
from tests.support.sweeps import RAY_MARKS, ROOT, Plain, as_spec, assert_same_bits, files, launch, tables

pytest_plugins = ["tests.support.ray_plugin"]

LEARNERS = '''
import numpy as np


class Learner:
    """Its rows depend on all that it is told about its length and its id."""

    hyperparameters = {"step": 0.5}

    def __init__(self, run):
        self.run, self.n, self.total = run, 0, 0.0

    def iterate(self):
        self.n += 1
        schedule = 1 - self.n / self.run.iterations - self.run.training["iterations"]
        self.total += self.run.values["step"] * schedule * self.run.rng().random()
        return {"eval_return": self.total, "key": self.run.key % 997, "id": self.run.run_id}

    def save(self):
        return {"n": self.n, "total": self.total}

    def load(self, state):
        self.n, self.total = int(state["n"]), float(state["total"])


class Forgetful:
    hyperparameters = {"step": 0.5}

    def __init__(self, run):
        pass

    def iterate(self):
        return {"eval_return": 0.0}


def train(run, step=0.5):
    rng = run.rng()
    state = run.restore() or {"n": np.array(0), "total": np.array(0.0)}
    total = float(state["total"])
    for n in range(int(state["n"]), run.rows_wanted):
        total += step * (1 - n / run.iterations) * rng.random()
        if n % 2:
            run.checkpoint({"n": np.array(n + 1), "total": np.array(total)})
        yield {"eval_return": total, "key": run.key % 997}


def stubborn(run, step=0.5):
    for n in range(run.iterations):
        run.checkpoint({"n": np.array(n)})
        yield {"eval_return": step}
'''
SCRIPT = ["python", "script.py", "--seed", "{key}", "--step-size", "{step}", "--iterations", "{rows_wanted}"]
STEP = {"uniform": [0.1, 1.0]}
METHODS: dict[str, Plain] = {
    "class": {"learner": "growing_learners:Learner", "step": STEP},
    "generator": {"learner": "growing_learners:train", "step": STEP},
    "command": {"command": [*SCRIPT, "--checkpoint", "{checkpoint}"], "step": STEP},
    "sb3": {"learner": "sb3:A2C", "learning_rate.linear": {"log_uniform": [1e-4, 1e-2]}, "n_steps": 5},
}


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "growing_learners.py").write_text(LEARNERS)
    (folder / "script.py").write_text((ROOT / "examples" / "script.py").read_text())
    return folder


def spec_of(code: Path, methods: dict[str, Plain], iterations: int, **training: int) -> Plain:
    return {
        "name": "growing",
        "worlds": {"pole": {"id": "CartPole-v1", "ideal_return": 500}},
        "training": {"iterations": iterations, "steps_per_iteration": 60, "evaluation_episodes": 1, **training},
        "search": {"draws": 1, "seeds": 2},
        "methods": methods,
        "execution": {"code": str(code), "keep_checkpoints": True, "max_concurrent": 1},
    }


def train(plain: Plain, folder: Path, source: str = "") -> tuple[pd.DataFrame, int, str]:
    """Train the first run of a spec to its end; returns its curve, after how many rows it began, and its pack."""
    opened, spec = open_folder(folder), as_spec(plain)
    freeze_spec(opened, spec)
    plan = make_plan(spec, opened)
    run = next(plan.runs())
    training = make_training(make_task(plan, PlannedPack("pole", run.method, (run,), source), str(folder), "hash", 1))
    assert training.pack.runs[0].run_id == run.run_id
    training.begin()
    begun = training.engine.iterations
    while not training.finished:
        training.iterate()
    training.finish()
    training.engine.close()
    return pd.DataFrame(training.pack.curves[0]).drop(columns="seconds"), begun, training.pack.name


@pytest.mark.parametrize("kind", METHODS)
def test_a_longer_run_goes_on_as_if_it_had_been_long_from_the_start(kind: str, code: Path, tmp_path: Path) -> None:
    methods = {kind: METHODS[kind]}
    short, begun, name = train(spec_of(code, methods, 4), tmp_path / "a")
    assert begun == 0
    longer = spec_of(code, methods, 7, grown_from=4)
    grown, begun, _ = train(longer, tmp_path / "a", name)
    assert begun == 4
    from_the_start, begun, _ = train(longer, tmp_path / "b")
    assert begun == 0
    assert_same_bits(grown, from_the_start)
    assert_same_bits(grown[:4], short)
    assert len(grown) == 7
    other, _, _ = train(spec_of(code, methods, 7), tmp_path / "c")
    assert not other.equals(grown), "a run that was planned with 7 iterations is another run"


def test_a_spec_of_grown_learners_is_read_back(code: Path, tmp_path: Path) -> None:
    folder, methods = open_folder(tmp_path / "out"), {"class": METHODS["class"]}
    freeze_spec(folder, as_spec(spec_of(code, methods, 4)))
    spec = with_growth(folder, as_spec(spec_of(code, methods, 6)))
    freeze_spec(folder, spec)
    assert frozen_spec(folder) == spec
    assert spec.training_in("pole").grown_from == 4


def test_a_length_of_a_methods_own_stays(code: Path, tmp_path: Path) -> None:
    methods = {"class": {**METHODS["class"], "iterations": 3}}
    short, grown = (as_spec(spec_of(code, methods, *length)) for length in ((4,), (6,)))
    folder = open_folder(tmp_path / "out")
    freeze_spec(folder, short)
    grown = with_growth(folder, grown)
    assert grown.training_in("pole").grown_from == 4
    ids = [[run.run_id for run in make_plan(spec, folder).runs()] for spec in (short, grown)]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ({"learner": "growing_learners:Forgetful", "step": STEP}, "keeps no checkpoints; it needs save() and load()"),
        ({"learner": "growing_learners:stubborn", "step": STEP}, "it must read run.rows_wanted"),
        ({"command": SCRIPT, "step": STEP}, "keeps no checkpoints"),
        ({"command": ["python", "script.py", "{checkpoint}", "{iterations}", "{step}"], "step": STEP}, "{rows_wanted}"),
    ],
)
def test_learners_that_cannot_go_on_are_refused(method: Plain, why: str, code: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    freeze_spec(open_folder(out), as_spec(spec_of(code, {"mine": method}, 4)))
    before = files(out)
    answer = launch(spec_of(code, {"mine": method}, 5), out)
    assert answer.code == 2
    said = " ".join(answer.text.split())
    assert "training.iterations: 4 -> 5 (runs of mine cannot go on: its learner" in said
    assert why in said
    assert files(out) == before


class TestOnRay:
    pytestmark = RAY_MARKS

    @SLOW
    def test_a_sweep_of_learners_grows(self, code: Path, tmp_path: Path) -> None:
        methods = {name: METHODS[name] for name in ("class", "generator", "command")}
        out = tmp_path / "out"
        assert launch(spec_of(code, methods, 4), out).code == 0
        starts = pd.read_parquet(out / "runs.parquet").set_index(["method", "seed"])["started_at"]
        answer = launch(spec_of(code, methods, 6), out)
        assert answer.code == 0, answer.text
        assert "added: training.iterations: 4 -> 6" in answer.text
        grown = tables(out)
        assert grown["curves"].groupby(["method", "seed"])["iteration"].max().tolist() == [6] * 6
        now = pd.read_parquet(out / "runs.parquet").set_index(["method", "seed"])["started_at"]
        assert (now[starts.index] == starts).all(), "their shorter runs were begun then"
