"""Killed, frozen and torn apart in every way, a sweep comes to the same result; `make chaos` does more of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos import LEARNERS, PATIENCE, SPEC, Chaos, Faults
from tests.support.slow import SLOW
from tests.support.sweeps import (
    Process,
    assert_same_tables,
    clean_environment,
    mulex,
    run_files,
    wait_until,
    write_spec,
)

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that nobody disturbs."""
    with Chaos(tmp_path_factory.mktemp("undisturbed"), 0) as chaos:
        chaos.train_undisturbed()
        return chaos.reference


def check(chaos: Chaos, undisturbed: Path, kinds: list[str]) -> None:
    """Kill in these ways: nothing is lost, and nothing differs."""
    chaos.reference = undisturbed
    with chaos:
        tally = chaos.run(kinds)
    assert tally.is_clean, "\n".join(tally.lines())
    assert sum(tally.faults.values()) == len(kinds)


@SLOW
def test_killed_workers_change_nothing(undisturbed: Path, tmp_path: Path) -> None:
    """While they train, while they write a run or a checkpoint, and while they take one up."""
    check(Chaos(tmp_path, 1, cpus=1), undisturbed, ["worker", "restore", "commit"])


@SLOW
def test_killed_workers_of_a_class_and_a_command_change_nothing(tmp_path: Path) -> None:
    with Chaos(tmp_path, 3, spec=LEARNERS) as chaos:
        tally = chaos.run(["worker", "launcher"])
    assert tally.is_clean and not tally.troubles, "\n".join(tally.lines())


@SLOW
def test_killed_launchers_change_nothing(undisturbed: Path, tmp_path: Path) -> None:
    check(Chaos(tmp_path, 2), undisturbed, ["launcher"] * 3)


@SLOW
def test_launchers_killed_while_they_fold_change_nothing(undisturbed: Path, tmp_path: Path) -> None:
    check(Chaos(tmp_path, 4), undisturbed, ["folding"] * 4)


@SLOW
def test_killed_nodes_change_nothing(undisturbed: Path, tmp_path: Path) -> None:
    """In a cluster of two nodes, of which the one that trains loses its raylet and is replaced."""
    check(Chaos(tmp_path, 3, head_cpus=0), undisturbed, ["node"] * 3)


@pytest.mark.parametrize("mode", ["half", pytest.param("flushed", marks=SLOW), pytest.param("renamed", marks=SLOW)])
def test_a_launcher_that_dies_as_it_freezes_the_spec_is_followed_by_another(mode: str, tmp_path: Path) -> None:
    """It has not come as far as starting Ray; what it leaves is a whole spec or none."""
    (tmp_path / "faults").mkdir()
    faults, out = Faults(tmp_path / "faults"), tmp_path / "out"
    faults.arm("write", "spec.yaml", mode)
    with Process("sweep", write_spec(tmp_path, SPEC), "--out", str(out), env=faults.env) as process:
        assert process.wait().code == (-signal.SIGXFSZ if mode == "half" else -signal.SIGKILL)
    assert (out / "spec.yaml").exists() == (mode == "renamed")
    if mode == "renamed":
        assert mulex("verify", str(out)).code == 1
        assert "0 of 8 runs" in mulex("status", str(out)).text
    else:
        assert mulex("verify", str(out)).code == 2


LOST_WORKER = """
import sys
from pathlib import Path
from mulex.store.folder import open_folder
from sweeps.execution.task import make_task
from sweeps.execution.trainable import make_training
from sweeps.plan import make_plan
from sweeps.spec import parse_spec

spec, out, which = sys.argv[1:]
plan = make_plan(parse_spec(Path(spec).read_text(), spec), open_folder(out))
pack = plan.packs(list(plan.runs()), 1)[int(which)]
training = make_training(make_task(plan, pack, out, plan.spec.outcome_hash(), 1))
training.begin()
while not training.finished:
    training.iterate()
    training.checkpoint()
training.finish()
"""


@SLOW
def test_workers_that_were_frozen_and_wake_up_when_all_is_done_do_no_harm(undisturbed: Path, tmp_path: Path) -> None:
    """Two on a machine that lost contact stand still: one in training, one about to write its runs.

    A sweep takes over what they left and finishes. Then they go on as if nothing had happened.
    """
    (tmp_path / "faults").mkdir()
    faults, out, spec = Faults(tmp_path / "faults"), tmp_path / "out", write_spec(tmp_path, SPEC)
    with lost_worker(0, "checkpoints/", spec, out, faults) as one, lost_worker(1, "runs/", spec, out, faults) as other:
        with Process("sweep", spec, "--out", str(out), "--cpus", "2", env=faults.env) as process:
            answer = process.wait(PATIENCE)
        assert answer.code == 0, answer.text
        assert_same_tables(out, undisturbed)
        assert state(one.pid) == state(other.pid) == "T"
        done = run_files(out)
        for worker in (one, other):
            os.kill(worker.pid, signal.SIGCONT)
        assert [worker.wait(PATIENCE) for worker in (one, other)] == [0, 0]
    rewritten = {run for run, moment in run_files(out).items() if done[run] != moment}
    assert len(rewritten) == 4, "both wrote their two runs"
    assert mulex("verify", str(out)).code == 0
    assert mulex("collect", str(out)).code == 0
    assert_same_tables(out, undisturbed)
    done = run_files(out)
    assert mulex("resume", str(out)).code == 0
    assert run_files(out) == done
    assert not list(out.glob("checkpoints/*/*.npz"))
    assert json.loads(mulex("status", str(out), "--json").text)["packs"] == []


@contextmanager
def lost_worker(which: int, frozen_at: str, spec: str, out: Path, faults: Faults) -> Iterator[subprocess.Popen]:
    """A process that trains a pack as Ray's workers do, but belongs to no Ray, and freezes before a write."""
    faults.arm("write", frozen_at, "frozen")
    environment = {**clean_environment(), **faults.env}
    with subprocess.Popen([sys.executable, "-c", LOST_WORKER, spec, str(out), str(which)], env=environment) as worker:
        try:
            wait_until(lambda: state(worker.pid) == "T", PATIENCE, "that a worker stands still")
            yield worker
        finally:
            worker.kill()


def state(pid: int) -> str | None:
    """What the kernel says of a process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None
