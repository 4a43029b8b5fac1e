"""The `mulex` command: quick to answer, and plain about a user's mistakes."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from cluster import cli
from mulex.errors import UserError

HEAVY = {"torch", "ray", "gymnasium", "numpy", "pandas", "pyarrow", "matplotlib", "optuna"}
ANSWER_AND_MODULES = """
import sys
from cluster.cli import main
sys.argv = ["mulex", *sys.argv[1:]]
try:
    main()
finally:
    print("modules:", *sys.modules)
"""


@click.command("fail")
def fail():
    """A user's mistake."""
    raise UserError("spec.yaml, line 3: 'roms' is no setting; did you mean 'rooms'?")


@click.command("crash")
def crash():
    """A mistake of ours."""
    raise RuntimeError("a bug")


@click.command("stop")
def stop():
    """Somebody presses control-C."""
    raise KeyboardInterrupt


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command here, with sub-commands that fail: its exit code and what it wrote."""
    monkeypatch.setitem(cli.COMMANDS, "fail", ("tests.cluster.test_cli:fail", "fails"))
    monkeypatch.setitem(cli.COMMANDS, "crash", ("tests.cluster.test_cli:crash", "crashes"))
    monkeypatch.setitem(cli.COMMANDS, "stop", ("tests.cluster.test_cli:stop", "stops"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["mulex", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        written = capsys.readouterr()
        return end.value.code, written.out, written.err

    return run


def outside(*command):
    """Run a command in a process of its own."""
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("argument", ["--help", "--version", "no-such-command"])
def test_an_answer_needs_no_heavy_import(argument):
    done = outside(sys.executable, "-c", ANSWER_AND_MODULES, argument)
    answer, _, modules = done.stdout.partition("modules:")
    assert "mulex" in answer + done.stderr
    assert {"cluster.cli", "click"} <= set(modules.split())
    assert not HEAVY & set(modules.split())


def test_help_lists_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    for name, (_, line) in cli.COMMANDS.items():
        assert name in out
        assert line.split()[0] in out


def test_the_installed_command_answers():
    done = outside(Path(sys.executable).parent / "mulex", "-h")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: mulex")


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_listed_command_loads_and_has_help(run, name):
    code, out, _ = run(name, "--help")
    assert code == 0
    assert out.startswith(f"Usage: mulex {name}")


@pytest.mark.parametrize("arguments", [["no-such-command"], ["--no-such-option"]])
def test_wrong_usage_exits_with_2(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert arguments[0] in err
    assert "Traceback" not in err


def test_a_users_mistake_is_one_line_and_exits_with_2(run):
    code, out, err = run("fail")
    assert code == 2
    assert out == ""
    assert err == "Error: spec.yaml, line 3: 'roms' is no setting; did you mean 'rooms'?\n"


def test_an_interruption_exits_with_130(run):
    code, out, err = run("stop")
    assert code == 130
    assert out == ""
    assert "Traceback" not in err


def test_our_own_mistake_is_not_hidden(run, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["mulex", "crash"])
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main()
