"""`mulex validate`: one line for a right spec, every problem and exit code 2 for a wrong one, never a traceback."""

import subprocess
import sys

import click
import pytest

from cluster import cli
from mulex.errors import UserError
from sweeps.commands.validate import validate
from sweeps.spec import SpecError, parse_spec
from sweeps.spec.summary import summary
from tests.support.spec_texts import SMALL

ANSWER_AND_MODULES = """
import sys
from cluster import cli
cli.COMMANDS["validate"] = ("sweeps.commands.validate:validate", "")
try:
    cli.main()
finally:
    print("modules:", *sys.modules)
"""


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `mulex validate` here: its exit code and what it wrote."""
    monkeypatch.setitem(cli.COMMANDS, "validate", ("sweeps.commands.validate:validate", "checks"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["mulex", "validate", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        written = capsys.readouterr()
        return end.value.code, written.out, written.err

    return run


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SMALL)
    return path


def test_a_right_spec_is_summed_up_in_one_line(run, file):
    assert run(file) == (0, "study: 2 methods x 20 draws x 3 seeds in 2 worlds = 240 runs\n", "")


def test_set_is_heeded(run, file):
    code, out, _ = run(file, "--set", "search.draws=8", "--set", "worlds={w5: {}}", "--set", "search.seeds=1")
    assert (code, out) == (0, "study: 2 methods x 8 draws x 1 seed in 1 world = 16 runs\n")


def test_a_shipped_spec_needs_no_path(run):
    assert run("main") == (0, "main: 3 methods x 200 draws x 5 seeds in 1 world = 3000 runs\n", "")


def test_one_of_each_is_said_so():
    text = "name: a\nworlds: {w: {}}\nmethods: {mulex: {}}\nsearch: {draws: 1, seeds: 1}"
    assert summary(parse_spec(text, "s.yaml")) == "a: 1 method x 1 draw x 1 seed in 1 world = 1 run"


def test_problems_go_to_stderr_one_a_line(run, file):
    file.write_text(SMALL.replace("room_size: 5", "room_size: x").replace("draws: 20", "draws: 0"))
    code, out, err = run(file, "--set", "search.seeds=no")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"Error: {file} has 3 problems",
        f"{file}:3: worlds.w5.room_size: got 'x', allowed is a whole number from 3 to 50",
        f"{file}:8: search.draws: got 0, allowed is a whole number from 1 to 1,000,000",
        "--set search.seeds=no: search.seeds: got 'no', allowed is a whole number from 1 to 10,000",
    ]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00a", b"PAR1\x00\x01", b"name: \xc3\x28", b"\x00" * 100, b""])
def test_a_file_that_is_no_text_is_a_users_mistake(run, file, content):
    file.write_bytes(content)
    code, out, err = run(file)
    assert (code, out) == (2, "")
    assert str(file) in err
    assert "Traceback" not in err


def test_a_missing_file_a_folder_and_a_large_file_are_a_users_mistake(run, tmp_path):
    large = tmp_path / "large.yaml"
    large.write_text("# a comment\n" * 200_000)
    for path in (tmp_path / "missing.yaml", tmp_path, large):
        code, out, err = run(path)
        assert (code, out) == (2, "")
        assert str(path) in err


def test_wrong_usage_exits_with_2(run):
    code, _, err = run()
    assert code == 2
    assert "SPEC" in err


def test_it_raises_what_the_command_line_shows(file):
    file.write_text("name: 5")
    assert issubclass(SpecError, UserError)
    with pytest.raises(SpecError):
        validate.main([str(file)], standalone_mode=False)
    assert isinstance(validate, click.Command)


def test_it_needs_neither_torch_nor_ray(file):
    command = [sys.executable, "-c", ANSWER_AND_MODULES, "validate", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    answer, _, modules = done.stdout.partition("modules:")
    assert answer.startswith("study: ")
    assert "sweeps.spec" in modules.split()
    assert not {"torch", "ray", "optuna", "pandas", "pyarrow", "scipy"} & set(modules.split())
