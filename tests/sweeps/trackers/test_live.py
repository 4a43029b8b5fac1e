"""Trackers while a sweep runs: rows arrive as they are trained, and a resumed sweep sends nothing twice."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mulex.learners.dqn.engines import make_engine
from mulex.store.folder import Folder, open_folder
from mulex.training import Labels, Pack, PackTraining
from sweeps.inventory import freeze_spec
from sweeps.monitor.status import Board
from sweeps.plan import make_plan
from sweeps.trackers.contract import Entry, Sent
from sweeps.trackers.exporter import Exporter, LiveExport
from sweeps.trackers.source import FolderSource
from sweeps.trackers.targets import make_tracker
from tests.support.sweeps import as_spec, launch, mulex, tiny, wait_until
from tests.sweeps.trackers import readers
from tests.sweeps.trackers.readers import Seen

SPEC = tiny(training={"iterations": 6, "steps_per_iteration": 30}, search={"draws": 1, "seeds": 2})
READERS: dict[str, Callable[[str], dict[str, Seen]]] = {
    "tensorboard": lambda where: readers.tensorboard(Path(where)),
    "wandb": lambda where: readers.wandb_offline(Path(where)),
    "mlflow": lambda where: readers.mlflow(where, "tiny"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = open_folder(tmp_path / "out")
    freeze_spec(folder, as_spec(SPEC))
    return folder


def begin(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> PackTraining:
    """The training of the first pack, as a worker has it when the spec names a tracker."""
    monkeypatch.setattr("mulex.training.PROGRESS_SECONDS", 0.0)
    plan = make_plan(as_spec(SPEC), folder)
    runs = plan.packs(list(plan.runs()), 1)[0].runs
    configs = [plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed) for run in runs]
    labels = Labels("tiny", "small", [run.draw for run in runs], plan.spec.outcome_hash(), 0, tracked=True)
    training = PackTraining(Pack(configs, labels), make_engine("auto", "cpu", configs), folder)
    training.begin()
    return training


def exporter(folder: Folder, target: str) -> Exporter:
    """A new one, as a launch makes it."""
    return Exporter(FolderSource(Board(as_spec(SPEC), folder)), make_tracker(target, "tiny", folder, None))


def leave(one: Exporter) -> None:
    one.pause()
    end(one)


def end(one: Exporter) -> None:
    """End a launch; the next one begins in another second, by which W&B and TensorBoard name their files."""
    one.tracker.close()
    time.sleep(1.01 - time.time() % 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(READERS))
def test_rows_arrive_as_they_are_trained(
    name: str, folder: Folder, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launch that is interrupted, killed and resumed sends every iteration once."""
    there = request.getfixturevalue("mlflow_uri") if name == "mlflow" else f"{tmp_path}/there"
    target = f"{name}:{there}"

    def steps() -> dict[str, list[int]]:
        return {run: [step for step, _ in seen.curves["eval_return"]] for run, seen in READERS[name](there).items()}

    training = begin(folder, monkeypatch)
    first = exporter(folder, target)
    training.iterate()
    assert first.send_news() == 2
    training.iterate()
    training.iterate()
    assert first.send_news() == 2
    assert first.send_news() == 0
    training.leave()  # Ctrl-C: a checkpoint of iteration 3
    leave(first)
    assert list(steps().values()) == [[1, 2, 3]] * 2

    training = begin(folder, monkeypatch)
    training.iterate()
    second = exporter(folder, target)
    second.send_news()
    end(second)  # killed: it does not say that it pauses, and the checkpoint is of iteration 3 still

    training = begin(folder, monkeypatch)
    training.iterate()
    third = exporter(folder, target)
    assert third.send_news() in (0, 2)  # iteration 4 is there already
    while not training.finished:
        training.iterate()
    training.finish()
    assert third.send_news() == 2
    leave(third)
    seen = READERS[name](there)
    assert list(steps().values()) == [[1, 2, 3, 4, 5, 6]] * 2
    assert {one.status for one in seen.values()} == {"done"}
    assert {len(points) for one in seen.values() for column, points in one.curves.items() if "/" not in column} <= {
        5,
        6,
    }


def test_a_gap_waits_for_the_end(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If iterations are quicker than the looks at them, a run's rows come with its file, whole and in order."""
    monkeypatch.setattr("mulex.store.progress.ROW_VALUES", 1)
    training = begin(folder, monkeypatch)
    one = exporter(folder, f"tensorboard:{tmp_path}/tb")
    training.iterate()
    one.send_news()
    for _ in range(3):
        training.iterate()
    one.send_news()
    while not training.finished:
        training.iterate()
    training.finish()
    one.send_news()
    leave(one)
    seen = readers.tensorboard(tmp_path / "tb")
    assert [[step for step, _ in run.curves["eval_return"]] for run in seen.values()] == [[1, 2, 3, 4, 5, 6]] * 2


class Broken:
    """A tracker whose server is away."""

    live = True

    def __init__(self) -> None:
        self.asked = 0

    def sent(self, run: str) -> Sent:
        self.asked += 1
        raise ConnectionError("no route to host")

    def send(self, entry: Entry) -> None:
        raise AssertionError

    def flush(self) -> None: ...

    def close(self) -> None: ...


def test_a_broken_tracker_harms_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    training = begin(folder, monkeypatch)
    training.iterate()
    said: list[str] = []
    tracker = Broken()
    export = Exporter(FolderSource(Board(as_spec(SPEC), folder)), tracker)
    with LiveExport([("mlflow", export)], said.append, lambda: False, seconds=0.01):
        wait_until(lambda: tracker.asked > 2)
    assert len(said) == 2
    assert said[0].startswith("mlflow: ConnectionError: no route to host; the sweep goes on")
    assert "mulex export sends the rest" in said[1]


@pytest.mark.parametrize("changes", [{"trackers": ["mlflow"]}, {"callbacks": ["mlflow"]}])
def test_what_is_not_installed_is_refused_first(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeps.trackers.targets.importlib.util.find_spec", lambda name: None)
    answer = launch(tiny(execution=changes), tmp_path / "out")
    assert answer.code == 2
    assert "mlflow-skinny is not installed" in answer.text
    assert not (tmp_path / "out").exists()


def test_a_wrong_tracker_has_a_line(tmp_path: Path) -> None:
    answer = mulex("validate", str(_written(tmp_path, "execution: {trackers: [tensorbord]}")))
    assert answer.code == 2
    assert "execution.trackers.0: got 'tensorbord'" in answer.text
    assert "did you mean 'tensorboard'?" in answer.text


def _written(folder: Path, line: str) -> Path:
    path = folder / "spec.yaml"
    path.write_text(f"name: a\nworlds: {{w: {{}}}}\nmethods: {{mulex: {{}}}}\n{line}\n")
    return path
