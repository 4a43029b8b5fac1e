"""Sweeps of external learners, on a real Ray: done, failed with the whole error, resumed, and in the tables."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import sweeps
from mulex.errors import UserError
from tests.support.sweeps import RAY_MARKS, ROOT

pytest_plugins = ["tests.support.ray_plugin"]

FAILING = """
class Learner:
    hyperparameters = {"step": 1}
    def __init__(self, run): self.run, self.n = run, 0
    def iterate(self):
        self.n += 1
        if self.n == 3 and self.run.seed == 1 and not PATH.exists():
            raise RuntimeError("broken on purpose")
        return {"eval_return": self.n + self.run.rng().random(), "mood": "good"}
"""

DYING = """
import os, time
from pathlib import Path

class Learner:
    hyperparameters = {"note": ""}
    def __init__(self, run): self.run, self.n = run, 0
    def iterate(self):
        self.n += 1
        if self.n == 4 and self.run.seed == 1:
            Path(self.run.values["note"]).write_text(str(self.run.scratch))
            print("about to end", flush=True)
            os._exit(3)
        time.sleep(1.2 * self.run.seed)
        return {"eval_return": float(self.n)}
"""


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", ["sb3", "learners", "q_learning"])
def test_the_example_specs_are_valid(name: str) -> None:
    assert sweeps.load_spec(ROOT / "examples" / f"{name}.yaml").run_count > 0


class TestOnRay:
    pytestmark = RAY_MARKS

    def test_a_class_and_a_command_are_swept(self, tmp_path: Path) -> None:
        out, code = tmp_path / "out", tmp_path / "code"
        code.mkdir()
        flag = tmp_path / "mended"
        head = f"from pathlib import Path\nPATH = Path({str(flag)!r})\n"
        (code / "sweep_learners.py").write_text(head + FAILING)
        (code / "script.py").write_text((ROOT / "examples" / "script.py").read_text())
        plain = {
            "name": "learners",
            "worlds": {"pole": {"id": "CartPole-v1", "ideal_return": 500}},
            "training": {"iterations": 4},
            "search": {"draws": 1, "seeds": 2},
            "methods": {
                "mine": {"learner": "sweep_learners:Learner", "step": {"int_uniform": [1, 5]}},
                "script": {
                    "command": ["python", "script.py", "--seed", "{key}", "--step-size", "{step_size}"],
                    "step_size": {"log_uniform": [0.01, 1]},
                },
            },
            "execution": {"max_concurrent": 1, "max_failures": 0, "code": str(code)},
        }
        outcome = sweeps.launch(sweeps.load_spec(plain), out, cpus=1)
        assert outcome.exit_code == 1
        failed = _runs(out).query("status == 'failed'").iloc[0]
        assert (failed["method"], failed["seed"], failed["iterations"]) == ("mine", 1, 2)
        assert failed["error"].startswith("row 3: RuntimeError: broken on purpose\nTraceback")
        curves = pd.read_parquet(out / "curves.parquet")
        assert len(curves.query("run == @failed.run")) == 2, "the rows so far are kept"
        flag.touch()
        (code / "sweep_learners.py").unlink()  # the sweep's folder has the code
        assert sweeps.resume(out, cpus=1).exit_code == 0
        runs = _runs(out)
        assert runs["status"].tolist() == ["done"] * 4
        assert pd.read_parquet(out / "curves.parquet")["mood"].value_counts().to_dict() == {"good": 8}
        with pytest.raises(UserError, match=r"there is no module 'sweep_learners'|methods.script.recipe.code"):
            sys.modules.pop("sweep_learners", None)
            sweeps.launch(sweeps.load_spec(plain), out, cpus=1)

    def test_a_learner_that_ends_its_process_keeps_its_rows_and_its_output(self, tmp_path: Path) -> None:
        out, code = tmp_path / "out", tmp_path / "code"
        code.mkdir()
        (code / "dying_learners.py").write_text(DYING)
        plain = {
            "name": "dying",
            "worlds": {"pole": {"id": "CartPole-v1", "ideal_return": 500}},
            "training": {"iterations": 4, "score": "final"},
            "search": {"draws": 1, "seeds": 2},
            "methods": {"mine": {"learner": "dying_learners:Learner", "note": {"constant": str(tmp_path / "scratch")}}},
            "execution": {"max_concurrent": 1, "max_failures": 0, "code": str(code)},
        }
        assert sweeps.launch(sweeps.load_spec(plain), out, cpus=1).exit_code == 1
        runs = _runs(out).set_index("status")
        assert runs.loc["done", "score"] == 4 / 500, "the other run went on"
        failed = runs.loc["failed"]
        assert 1 <= failed["iterations"] < 4 and failed["score"] == failed["iterations"] / 500
        assert "its last output:" in failed["error"] and "about to end" in failed["error"]
        assert len(pd.read_parquet(out / "curves.parquet").query("run == @failed.run")) == failed["iterations"]
        scratch = Path((tmp_path / "scratch").read_text())
        assert scratch.name == "files" and not scratch.parent.exists(), "the scratch folder of the dead is removed"


def _runs(out: Path) -> pd.DataFrame:
    return pd.read_parquet(out / "runs.parquet")
