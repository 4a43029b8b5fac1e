"""`mulex check` as a user types it."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mulex.errors import UserError
from sweeps.commands.check import check

EXAMPLES = str(Path(__file__).parents[2] / "examples")


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_learner_passes_point_by_point() -> None:
    arguments = ["q_learning:QLearning", "--code", EXAMPLES, "--world", "FrozenLake-v1", "--set", "step_size=0.3"]
    result = CliRunner().invoke(check, arguments)
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.output.splitlines()] == ["passed"] * 7


def test_a_command_without_a_checkpoint_is_not_resumed() -> None:
    result = CliRunner().invoke(check, ["--command", "python script.py --seed {key}", "--code", EXAMPLES])
    assert result.exit_code == 0, result.output
    assert "skipped stopped and resumed: saves nothing after 2 rows" in result.output


def test_a_failed_point_is_exit_code_1() -> None:
    result = CliRunner().invoke(check, ["--command", "python script.py", "--code", EXAMPLES])
    assert result.exit_code == 1
    assert "FAILED  other seed, other rows: runs of two seeds agree in every cell" in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a LEARNER or a --command"),
        (["a:b", "--command", "x"], "name a LEARNER or a --command"),
        (["dqn"], "is our own"),
        (["a:b", "--set", "step"], "needed is NAME=VALUE"),
        (["a:b", "--code", "/no/such"], "/no/such is not a folder"),
    ],
)
def test_mistakes_are_told(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(check, arguments)
    assert isinstance(result.exception, UserError)
    assert says in str(result.exception)
