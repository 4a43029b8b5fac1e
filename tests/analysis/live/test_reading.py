"""What is read of a folder: which sweeps there are, every run, a run in the middle of training, its command."""

import asyncio
import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from analysis.errors import AnalysisError
from analysis.live.commands import train_command
from analysis.live.discovery import find_sweeps
from analysis.live.run_detail import run_detail
from analysis.live.summary import summary
from analysis.live.view import TableReader, make_reader
from analysis.live.watch import Watched
from mulex.learners.dqn.engines import make_engine
from mulex.store.folder import open_folder
from mulex.store.folding import fold
from mulex.store.progress import curves_so_far
from mulex.store.run_store import RunStore
from mulex.training import Labels, Pack, PackTraining
from sweeps.commands.train import _runs as runs_of_options
from sweeps.commands.train import train
from sweeps.inventory import freeze_spec
from sweeps.plan import Plan, make_plan
from tests.support.analysis_tables import made
from tests.support.sweeps import as_spec, begin_pack, tiny, train_run

PLAIN = {"epsilon_greedy": {"learning_rate": {"log_uniform": [1e-4, 1e-3]}}}


@pytest.fixture
def begun(tmp_path):
    """A sweep of eight runs: two done, a pack of two with a checkpoint, the others not begun."""
    folder = open_folder(tmp_path / "begun")
    freeze_spec(folder, as_spec(tiny()))
    plan = make_plan(as_spec(tiny()), folder)
    runs = list(plan.runs())
    for run in runs[:2]:
        train_run(plan, run, folder)
    begin_pack(plan, runs[2:4], folder, 2)
    return folder, plan


def test_sweeps_are_found_at_and_below_a_path(tmp_path):
    for name in ("a", "group/b", "group/deep/c", "group/deep/too/deep/d"):
        made(tmp_path / name, draws=1, seeds=1)
    (tmp_path / ".hidden").mkdir()
    assert list(find_sweeps([str(tmp_path)])) == ["a", "group-b", "group-deep-c"]
    assert list(find_sweeps([str(tmp_path / "a"), str(tmp_path)])) == ["a", "group-b", "group-deep-c"]
    both = find_sweeps([str(tmp_path / "group" / "b"), str(tmp_path / "group" / "deep" / "too" / "deep")])
    assert list(both) == ["b", "d"]


def test_two_sweeps_of_one_name_have_two_keys(tmp_path):
    for name in ("one/x", "two/x"):
        made(tmp_path / name, draws=1, seeds=1)
    keys = list(find_sweeps([str(tmp_path / "one" / "x"), str(tmp_path / "two" / "x")]))
    assert keys[0] == "x"
    assert keys[1].startswith("x-")


def test_paths_without_a_sweep_are_refused(tmp_path):
    with pytest.raises(AnalysisError, match="no such folder"):
        find_sweeps([str(tmp_path / "nowhere")])
    with pytest.raises(AnalysisError, match=r"neither a sweep nor a folder of sweeps: no spec\.yaml"):
        find_sweeps([str(tmp_path)])


def test_every_planned_run_has_a_row_with_its_hyperparameters(begun):
    folder, plan = begun
    view = make_reader(folder).read()
    assert list(view.runs["run"]) == [run.run_id for run in plan.runs()]
    assert view.runs["status"].value_counts().to_dict() == {"done": 2, "paused": 2, "pending": 4}
    assert [view.count(name) for name in ("done", "running", "failed", "pending", "total")] == [2, 0, 0, 6, 8]
    for row in view.runs.to_dict("records"):
        drawn = plan.values[row["method"]][row["draw"]]
        assert {name: row[name] for name in drawn} == drawn
    done = view.runs[view.runs["status"] == "done"]
    assert done["iteration"].tolist() == [4, 4]
    assert done[["host", "finished_at", "seconds", "score"]].notna().all(axis=None)


def test_a_paused_run_has_its_checkpoint_its_curve_and_its_command(begun):
    folder, plan = begun
    reader = make_reader(folder)
    waiting = list(plan.runs())[2]
    detail = run_detail(folder, reader, reader.read(), waiting.run_id)
    assert (detail["status"], detail["iteration"]) == ("paused", 2)
    assert detail["checkpoint"]["iteration"] == 2
    assert 0 <= detail["checkpoint"]["age"] < 300
    assert detail["curves"]["iteration"] == [1, 2]
    assert {"eval_return", "env_steps", "loss_task"} <= detail["curves"]["columns"].keys()
    json.dumps(detail, allow_nan=False)
    assert detail["command"].startswith(f"mulex train --method {waiting.method} ")
    assert run_detail(folder, reader, reader.read(), "nothing") is None


def test_a_checkpoint_that_cannot_be_read_leaves_no_curve(begun):
    folder, plan = begun
    for name in folder.list("checkpoints"):
        if name.endswith(".npz"):
            folder.write(name, b"damaged")
    reader = make_reader(folder)
    detail = run_detail(folder, reader, reader.read(), list(plan.runs())[2].run_id)
    assert (detail["status"], detail["curves"]["iteration"]) == ("paused", [])


def test_a_stopped_sweep_without_finished_runs_is_paused(tmp_path):
    folder = open_folder(tmp_path / "stopped")
    freeze_spec(folder, as_spec(tiny()))
    sweep = Watched("stopped", folder)
    asyncio.run(sweep.read())
    assert summary(sweep)["paused"] is None
    plan = make_plan(as_spec(tiny()), folder)
    runs = list(plan.runs())
    begin_pack(plan, runs[:2], folder, 2)
    assert asyncio.run(sweep.read()), "the page is told"
    about = summary(sweep)
    assert about["paused"] == {"packs": 1, "first": 2, "last": 2}
    assert (about["pending"], about["partly"]) == (8, 1.0), "two runs of four iterations have done two"
    begin_pack(plan, runs[4:5], folder, 3)
    asyncio.run(sweep.read())
    assert summary(sweep)["paused"] == {"packs": 2, "first": 2, "last": 3}


def test_a_finished_run_has_its_curves_and_where_it_ran(begun):
    folder, plan = begun
    reader = make_reader(folder)
    detail = run_detail(folder, reader, reader.read(), next(iter(plan.runs())).run_id)
    assert detail["curves"]["iteration"] == [1, 2, 3, 4]
    assert len(detail["curves"]["columns"]["eval_return"]) == 4
    assert "loss_task" in detail["curves"]["columns"]
    assert detail["origin"]["engine"] in ("native", "torch")
    assert detail["origin"]["started_at"] <= detail["origin"]["finished_at"]
    assert detail["checkpoint"] is None
    json.dumps(detail, allow_nan=False)


def test_a_run_in_training_has_its_curve_so_far(begun):
    folder, plan = begun
    runs = list(plan.runs())[4:6]
    training = _training(plan, runs, folder)
    for _ in range(3):
        training._progress_written = 0.0  # every iteration is written, as if seconds had passed
        training.iterate()
    reader = make_reader(folder)
    view = reader.read()
    detail = run_detail(folder, reader, view, runs[1].run_id)
    training.engine.close()
    assert view.count("running") == 2
    assert detail["status"] == "running"
    assert detail["iteration"] == 3
    assert detail["curves"]["iteration"] == [1, 2, 3]
    assert detail["curves"]["columns"]["eval_return"] == [row["eval_return"] for row in training.pack.curves[1]]
    assert detail["origin"]["updated"] < 120
    assert detail["origin"]["pid"] > 0


def _training(plan: Plan, runs, folder) -> PackTraining:
    configs = [plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed) for run in runs]
    labels = Labels("tiny", runs[0].world, [run.draw for run in runs], "")
    return PackTraining(Pack(configs, labels), make_engine("auto", "cpu", configs), folder)


def test_new_runs_change_the_marks(begun):
    folder, plan = begun
    reader = make_reader(folder)
    before = reader.read()
    assert reader.read().mark() == before.mark()
    train_run(plan, list(plan.runs())[7], folder)
    after = reader.read()
    assert after.mark() != before.mark()
    assert after.finished_mark() != before.finished_mark()


def test_the_tables_are_enough_without_run_files_or_spec(tmp_path):
    reader = make_reader(open_folder(made(tmp_path, draws=2, planned=(3, 2))))
    assert isinstance(reader, TableReader)
    view = reader.read()
    assert [view.count(name) for name in ("done", "pending")] == [12, 6]
    (tmp_path / "spec.yaml").unlink()
    assert make_reader(open_folder(tmp_path)).read().count("pending") == 0
    run = str(view.runs["run"].iloc[0])
    detail = run_detail(open_folder(tmp_path), reader, view, run)
    assert len(detail["curves"]["columns"]["eval_return"]) == 20
    assert detail["command"] is None, "no run of this version has such an id"


def test_the_board_counts_folded_runs(begun):
    folder, _ = begun
    before = make_reader(folder).read()
    assert fold(RunStore(folder), at_least=1) == 2
    after = make_reader(folder).read()
    assert after.count("done") == before.count("done") == 2
    pd.testing.assert_frame_equal(after.runs, before.runs)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"worlds": {"hard": {"room_size": 4, "hard": True, "ghosts": 1, "time_limit": 50}}},
        {"worlds": {"pole": {"id": "CartPole-v1"}}, "methods": PLAIN},
        {"training": {"loss": "huber", "discount": 0.9, "hidden": 16}},
        {"methods": {"mulex": {"bonus": "simhash", "p_task": {"uniform": [0.5, 0.9]}}}},
    ],
)
def test_the_command_trains_the_same_run(change):
    spec = as_spec(tiny(**change))
    plan = make_plan(spec, open_folder("/nonexistent"))
    for run in plan.runs():
        config = plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed)
        command = train_command(config)
        assert command is not None
        options = train.make_context("train", shlex.split(command)[2:]).params
        assert runs_of_options(options)[0].run_id == run.run_id


def test_a_run_that_no_option_describes_has_no_command():
    worlds = {"w": {"id": "CartPole-v1", "kwargs": {"max_episode_steps": 9}}}
    plan = make_plan(as_spec(tiny(worlds=worlds, methods=PLAIN)), open_folder("/nonexistent"))
    run = next(iter(plan.runs()))
    config = plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed)
    assert train_command(config) is None


def test_a_damaged_spec_is_a_problem_and_no_crash(tmp_path):
    folder = Path(made(tmp_path, draws=1))
    (folder / "spec.yaml").write_text("worlds: [")
    assert make_reader(open_folder(folder)).read().count("done") == 6


def test_curves_in_progress_files_stay_small():
    long = [[{"eval_return": float(i % 7)} for i in range(10_000)] for _ in range(50)]
    so_far = curves_so_far(long)
    assert len(so_far["iteration"]) == 80, "4,000 points for 50 runs"
    assert so_far["iteration"][-1] == 10_000
    assert len(json.dumps(so_far)) < 50_000
    short = curves_so_far([[{"eval_return": 1 / 3}, {"eval_return": None}, {"eval_return": float("nan")}]])
    assert short == {"iteration": [1, 2, 3], "eval_return": [[0.33333, None, None]]}
