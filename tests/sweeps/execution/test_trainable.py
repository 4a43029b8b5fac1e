"""The worker, without Ray around it: what it may write, and what it reports."""

from pathlib import Path
from typing import Any

import pytest

from mulex.store.folder import StorageError, open_folder
from mulex.store.layout import CHECKPOINTS, RUNS
from mulex.store.local_folder import LocalFolder
from mulex.store.run_file import read_run_file
from sweeps.execution import trainable as trainable_module
from sweeps.execution.task import PackTask, make_task
from sweeps.execution.trainable import PackTrainable
from sweeps.inventory import freeze_spec
from tests.support.sweeps import plan_of, tiny


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackTrainable:
    """One that trains the first pack of a sweep for launch 3."""
    monkeypatch.setattr(PackTrainable, "_set_gauge", lambda *_: None)  # metrics need a Ray
    return PackTrainable(task_in(tmp_path).as_config())


def task_in(folder: Path, **changes: Any) -> PackTask:
    """The first pack of a small sweep."""
    plan = plan_of(tiny(**changes))
    freeze_spec(open_folder(folder), plan.spec)
    return make_task(plan, plan.packs(list(plan.runs()), 1)[0], str(folder), "hash", 3)


def test_a_task_survives_the_way_to_a_worker(tmp_path: Path) -> None:
    from ray import cloudpickle

    task = task_in(tmp_path)
    assert cloudpickle.loads(cloudpickle.dumps(task)) == task


def test_run_files_carry_the_number_of_the_launch(worker: PackTrainable, tmp_path: Path) -> None:
    result = worker.step()
    assert (result["finished"], result["done"], result["iteration"]) == (True, True, 4)
    folder = open_folder(tmp_path)
    assert [read_run_file(folder, name).launch for name in folder.list(RUNS)] == [3, 3]


@pytest.mark.parametrize("finishes", [True, False])
def test_a_worker_of_a_launch_that_lost_the_sweep_writes_nothing(
    finishes: bool, worker: PackTrainable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither at its end nor when it is stopped before."""
    monkeypatch.setattr(trainable_module, "REPORT_SECONDS", 60.0 if finishes else 1e-9)
    folder = open_folder(tmp_path)
    folder.write("leases/00000004.json", b"{}")
    result = worker.step()
    assert result.get("fenced", False) == finishes
    worker.cleanup()
    assert folder.list(RUNS) == folder.list(CHECKPOINTS) == []


def test_storage_that_cannot_be_written_is_reported_and_no_failure_of_the_pack(
    worker: PackTrainable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: LocalFolder, name: str, content: bytes) -> None:
        raise StorageError(f"{name}: cannot be written (Permission denied)")

    monkeypatch.setattr(LocalFolder, "write", denied)
    result = worker.step()
    assert result["done"]
    assert "cannot be written (Permission denied)" in result["storage_error"]


def test_object_storage_that_fails_for_a_moment_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainable_module.time, "sleep", lambda _: None)
    worker = PackTrainable(task_in(tmp_path).as_config())
    object.__setattr__(worker._task, "folder", f"file://{tmp_path}")
    attempts = []

    def sometimes() -> None:
        attempts.append(1)
        if len(attempts) < 3:
            raise StorageError("no route to host")

    worker._write(sometimes)
    assert len(attempts) == 3


def test_a_node_that_does_not_see_the_folder_says_so(worker: PackTrainable, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").unlink()
    assert "does not see it" in worker.step()["storage_error"]
