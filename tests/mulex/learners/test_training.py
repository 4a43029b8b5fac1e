"""Packs of learners' runs in a folder: trained, stopped, resumed, failed, and found again in the tables."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulex.config import GymWorldConfig, TrainingConfig
from mulex.learners.failures import LearnerFailed
from mulex.learners.run_config import LearnerConfig, LearnerRun
from mulex.learners.runs import learner_pack
from mulex.learners.training import LearnerTraining
from mulex.store.collecting import collect_tables
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import run_name
from mulex.store.run_file import RunFile, read_run_file
from mulex.store.tables import read_runs
from mulex.training import Labels, Pack

MODULE = """
class Learner:
    hyperparameters = {"step": 1, "mode": "a"}
    def __init__(self, run): self.run, self.n = run, 0
    def iterate(self):
        self.n += self.run.values["step"]
        if self.run.values["mode"] == "breaks" and self.n == 3:
            raise RuntimeError("broken")
        score = float("nan") if self.run.values["mode"] == "diverges" else self.n + self.run.rng().random()
        return {"eval_return": score, "phase": "late" if self.n > 2 else "early", "good": self.n > 2}

class Kept(Learner):
    def save(self): return {"n": self.n}
    def load(self, state): self.n = int(state["n"])
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "trained_learners.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "trained_learners"
    sys.modules.pop("trained_learners", None)


def run_config(learner: str, mode: str = "a", seed: int = 0) -> LearnerRun:
    return LearnerRun(
        world=GymWorldConfig(id="CartPole-v1", ideal_return=10.0),
        method="mine",
        recipe=LearnerConfig(learner=learner, hyperparameters={"step": None, "mode": None}),
        training=TrainingConfig(iterations=4),
        values={"step": 1.0, "mode": mode},
        seed=seed,
    )


def start(folder: Folder, *runs: LearnerRun) -> LearnerTraining:
    pack = Pack(list(runs), Labels("sweep", "cartpole", [0] * len(runs), "hash", launch=3))
    return LearnerTraining(pack, learner_pack(runs), folder)


def finished(folder: Folder, run: LearnerRun) -> RunFile:
    return read_run_file(folder, run_name(run.method, run.run_id))


def train(training: LearnerTraining) -> None:
    while not training.finished:
        training.iterate()
    training.finish()
    training.engine.close()


def scores(file: RunFile) -> list[float]:
    return file.curve.column("eval_return").to_pylist()


@pytest.mark.parametrize(("learner", "goes_on_after"), [("Kept", 2), ("Learner", 0)])
def test_a_stopped_pack_ends_with_the_same_rows(module: str, tmp_path: Path, learner: str, goes_on_after: int) -> None:
    runs = [run_config(f"{module}:{learner}", seed=seed) for seed in (0, 1)]
    undisturbed, folder = open_folder(str(tmp_path / "one")), open_folder(str(tmp_path / "two"))
    train(start(undisturbed, *runs))
    stopped = start(folder, *runs)
    stopped.iterate()
    stopped.iterate()
    stopped.leave()
    stopped.engine.close()
    resumed = start(folder, *runs)
    said = resumed.begin()
    assert resumed.engine.iterations == goes_on_after
    assert said[-1] == (
        "continuing after iteration 2" if goes_on_after else "the learner keeps no state: beginning again"
    )
    train(resumed)
    for run in runs:
        assert scores(finished(folder, run)) == scores(finished(undisturbed, run))
    assert scores(finished(folder, runs[0])) != scores(finished(folder, runs[1]))
    assert folder.list("checkpoints") == []


def test_a_failure_leaves_its_story_and_its_rows(module: str, tmp_path: Path) -> None:
    run, folder = run_config(f"{module}:Learner", "breaks"), open_folder(str(tmp_path / "one"))
    training = start(folder, run)
    with pytest.raises(LearnerFailed):
        train(training)
    training.engine.close()
    file = finished(folder, run)
    assert (file.row["status"], file.row["iterations"], file.launch) == ("failed", 2, 3)
    assert file.row["error"].startswith("row 3: RuntimeError: broken\nTraceback")
    assert 'raise RuntimeError("broken")' in file.row["error"]
    assert len(scores(file)) == 2


def test_divergence_is_a_result(module: str, tmp_path: Path) -> None:
    run, folder = run_config(f"{module}:Learner", "diverges"), open_folder(str(tmp_path / "one"))
    train(start(folder, run))
    row = finished(folder, run).row
    assert row["status"] == "diverged"
    assert row["error"] == "eval_return is NaN or infinite in iteration 1"
    assert row["iterations"] == 4


def test_texts_and_bools_are_columns_of_both_tables(module: str, tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path / "one"))
    train(start(folder, run_config(f"{module}:Learner")))
    train(start(folder, run_config(f"{module}:Kept", seed=1)))
    assert collect_tables(folder).rows == 8
    import pyarrow.parquet as pq

    curves = pq.read_table(tmp_path / "one" / "curves.parquet").to_pylist()
    assert [row["phase"] for row in curves[:4]] == ["early", "early", "late", "late"]
    assert [row["good"] for row in curves[:4]] == [False, False, True, True]
    assert {row["mode"] for row in read_runs(folder)} == {"a"}


def test_ids_hold_what_decides_the_outcome_and_nothing_else(module: str) -> None:
    run = run_config(f"{module}:Learner")
    changed = [
        {"seed": 1},
        {"values": {"step": 2.0, "mode": "a"}},
        {"recipe": run.recipe.model_copy(update={"code": "other"})},
        {"recipe": run.recipe.model_copy(update={"version": "2"})},
        {"recipe": run.recipe.model_copy(update={"libraries": {"torch": "1"}})},
        {"training": TrainingConfig(iterations=5)},
    ]
    ids = {run.run_id, *(run.model_copy(update=change).run_id for change in changed)}
    assert len(ids) == 7
    ours = run.model_copy(update={"training": TrainingConfig(iterations=4, replay_size=1000)})
    assert ours.run_id == run.run_id


def test_a_hyperparameter_whose_condition_does_not_hold_is_left_to_the_learner() -> None:
    run = run_config("some:learner").model_copy(update={"values": {"step": None, "mode": "a"}})
    assert run.given == {"mode": "a"}
    command = run.recipe.model_copy(update={"command": ["x", "{step}", "{mode}"]})
    assert run.model_copy(update={"recipe": command}).given == {"step": None, "mode": "a"}
