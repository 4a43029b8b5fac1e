"""Shell completion as a user has it: in a real bash."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.cli import COMMANDS
from tests.support.sweeps import ROOT

COMPLETE = """
source <(_MULEX_COMPLETE=bash_source mulex)
COMP_WORDS=({words}) COMP_CWORD=$(({count} - 1))
_mulex_completion mulex "${{COMP_WORDS[$COMP_CWORD]}}"
echo "${{COMPREPLY[@]}}"
"""

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")


def completed(tmp_path: Path, *words: str) -> set[str]:
    """What bash offers for the last of some words."""
    command = tmp_path / "mulex"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cluster.cli "$@"\n')
    command.chmod(0o755)
    text = COMPLETE.format(words=" ".join(f"'{word}'" for word in words), count=len(words))
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, env=env, timeout=60, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_names_of_commands(tmp_path: Path) -> None:
    offered = completed(tmp_path, "mulex", "s")
    assert offered == {name for name in COMMANDS if name.startswith("s")}
    assert {"sweep", "status"} <= offered


def test_options_of_a_command(tmp_path: Path) -> None:
    assert completed(tmp_path, "mulex", "sweep", "--d") == {"--dry-run", "--dashboard"}


def test_choices_of_an_option(tmp_path: Path) -> None:
    assert completed(tmp_path, "mulex", "train", "--engine", "n") == {"native"}


def test_commands_are_completed_without_importing_them(tmp_path: Path) -> None:
    code = (
        "import sys, click; from cluster import cli\n"
        "cli.mulex.shell_complete(click.Context(cli.mulex), ''); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not set(done.stdout.split()) & {"torch", "ray", "pandas", "sweeps.commands.sweep"}
