"""`mulex train --learner`: one draw of somebody's learner, without Ray, in the files of a sweep."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis.tables import load_tables
from mulex.errors import UserError
from sweeps.commands.train import train

MODULE = """
class Counting:
    hyperparameters = {"step": 1.0, "fail_at": 0}
    def __init__(self, run):
        self.values, self.done = run.values, 0
    def iterate(self):
        self.done += 1
        if self.done == self.values["fail_at"]:
            raise RuntimeError("out of luck")
        return {"eval_return": self.values["step"] * self.done, "loss": 0.5}
"""
SCRIPT = (
    "import sys\nfor i in range(int(sys.argv[1])):\n    print('{\"eval_return\": %f}' % (i * float(sys.argv[2])))\n"
)


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train_learners.py").write_text(MODULE)
    (folder / "script.py").write_text(SCRIPT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield folder
    sys.modules.pop("train_learners", None)


def run(code: Path, out: Path, *arguments: str) -> Result:
    common = ["--code", str(code), "--env", "CartPole-v1", "--iterations", "4", "--out", str(out)]
    return CliRunner().invoke(train, [*arguments, *common])


CLASS = ("--learner", "train_learners:Counting")


def test_a_class_is_trained_and_its_columns_are_kept(code: Path, tmp_path: Path) -> None:
    result = run(code, tmp_path / "out", *CLASS, "--seeds", "2", "--set", "step=0.5", "--set", "score=final")
    assert result.exit_code == 0, result.output
    tables = load_tables([str(tmp_path / "out")])
    assert list(tables.runs["score"]) == [2.0, 2.0] and tables.score_name == "Final return"
    assert list(tables.runs["step"]) == [0.5, 0.5] and list(tables.runs["seed"]) == [0, 1]
    assert list(tables.curves["loss"]) == [0.5] * 8
    again = run(code, tmp_path / "out", *CLASS, "--seeds", "2", "--set", "step=0.5", "--set", "score=final")
    assert again.exit_code == 0 and "every run is done already" in again.output


def test_a_command_is_trained(code: Path, tmp_path: Path) -> None:
    result = run(
        code, tmp_path / "out", "--command", "python script.py {iterations} {step}", "--set", "step=2", "--seed", "3"
    )
    assert result.exit_code == 0, result.output
    assert list(load_tables([str(tmp_path / "out")]).runs["final_return"]) == [6.0]


def test_a_learner_that_fails_is_told_with_its_rows_and_tried_again(code: Path, tmp_path: Path) -> None:
    arguments = (*CLASS, "--set", "fail_at=3")
    for _ in range(2):
        result = run(code, tmp_path / "out", *arguments)
        assert result.exit_code == 1
        assert "out of luck" in result.output and "train_learners.py" in result.output
        assert "every run is done already" not in result.output
    runs = load_tables([str(tmp_path / "out")]).runs
    assert list(runs["status"]) == ["failed"] and list(runs["iterations"]) == [2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--learner", "train_learners:Counted"), "has no 'Counted', it has Counting; did you mean 'Counting'"),
        (("--learner", "nothing_here:Learner"), "there is no module 'nothing_here'"),
        ((*CLASS, "--set", "stepp=1"), "no such hyperparameter, it has step, fail_at; did you mean 'step'"),
        ((*CLASS, "--set", "step"), "expected KEY=VALUE"),
        ((*CLASS, "--set", "score=median"), "training.score: got 'median', allowed is auc, final, best"),
        ((*CLASS, "--method", "mulex"), "--method: belongs to our own learner"),
        ((*CLASS, "--command", "python x.py"), "--learner and --command: name one of them"),
        (("--command", "python x.py {step}"), r"\{step\} has no value"),
        (("--command", " "), "--command: got nothing"),
        (("--command", "no_such_program x"), "no_such_program"),
        ((*CLASS, "--env", "NoSuch-v0"), "NoSuch"),
    ],
)
def test_a_mistake_is_explained_and_nothing_is_written(
    code: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    common = ["--code", str(code), "--iterations", "4", "--out", str(tmp_path / "out")]
    world = [] if "--env" in arguments else ["--env", "CartPole-v1"]
    with pytest.raises(UserError, match=says):
        CliRunner().invoke(train, [*arguments, *world, *common], catch_exceptions=False)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
