"""A learner's code on a head with two nodes that do not have it: by `mulex sweep --address` and by `mulex submit`.

MULEX_SLOW_TESTS=1 pytest tests/cluster/test_learner_code.py
"""

from pathlib import Path

import pandas as pd
import pytest

from tests.chaos import TwoNodes
from tests.cluster.test_jobs import ended_job, submit
from tests.support.ray_cluster import RayCluster
from tests.support.slow import SLOW
from tests.support.sweeps import Plain, Process, write_spec

pytest_plugins = ["tests.support.cluster_plugin"]
pytestmark = SLOW
ENVIRONMENT = """
import gymnasium
import numpy as np
from cluster_cells import CELLS

class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (CELLS,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return self.seen(), {}
    def step(self, action):
        self.cell = max(self.cell + (1 if action else -1), 0)
        done = self.cell == CELLS - 1
        return self.seen(), float(done), done, False, {}
    def seen(self): return np.eye(CELLS, dtype=np.float32)[self.cell]

gymnasium.register("Line-v0", entry_point=Line, max_episode_steps=20)
"""
LEARNER = """
import os
import cluster_helper

class Learner:
    hyperparameters = {"step": 1.0}
    def __init__(self, run): self.n, self.step = 0, run.values["step"]
    def iterate(self):
        self.n += 1
        return {"eval_return": cluster_helper.score(self.n, self.step), "node": os.environ.get("RAY_NODE_ID", "")}
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "only-here"
    folder.mkdir()
    (folder / "cluster_learner.py").write_text(LEARNER)
    (folder / "cluster_helper.py").write_text("def score(n, step): return n * step\n")
    return folder


def plain(name: str, code: Path) -> Plain:
    return {
        "name": name,
        "worlds": {"pole": {"id": "CartPole-v1"}},
        "training": {"iterations": 3},
        "search": {"draws": 2, "seeds": 2},
        "methods": {"mine": {"learner": "cluster_learner:Learner", "step": {"uniform": [1, 2]}}},
        "execution": {"code": str(code), "max_failures": 0},
    }


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A folder with an environment, and the part of it that another module has."""
    folder = tmp_path / "worlds-only-here"
    folder.mkdir()
    (folder / "cluster_line.py").write_text(ENVIRONMENT)
    (folder / "cluster_cells.py").write_text("CELLS = 4\n")
    return folder


def in_own_environment(name: str, execution: Plain) -> Plain:
    """Our own DQN and one of Stable-Baselines3 in an environment of the user's module."""
    return {
        "name": name,
        "worlds": {"line": {"id": "cluster_line:Line-v0", "ideal_return": 1}},
        "training": {"iterations": 2, "steps_per_iteration": 100},
        "search": {"draws": 2, "seeds": 1},
        "methods": {"ppo": {"learner": "sb3:PPO", "n_steps": 32, "batch_size": 32}, "epsilon_greedy": {}},
        "execution": {"max_failures": 0, **execution},
    }


def check_environment(out: Path) -> None:
    runs = pd.read_parquet(out / "runs.parquet")
    assert runs["status"].tolist() == ["done"] * len(runs) and set(runs["method"]) == {"ppo", "epsilon_greedy"}
    assert len(list((out / "code").glob("*.zip"))) == 1


def check(out: Path) -> None:
    runs = pd.read_parquet(out / "runs.parquet")
    assert runs["status"].tolist() == ["done"] * 4
    assert runs["final_return"].tolist() == pytest.approx((3 * runs["step"]).tolist())
    assert len(list((out / "code").glob("*.zip"))) == 1


def test_a_job_brings_the_code(cluster: RayCluster, code: Path, tmp_path: Path) -> None:
    nodes = [cluster.add_node(1), cluster.add_node(1)]
    try:
        cluster.wait_for_nodes(3)
        answer = submit(cluster, plain("brought", code), tmp_path / "out")
        assert answer.code == 0, answer.text
        for file in code.iterdir():  # from here on only the job has it
            file.unlink()
        job = ended_job(cluster, "brought")
        assert job["status"] == "SUCCEEDED", job["message"]
        check(tmp_path / "out")
    finally:
        for node in nodes:
            node.end()


def test_a_sweep_with_an_address_brings_the_code(code: Path, tmp_path: Path) -> None:
    """These nodes have our packages, and not the learner."""
    env = {"RAY_AUTH_MODE": "token"}
    nodes = TwoNodes(1, env)
    try:
        spec = write_spec(tmp_path / "spec", plain("swept", code))
        arguments = ("sweep", spec, "--out", str(tmp_path / "out"), "--address", nodes.address)
        with Process(*arguments, env=env) as process:
            answer = process.wait(200)
        assert answer.code == 0, answer.text
        check(tmp_path / "out")
    finally:
        nodes.close()


def test_an_environment_is_found_on_nodes_that_do_not_have_it(environment: Path, tmp_path: Path) -> None:
    """From a folder of code, and from a module beside the spec; there is no PYTHONPATH."""
    env = {"RAY_AUTH_MODE": "token"}
    nodes = TwoNodes(1, env)
    try:
        spec = write_spec(tmp_path / "spec", in_own_environment("folder", {"code": str(environment)}))
        text = (environment / "cluster_line.py").read_text().replace("from cluster_cells import CELLS", "CELLS = 4")
        (tmp_path / "beside").mkdir()
        (tmp_path / "beside" / "cluster_line.py").write_text(text)
        beside = write_spec(tmp_path / "beside", in_own_environment("beside", {}))
        for number, path in enumerate((spec, beside)):
            out = tmp_path / f"out{number}"
            with Process("sweep", path, "--out", str(out), "--address", nodes.address, env=env) as process:
                answer = process.wait(200)
            assert answer.code == 0, answer.text
            check_environment(out)
    finally:
        nodes.close()


def test_a_job_brings_an_environment(cluster: RayCluster, environment: Path, tmp_path: Path) -> None:
    node = cluster.add_node(1)
    try:
        cluster.wait_for_nodes(2)
        plain = in_own_environment("environment", {"code": str(environment)})
        answer = submit(cluster, plain, tmp_path / "out")
        assert answer.code == 0, answer.text
        for file in environment.glob("*.py"):  # from here on only the job has it
            file.unlink()
        job = ended_job(cluster, "environment")
        assert job["status"] == "SUCCEEDED", job["message"]
        check_environment(tmp_path / "out")
    finally:
        node.end()
