"""`mulex train` from the outside: files, resume, and a user's mistakes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from ruamel.yaml import YAML

from mulex.commands.play import play
from mulex.errors import UserError
from mulex.methods import METHODS
from mulex.store.folder import open_folder
from mulex.store.lease import Lease, SweepBusy
from sweeps.commands.train import train
from sweeps.inventory import frozen_spec

TINY = ("--layout", "two_rooms", "--room-size", "3", "--iterations", "3", "--seeds", "2")
TINY += ("--set", "steps_per_iteration=100", "--set", "warm_up=20", "--set", "replay_size=200")
TIMES = ["seconds", "started_at", "finished_at"]


def run(*arguments: str) -> Result:
    """The command in this process; a user's mistake is raised."""
    return CliRunner().invoke(train, list(arguments), catch_exceptions=False)


def curves(folder: Path) -> pd.DataFrame:
    """The curves without what no two runs share."""
    return pd.read_parquet(folder / "curves.parquet").drop(columns="seconds")


@pytest.mark.parametrize("method", ["epsilon_greedy", "additive", "mulex", "two_task_heads"])
def test_it_leaves_the_files_of_a_sweep(method: str, tmp_path: Path) -> None:
    result = run("--method", method, *TINY, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    runs = pd.read_parquet(tmp_path / "runs.parquet")
    assert runs["status"].tolist() == ["done", "done"]
    assert runs["seed"].tolist() == [0, 1]
    assert len(pd.read_parquet(tmp_path / "curves.parquet")) == 6
    assert {path.stem for path in (tmp_path / "runs" / method).iterdir()} == set(runs["run"])
    assert {path.stem for path in (tmp_path / "policies").iterdir()} == set(runs["run"])
    assert not list((tmp_path / "progress").iterdir())
    assert (tmp_path / "spec.yaml").exists()


def test_the_same_command_again_trains_nothing(tmp_path: Path) -> None:
    run(*TINY, "--out", str(tmp_path))
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.parquet")}
    result = run(*TINY, "--out", str(tmp_path))
    assert "done already" in result.output
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*.parquet")}


def test_more_seeds_train_only_the_new_ones(tmp_path: Path) -> None:
    run(*TINY, "--out", str(tmp_path))
    before = pd.read_parquet(tmp_path / "runs.parquet")
    run(*TINY, "--seeds", "3", "--out", str(tmp_path))
    after = pd.read_parquet(tmp_path / "runs.parquet")
    assert after["seed"].tolist() == [0, 1, 2]
    pd.testing.assert_frame_equal(after[:2], before)


def test_a_damaged_run_is_done_again_and_equal(tmp_path: Path) -> None:
    run(*TINY, "--out", str(tmp_path))
    before = curves(tmp_path)
    victim = next((tmp_path / "runs").rglob("*.parquet"))
    victim.write_bytes(victim.read_bytes()[:-10])
    result = run(*TINY, "--out", str(tmp_path))
    assert "moved aside" in result.output
    pd.testing.assert_frame_equal(curves(tmp_path), before)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_stopped_and_continued_equals_never_stopped(blow: signal.Signals, tmp_path: Path) -> None:
    long = (*TINY, "--iterations", "25", "--checkpoint-seconds", "0")
    run(*long, "--out", str(tmp_path / "whole"))
    command = [sys.executable, "-m", "cluster.cli", "train", *long, "--out", str(tmp_path / "cut")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("cut/checkpoints/*/*.npz")):
            assert time.monotonic() < deadline, "no checkpoint appeared"
            time.sleep(0.01)
        os.kill(process.pid, blow)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == (130 if blow == signal.SIGINT else -signal.SIGKILL), output
    assert not list(tmp_path.glob("cut/runs/*/*.parquet"))
    result = run(*long, "--out", str(tmp_path / "cut"))
    assert "continuing after iteration" in result.output
    pd.testing.assert_frame_equal(curves(tmp_path / "cut"), curves(tmp_path / "whole"))
    both = [pd.read_parquet(tmp_path / name / "runs.parquet").drop(columns=TIMES) for name in ("cut", "whole")]
    pd.testing.assert_frame_equal(*both)


def test_a_run_that_diverges_is_said_to_have_diverged_and_harms_no_other(tmp_path: Path) -> None:
    wild = ("--set", "learning_rate=10", "--set", "input_scale=1e6")
    result = run("--method", "epsilon_greedy", *TINY, *wild, "--out", str(tmp_path))
    runs = pd.read_parquet(tmp_path / "runs.parquet")
    assert result.exit_code == 1
    assert set(runs["status"]) == {"diverged"}
    assert runs["error"].str.contains("loss_task is").all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "colour=red"), "no setting 'colour'"),
        (("--set", "learning_rate"), "KEY=VALUE"),
        (("--set", "batch_size=0"), "batch_size: got 0"),
        (("--set", "epsilon=2"), "epsilon: got 2"),
        (("--set", "learning_rate=fast"), "learning_rate: got 'fast'"),
        (("--set", "discount=1.5"), "discount: got 1.5"),
        (("--room-size", "2"), "room_size: got 2"),
        (("--env", "Nowhere-v0"), "Nowhere-v0"),
        (("--env", "Pendulum-v1", "--method", "epsilon_greedy"), "Discrete"),
        (("--env", "CartPole-v1"), "oracle"),
        (("--layout", "corridor", "--set", "body=conv"), "too small"),
        (("--device", "cuda:7"), "cuda:7"),
    ],
)
def test_a_mistake_is_explained_and_leaves_nothing(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        run(*arguments, "--out", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match=r"file/new.*: cannot be written"):
        run("--out", str(tmp_path / "file" / "new"))


def test_other_settings_in_the_same_folder_are_refused(tmp_path: Path) -> None:
    run(*TINY, "--out", str(tmp_path))
    for other in (("--iterations", "4"), ("--set", "p_task=0.6"), ("--room-size", "4")):
        with pytest.raises(UserError, match="use another --out"):
            run(*TINY, *other, "--out", str(tmp_path))
    result = run("--method", "additive", *TINY, "--out", str(tmp_path))
    assert result.exit_code == 0
    assert len(pd.read_parquet(tmp_path / "runs.parquet")) == 4


def test_a_trained_run_can_be_watched_in_its_own_world(tmp_path: Path) -> None:
    run(*TINY, "--out", str(tmp_path))
    policy = next((tmp_path / "policies").iterdir())
    row = pd.read_parquet(tmp_path / "runs.parquet").set_index("run").loc[policy.stem]
    record = tmp_path / "runs" / "mulex" / f"{policy.stem}.parquet"
    for path in (policy, record):
        shown = CliRunner().invoke(play, ["--run", str(path)], catch_exceptions=False)
        assert shown.output.startswith(f"return {row['final_return']:g} in ")
    for wrong, message in ((tmp_path / "nothing.pt", "no such policy"), (tmp_path / "spec.yaml", "not a policy")):
        with pytest.raises(UserError, match=message):
            CliRunner().invoke(play, ["--run", str(wrong)], catch_exceptions=False)
    with pytest.raises(UserError, match="do not go together"):
        CliRunner().invoke(play, ["--run", str(policy), "--hard"], catch_exceptions=False)


def test_a_folder_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    """Two at a time would each forget the methods and seeds of the other."""
    with Lease(open_folder(tmp_path)), pytest.raises(SweepBusy, match="another launcher has this sweep"):
        run(*TINY, "--out", str(tmp_path))
    assert run(*TINY, "--out", str(tmp_path)).exit_code == 0


def test_processes_that_begin_together_lose_nothing(tmp_path: Path) -> None:
    """Whoever is refused is told so; the runs of all others are in the spec and in the tables."""
    methods = ["epsilon_greedy", "additive", "mulex"]
    start = [sys.executable, "-m", "cluster.cli", "train", *TINY, "--out", str(tmp_path)]
    processes = [subprocess.Popen([*start, "--method", method], stderr=subprocess.PIPE) for method in methods]
    said = [process.communicate(timeout=120)[1].decode() for process in processes]
    codes = [process.returncode for process in processes]
    assert set(codes) <= {0, 2}, said
    assert 0 in codes
    assert all("launcher" in text for text, code in zip(said, codes, strict=True) if code == 2)
    trained = {method for method, code in zip(methods, codes, strict=True) if code == 0}
    assert set(pd.read_parquet(tmp_path / "runs.parquet")["method"]) == trained
    assert set(frozen_spec(open_folder(tmp_path)).methods) == trained


def test_the_folder_of_an_earlier_version_is_continued(tmp_path: Path) -> None:
    """It left what differs from the defaults, in another order."""
    plain = {
        "name": "train",
        "worlds": {"two_rooms3": {"map": "two_rooms", "room_size": 3}},
        "training": {"iterations": 3, "steps_per_iteration": 100, "warm_up": 20, "replay_size": 200},
        "search": {"draws": 1, "seeds": 2, "first_seed": 0},
        "methods": {"mulex": dict(METHODS["mulex"].hyperparameters)},
    }
    YAML(typ="safe", pure=True).dump(plain, tmp_path / "spec.yaml")
    assert run(*TINY, "--seeds", "3", "--out", str(tmp_path)).exit_code == 0
    assert frozen_spec(open_folder(tmp_path)).search.seeds == 3
    with pytest.raises(UserError, match="use another --out"):
        run(*TINY, "--set", "p_task=0.6", "--out", str(tmp_path))


def test_the_earlier_name_of_checkpoint_seconds_is_still_taken(tmp_path: Path) -> None:
    result = run(*TINY, "--snapshot-seconds", "0", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "snapshot" not in run("--help").output
