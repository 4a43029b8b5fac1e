"""Every example of a learner or a world of one's own is trained on a real Ray, at a length of seconds."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

import sweeps
from tests.support.sweeps import RAY_MARKS, ROOT

pytest_plugins = ["tests.support.ray_plugin"]
pytestmark = RAY_MARKS

SHORT: dict[str, dict[str, Any]] = {
    "sb3": {"iterations": 2, "steps_per_iteration": 64, "evaluation_episodes": 1},
    "q_learning": {"iterations": 3},
    "learners": {"iterations": 2},
    "foreign": {"iterations": 2, "steps_per_iteration": 120, "replay_size": 2000, "warm_up": 20},
}


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.parametrize("name", SHORT)
def test_an_example_is_trained(name: str, tmp_path: Path) -> None:
    path = ROOT / "examples" / f"{name}.yaml"
    plain = YAML(typ="safe").load(path)
    short: dict[str, Any] = {"training": SHORT[name], "search.draws": 1, "search.seeds": 1}
    for key, value in {"n_steps": 32, "buffer_size": 1000}.items():
        short |= {f"methods.{method}.{key}": value for method, entry in plain["methods"].items() if key in entry}
    outcome = sweeps.launch(sweeps.load_spec(path, short), tmp_path / "out", cpus=2)
    assert outcome.exit_code == 0
    runs = pd.read_parquet(tmp_path / "out" / "runs.parquet")
    assert set(runs["method"]) == set(plain["methods"]) and set(runs["world"]) == set(plain["worlds"])
    assert set(runs["status"]) == {"done"} and set(runs["iterations"]) == {SHORT[name]["iterations"]}
    assert runs["final_return"].notna().all()
