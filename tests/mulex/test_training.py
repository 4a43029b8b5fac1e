"""A pack in its folder: which checkpoint it takes up, and what it does with those that it cannot use."""

from contextlib import closing
from pathlib import Path

import pytest

from mulex.config import RunConfig
from mulex.learners.dqn.engines import Row
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.store.checkpoints import begun_packs
from mulex.store.folder import open_folder
from mulex.store.run_file import read_run_file
from mulex.training import Labels, Pack, PackTraining
from tests.support.agents import Case

TRAINING = {"steps_per_iteration": 45, "iterations": 4}


def begin(folder: Path, runs: list[RunConfig], engine_name: str = "torch") -> tuple[PackTraining, list[str]]:
    """A training of the runs in a folder, and what it said when it began."""
    engine = TorchEngine(runs)
    engine.name = engine_name
    labels = Labels("sweep", "w", [0] * len(runs), "hash")
    training = PackTraining(Pack(runs, labels), engine, open_folder(folder))
    return training, training.begin()


def checkpoints(folder: Path) -> list[int]:
    """The iterations of the checkpoints that are there."""
    return sorted(int(path.name[:8]) for path in folder.glob("checkpoints/*/*.npz"))


@pytest.mark.parametrize("unusable", ["damaged", "other engine"])
def test_unusable_checkpoints_do_not_stop_new_ones(tmp_path: Path, unusable: str) -> None:
    runs = Case("mulex", training=TRAINING).members(2)
    first, _ = begin(tmp_path, runs, "torch" if unusable == "damaged" else "native")
    with closing(first.engine):
        for _ in range(3):
            first.iterate()
            first.checkpoint()
    assert checkpoints(tmp_path) == [2, 3]
    if unusable == "damaged":
        for path in tmp_path.glob("checkpoints/*/*.npz"):
            path.write_bytes(b"damaged")
    second, said = begin(tmp_path, runs)
    with closing(second.engine):
        assert said[-1] == "no usable checkpoint is left: beginning again"
        assert checkpoints(tmp_path) == []
        second.iterate()
        second.leave()
    assert checkpoints(tmp_path) == [1]
    third, said = begin(tmp_path, runs)
    with closing(third.engine):
        assert said == ["continuing after iteration 1"]
        while not third.finished:
            third.iterate()
        third.finish()
    assert checkpoints(tmp_path) == []
    assert len(list(tmp_path.glob("runs/mulex/*.parquet"))) == 2


def test_a_worker_leaves_the_checkpoints_of_another_engine_alone_if_it_has_its_own(tmp_path: Path) -> None:
    """A pack may go back to a node with the other engine, which then continues from where it was."""
    runs = Case("mulex", training=TRAINING).members(1)
    for engine, iterations in (("torch", 1), ("native", 3)):
        training, _ = begin(tmp_path, runs, engine)
        with closing(training.engine):
            for _ in range(iterations):
                training.iterate()
            training.leave()
        if engine == "torch":  # beginning again would remove it
            kept = {path: path.read_bytes() for path in tmp_path.glob("checkpoints/*/*.npz")}
    for path, content in kept.items():
        path.write_bytes(content)
    for engine, iteration in (("torch", 1), ("native", 3)):
        training, said = begin(tmp_path, runs, engine)
        training.engine.close()
        assert said[-1] == f"continuing after iteration {iteration}"
    assert checkpoints(tmp_path) == [1, 3]


def test_a_checkpoint_that_was_not_written_leaves_the_list_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the list no later launch would find the checkpoint, so the list comes first."""
    runs = Case("mulex", training=TRAINING).members(1)
    training, _ = begin(tmp_path, runs)

    def dies(*_: object) -> str:
        raise KeyboardInterrupt

    with closing(training.engine):
        training.iterate()
        monkeypatch.setattr("mulex.training.save_checkpoint", dies)
        with pytest.raises(KeyboardInterrupt):
            training.checkpoint()
    assert begun_packs(open_folder(tmp_path)) == {training.pack.name: [runs[0].run_id]}


class TestFailing:
    """An iteration that fails: what is left of a run that is trained alone, and of several."""

    @staticmethod
    def fail(folder: Path, members: int) -> list[Path]:
        """Train two iterations, of which the third fails; gives the run files."""
        training, _ = begin(folder, Case("mulex", training=TRAINING).members(members))

        def step_of_the_user() -> list[Row]:
            raise ZeroDivisionError("no\nway")

        with closing(training.engine):
            training.iterate()
            training.iterate()
            training.engine.iterate = step_of_the_user  # type: ignore[method-assign]
            with pytest.raises(ZeroDivisionError):
                training.iterate()
            training.leave()
        return list(folder.glob("runs/mulex/*.parquet"))

    def test_a_run_alone_keeps_its_traceback_and_its_curve(self, tmp_path: Path) -> None:
        [path] = self.fail(tmp_path, 1)
        file = read_run_file(open_folder(tmp_path), f"runs/mulex/{path.name}")
        assert (file.row["status"], file.row["iterations"], file.curve.num_rows) == ("failed", 2, 2)
        lines = file.row["error"].splitlines()
        assert lines[0] == "ZeroDivisionError: no way"
        assert any(f'File "{__file__}", line' in line and "step_of_the_user" in line for line in lines)

    def test_of_several_nobody_knows_which_one(self, tmp_path: Path) -> None:
        assert self.fail(tmp_path, 2) == []
