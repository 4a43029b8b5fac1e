"""Environments of one's own and wrappers: found without PYTHONPATH, part of the run ids, and in the sweep's folder."""

import sys
import textwrap
from pathlib import Path

import gymnasium
import pytest

import sweeps
from mulex.config import GymWorldConfig
from mulex.errors import UserError
from mulex.learners.environments import make_environment
from mulex.store.folder import open_folder
from mulex.worlds.make import make_worlds
from sweeps.inventory import frozen_spec
from sweeps.plan import make_plan
from sweeps.spec import SpecError, load_spec, write_yaml
from tests.support.sweeps import RAY_MARKS, Plain, mulex, tiny

pytest_plugins = ["tests.support.ray_plugin"]

MODULE = """
    import gymnasium
    import numpy as np


    class Corridor(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 1, (4,), np.float32)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.cell = 0
            return self.seen(), {}

        def step(self, action):
            self.cell = max(self.cell + (1 if action else -1), 0)
            return self.seen(), float(self.cell == 3), self.cell == 3, False, {}

        def seen(self):
            return np.eye(4, dtype=np.float32)[self.cell]


    class Times(gymnasium.RewardWrapper):
        def __init__(self, env, by=2.0):
            super().__init__(env)
            self.by = by

        def reward(self, reward):
            return reward * self.by


    gymnasium.register("OwnCorridor-v0", entry_point=Corridor, max_episode_steps=20)
"""
NAME = "own_corridor"
WORLD = {"id": f"{NAME}:OwnCorridor-v0", "wrappers": [{"name": f"{NAME}:Times", "by": 3}], "ideal_return": 3}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test find what another one imported."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    forget()


def forget() -> None:
    """Undo the import of the module."""
    sys.modules.pop(NAME, None)
    gymnasium.registry.pop("OwnCorridor-v0", None)


def written(folder: Path, **changes: object) -> Path:
    """Write a spec and the module that it names beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{NAME}.py").write_text(textwrap.dedent(MODULE))
    plain: Plain = tiny(worlds={"corridor": WORLD}, methods={"epsilon_greedy": {}}, search={"draws": 1}, **changes)
    (folder / "own.yaml").write_text(write_yaml(plain))
    return folder / "own.yaml"


def ids(path: Path) -> list[str]:
    return [run.run_id for run in make_plan(load_spec(path), open_folder("/nonexistent")).runs()]


def test_a_module_beside_the_spec_is_found_and_part_of_the_run_ids(tmp_path: Path) -> None:
    path = written(tmp_path / "a")
    spec = load_spec(path)
    world = spec.world("corridor")
    assert isinstance(world, GymWorldConfig)
    assert world.code
    assert spec.execution.code == str(tmp_path / "a" / f"{NAME}.py")
    (tmp_path / "a" / "unrelated.py").write_text("1")
    before = ids(path)
    assert before == ids(written(tmp_path / "b")), "wherever the folder is"
    with (tmp_path / "a" / f"{NAME}.py").open("a") as file:
        file.write("# changed\n")
    assert not set(before) & set(ids(path))


def test_a_package_beside_the_spec_and_a_folder_of_code(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / NAME).mkdir()
    (tmp_path / f"{NAME}.py").rename(tmp_path / NAME / "__init__.py")
    assert load_spec(path).execution.code == str(tmp_path / NAME / "__init__.py")
    assert mulex("validate", str(path)).code == 0
    (tmp_path / "code").mkdir()
    (tmp_path / NAME).rename(tmp_path / "code" / NAME)
    spec = load_spec(path, {"execution.code": str(tmp_path / "code")})
    assert spec.worlds["corridor"].model_dump()["code"]


def test_two_modules_beside_the_spec_need_a_folder(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "other_module.py").write_text("")
    with pytest.raises(SpecError, match=rf"execution\.code: missing: {NAME}\.py and other_module\.py are beside"):
        load_spec(path, {"worlds.second": {"id": "other_module:X-v0"}})


def test_wrappers_are_part_of_the_run_ids_only_where_they_are_given() -> None:
    plain = GymWorldConfig(id="CartPole-v1")
    assert "wrappers" not in plain.model_dump() and "code" not in plain.model_dump(mode="json")
    wrapped = GymWorldConfig(
        id="CartPole-v1", wrappers=["NormalizeReward", {"name": "TimeLimit", "max_episode_steps": 7}]
    )
    assert GymWorldConfig.model_validate(wrapped.model_dump()) == wrapped
    assert make_worlds(wrapped, ["a"], "ghosts").time_limit == 7
    assert make_worlds(plain, ["a"], "ghosts").time_limit == 500


def test_other_learners_have_the_same_wrappers() -> None:
    world = {"id": "CartPole-v1", "wrappers": [{"name": "TimeLimit", "max_episode_steps": 7}]}
    env = make_environment(world)
    assert isinstance(env, gymnasium.wrappers.TimeLimit)
    with pytest.raises(UserError, match="wrapper TimeLimit refused: TypeError"):
        make_environment({"id": "CartPole-v1", "wrappers": [{"name": "TimeLimit", "steps": 7}]})


def test_a_wrapper_is_given_a_shape_as_a_tuple() -> None:
    world = {"id": "CartPole-v1", "wrappers": [{"name": "ReshapeObservation", "shape": [2, 2]}]}
    assert make_environment(world).observation_space.shape == (2, 2)


class TestOnRay:
    pytestmark = RAY_MARKS

    def test_it_is_trained_and_resumed_from_the_sweeps_own_code(self, tmp_path: Path) -> None:
        path, out = written(tmp_path / "spec"), tmp_path / "out"
        assert sweeps.launch(load_spec(path), out, cpus=1).exit_code == 0
        code = frozen_spec(open_folder(out)).worlds["corridor"].model_dump()["code"]
        assert (out / "code" / f"{code}.zip").exists()
        (tmp_path / "spec" / f"{NAME}.py").unlink()
        forget()
        next(out.glob("runs/*/*.parquet")).unlink()
        assert sweeps.resume(out, cpus=1).exit_code == 0
