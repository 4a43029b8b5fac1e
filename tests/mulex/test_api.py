"""`mulex.train` from Python: results as data frames, nothing left behind, and errors that help."""

import subprocess
import sys
from pathlib import Path

import gymnasium
import pandas as pd
import pytest

import mulex
from mulex.config import GridWorldConfig, TrainingConfig
from mulex.errors import UserError
from mulex.learners.dqn.engines import make_engine
from mulex.store.folder import open_folder
from mulex.store.schema import CURVES

WORLD = {"map": "two_rooms", "room_size": 3}
SHORT = {"iterations": 3, "steps_per_iteration": 100, "evaluation_steps": 20, "warm_up": 50}


def without_times(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=["seconds", "started_at", "finished_at"], errors="ignore")


def test_a_draw_with_two_seeds_gives_the_rows_that_the_engine_gives():
    trained = mulex.train("mulex", WORLD, SHORT, {"learning_rate": 3e-4}, seeds=2, first_seed=5)
    assert [run.seed for run in trained.configs] == [5, 6]
    assert trained.runs["run"].tolist() == [run.run_id for run in trained.configs]
    assert trained.runs["learning_rate"].tolist() == [3e-4, 3e-4]
    assert trained.runs["status"].tolist() == ["done", "done"]
    assert set(CURVES.names) <= set(trained.curves.columns)
    engine = make_engine("auto", "cpu", trained.configs)
    rows = [row for _ in range(3) for row in engine.iterate()]
    by_iteration = trained.curves.sort_values(["iteration", "seed"])
    for name in ("eval_return", "train_return", "loss_task", "loss_explore", "mean_bonus", "env_steps"):
        expected = pd.Series([row[name] for row in rows], dtype="float64")
        pd.testing.assert_series_equal(
            by_iteration[name].reset_index(drop=True).astype("float64"), expected, check_names=False
        )


def test_settings_may_be_objects_and_a_world_with_an_id_is_a_gymnasium_environment():
    one = mulex.train("mulex", WORLD, SHORT)
    other = mulex.train("mulex", GridWorldConfig(**WORLD), TrainingConfig(**SHORT))
    pd.testing.assert_frame_equal(without_times(one.curves), without_times(other.curves))
    cart = mulex.train("epsilon_greedy", {"id": "CartPole-v1", "ideal_return": 500}, SHORT, engine="torch")
    assert cart.runs["world"].tolist() == ["CartPole-v1"]
    assert cart.runs["engine"].tolist() == ["torch"]
    assert cart.runs["normalised_auc"].between(0, 1).all()


def test_a_bonus_and_a_recipe_of_ones_own():
    hashed = mulex.train("mulex", WORLD, SHORT, bonus="simhash")
    assert hashed.configs[0].recipe.signals == ("simhash",)
    recipe = {
        "heads": {"only": {"reward": {"task": 1.0, "oracle": "curiosity"}}},
        "evaluate": ["only"],
        "hyperparameters": {"learning_rate": 1e-3, "epsilon": 0.1, "curiosity": 0.5},
    }
    mine = mulex.train("mine", WORLD, SHORT, {"curiosity": 0.25}, recipe=recipe)
    assert mine.runs["curiosity"].tolist() == [0.25]
    assert "loss_only" in mine.curves


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    trained = mulex.train("mulex", WORLD, SHORT)
    assert trained.folder is None
    assert list(tmp_path.iterdir()) == []


class Stop(Exception):  # noqa: N818
    """Raised by a progress function."""


def test_in_a_folder_an_interrupted_training_continues_and_ends_the_same(tmp_path: Path):
    undisturbed = mulex.train("mulex", WORLD, SHORT, seeds=2)

    def stop_after_two(iteration: int, rows: list[dict]) -> None:
        assert len(rows) == 2
        if iteration == 2:
            raise Stop

    with pytest.raises(Stop):
        mulex.train("mulex", WORLD, SHORT, seeds=2, folder=tmp_path, progress=stop_after_two)
    seen: list[int] = []
    trained = mulex.train("mulex", WORLD, SHORT, seeds=2, folder=tmp_path, progress=lambda i, rows: seen.append(i))
    assert seen == [3]
    assert any("continuing after iteration 2" in message for message in trained.messages)
    pd.testing.assert_frame_equal(without_times(trained.curves), without_times(undisturbed.curves))
    files = open_folder(tmp_path)
    assert [files.exists(name) for name in ("runs.parquet", "curves.parquet")] == [True] * 2
    assert len(files.list("policies")) == 2
    again = mulex.train("mulex", WORLD, SHORT, seeds=2, folder=tmp_path, progress=lambda i, rows: seen.append(i))
    assert seen == [3]
    pd.testing.assert_frame_equal(again.runs, trained.runs)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"method": "mule"}, "method: got 'mule', allowed is one of epsilon_greedy"),
        ({"world": {"room_size": 2}}, "room_size: got 2"),
        ({"world": "two_rooms"}, "world: got 'two_rooms', allowed is a mapping"),
        ({"world": {"id": "NoSuchWorld-v0"}, "method": "epsilon_greedy"}, "gymnasium.make refused it"),
        ({"training": {"iterations": 0}}, "iterations: got 0"),
        ({"training": {"iteratons": 3}}, "iteratons: got 3, but there is no such key"),
        ({"values": {"epsilon": 2.0}}, "epsilon: got 2.0, allowed is a number from 0 to 1"),
        ({"seeds": 0}, "seeds: got 0, allowed is a whole number from 1"),
        ({"seeds": True}, "seeds: got True"),
        ({"first_seed": -1}, "seed: got -1"),
        ({"first_seed": "0"}, "first_seed: got '0'"),
        ({"bonus": "gold"}, "bonus: got 'gold', allowed is one of oracle, simhash, rnd"),
        ({"bonus": "simhash", "method": "epsilon_greedy"}, "does not learn from an oracle"),
        ({"engine": "jax"}, "engine: got 'jax', allowed is one of auto, native, torch"),
        ({"recipe": {"heads": {}}, "method": "mine"}, "heads: got {}"),
    ],
)
def test_a_wrong_argument_is_a_users_error(arguments: dict, says: str):
    with pytest.raises(UserError) as error:
        mulex.train(**({"world": WORLD, "training": SHORT} | arguments))
    assert says in str(error.value)


def test_a_folder_of_other_runs_is_refused(tmp_path: Path):
    mulex.train("mulex", WORLD, SHORT, folder=tmp_path)
    with pytest.raises(UserError, match="this folder has other runs of mulex"):
        mulex.train("mulex", WORLD, SHORT | {"iterations": 4}, folder=tmp_path)
    beside = mulex.train("epsilon_greedy", WORLD, SHORT, folder=tmp_path)
    assert beside.runs["method"].tolist() == ["epsilon_greedy"]
    (tmp_path / "spec.yaml").write_text("name: a sweep's\n")
    with pytest.raises(UserError, match="this is the folder of a sweep"):
        mulex.train("mulex", WORLD, SHORT, folder=tmp_path)


ANOTHER = """
import sys, mulex
from mulex.errors import UserError
try:
    mulex.train(sys.argv[1], {"map": "two_rooms", "room_size": 3}, {"iterations": 3}, folder=sys.argv[2])
except UserError as error:
    print(error)
"""


def test_another_process_is_refused_while_one_trains_in_the_folder(tmp_path: Path):
    answers: list[str] = []

    def meet(iteration: int, rows: list[dict]) -> None:
        if iteration == 1:
            command = [sys.executable, "-c", ANOTHER, "epsilon_greedy", str(tmp_path)]
            answers.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    mulex.train("mulex", WORLD, SHORT, folder=tmp_path, progress=meet)
    assert "another launcher has this sweep" in answers[0]
    assert not (tmp_path / "runs/epsilon_greedy").exists()
    beside = mulex.train("epsilon_greedy", WORLD, SHORT, folder=tmp_path)
    assert beside.runs["method"].tolist() == ["epsilon_greedy"]
    assert sorted(pd.read_parquet(tmp_path / "runs.parquet")["method"]) == ["epsilon_greedy", "mulex"]
    assert open_folder(tmp_path).list("leases") == []


def test_who_was_taken_over_writes_nothing_more(tmp_path: Path):
    """As a process that was frozen for minutes."""

    def take_over(iteration: int, rows: list[dict]) -> None:
        if iteration == 2:
            open_folder(tmp_path).write("leases/00000002.json", b"{}")

    with pytest.raises(UserError, match="another launcher has taken it over"):
        mulex.train("mulex", WORLD, SHORT, folder=tmp_path, progress=take_over)
    files = open_folder(tmp_path)
    assert files.list("runs") == files.list("checkpoints") == []
    assert not files.exists("runs.parquet")


def test_importing_the_package_registers_the_worlds_and_loads_nothing_heavy():
    assert "mulex/Montezuminha-v0" in gymnasium.registry
    code = (
        "import sys, mulex; print([m for m in ('torch', 'ray', 'pandas', 'pyarrow') if m in sys.modules]); "
        "assert 'train' in mulex.__all__ and callable(mulex.train); "
        "import gymnasium; gymnasium.make('mulex/TwoRooms-v0').reset(seed=0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = mulex.trian
