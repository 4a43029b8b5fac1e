"""A sweep in a bucket of a real S3 server: killed, cut off, denied, resumed, looked at."""

import json
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from mulex.store.folder import Folder, open_folder
from mulex.store.layout import CHECKPOINTS, CURVES_TABLE, LEASE, PROGRESS, RUNS, RUNS_TABLE
from mulex.store.lease import newest_number
from mulex.store.run_file import read_run_file
from tests.support.s3_server import S3Server
from tests.support.slow import SLOW
from tests.support.sweeps import Plain, Process, assert_same_tables, mulex, tiny, train_alone, wait_until, write_spec

pytestmark = pytest.mark.timeout(600)

LONG: Plain = tiny(
    training={"iterations": 120},
    search={"draws": 1, "seeds": 1},
    execution={"max_concurrent": 2, "checkpoint_every": 0.5},
)


def start(tmp_path: Path, out: str) -> Process:
    """Launch the sweep in a process of its own; its runs take half a minute."""
    (tmp_path / "slow").touch()
    env = {"MULEX_REPORT_SECONDS": "1", "MULEX_SLOW_WHILE": str(tmp_path / "slow")}
    return Process("sweep", write_spec(tmp_path, LONG), "--out", out, "--cpus", "2", env=env)


def in_training(folder: Folder) -> None:
    """Wait until both packs have checkpoints."""
    wait_until(
        lambda: len({name.split("/")[1] for name in folder.list(CHECKPOINTS)}) == 2, 120, "two packs in training"
    )


def assert_finished(out: str, tmp_path: Path) -> None:
    """Everything is there, and as if nothing had happened."""
    folder, copy = open_folder(out), tmp_path / "copy"
    copy.mkdir()
    for name in (RUNS_TABLE, CURVES_TABLE):
        (copy / name).write_bytes(folder.read(name))
    train_alone(LONG, tmp_path / "alone")
    assert_same_tables(copy, tmp_path / "alone")
    assert mulex("verify", out).code == 0
    assert not folder.list(PROGRESS)
    assert not [name for name in folder.list(CHECKPOINTS) if name.endswith(".npz")]


def test_killed_and_resumed(s3_bucket: str, tmp_path: Path) -> None:
    out = f"{s3_bucket}/sweep"
    folder = open_folder(out)
    with start(tmp_path, out) as process:
        in_training(folder)
        said = json.loads(mulex("status", out, "--json").text)
        assert len(said["packs"]) == 2
        process.kill()
    assert newest_number(folder) == 1
    answer = mulex("verify", out)
    assert (answer.code, "missing" in answer.text) == (1, True)
    with Process("resume", out, "--cpus", "2") as process:
        answer = process.wait()
    assert answer.code == 0, answer.text
    assert_finished(out, tmp_path)
    assert newest_number(folder) == 2
    assert not folder.exists(LEASE)
    folder.remove(RUNS_TABLE)
    assert "2 runs" in mulex("collect", out).text
    assert "2 of 2 runs" in mulex("status", out).text
    assert {read_run_file(folder, name).launch for name in folder.list(RUNS)} == {2}


@SLOW
def test_an_outage_is_waited_for(s3_bucket: str, s3_server: S3Server, tmp_path: Path) -> None:
    """For 20 seconds every connection is closed unanswered; workers, lease and view survive it."""
    out = f"{s3_bucket}/sweep"
    with start(tmp_path, out) as process:
        in_training(open_folder(out))
        s3_server.stop_answering(20)
        time.sleep(20)
        answer = process.wait(300)
    assert answer.code == 0, answer.text
    assert "Traceback" not in answer.text
    assert_finished(out, tmp_path)
    assert newest_number(open_folder(out)) == 1


@SLOW
def test_denied_writes_stop_the_sweep_and_fail_no_run(s3_bucket: str, s3_server: S3Server, tmp_path: Path) -> None:
    out = f"{s3_bucket}/sweep"
    with start(tmp_path, out) as process:
        in_training(open_folder(out))
        s3_server.deny_writes = True
        answer = process.wait(300)
    assert answer.code in (1, 2), answer.text
    assert "cannot be written" in answer.text or "could not be renewed" in answer.text
    assert "Traceback" not in answer.text
    s3_server.heal()
    assert not open_folder(out).list(RUNS)
    with Process("resume", out, "--cpus", "2") as process:
        answer = process.wait(300)
    assert answer.code == 0, answer.text
    assert_finished(out, tmp_path)


def test_a_bucket_that_is_not_there_is_a_line(s3_bucket: str, tmp_path: Path) -> None:
    for command in (["sweep", write_spec(tmp_path, LONG), "--out"], ["status"], ["verify"], ["collect"], ["resume"]):
        answer = mulex(*command, "s3://no-such-bucket-here/sweep")
        assert answer.code == 2, answer.text
        assert "Traceback" not in answer.text
        assert "s3://no-such-bucket-here/sweep" in answer.text


@SLOW
def test_ctrl_c_leaves_checkpoints(s3_bucket: str, tmp_path: Path) -> None:
    out = f"{s3_bucket}/sweep"
    with start(tmp_path, out) as process:
        in_training(open_folder(out))
        process.signal(signal.SIGINT)
        answer = process.wait()
    assert answer.code == 130, answer.text
    assert pd.Series(open_folder(out).list(CHECKPOINTS)).str.endswith(".npz").sum() >= 2
