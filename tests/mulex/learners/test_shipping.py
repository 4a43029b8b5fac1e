"""The user's code in a sweep's folder, and on a worker that has never seen the original."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mulex.errors import UserError
from mulex.learners.code import read_code
from mulex.learners.shipping import code_name, fetch_code, ship_code
from mulex.store.folder import open_folder


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary folder and an import path of this test's own."""
    (tmp_path / "machine").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "machine"))
    monkeypatch.setattr(sys, "path", list(sys.path))


def make_code(folder: Path) -> Path:
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "shipped.py").write_text("number = 7\n")
    (folder / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def test_code_arrives_as_it_was(tmp_path: Path) -> None:
    folder, code = open_folder(str(tmp_path / "sweep")), read_code(make_code(tmp_path / "code"))
    ship_code(folder, code)
    ship_code(folder, code)
    path = fetch_code(folder, code.checksum)
    assert read_code(path).checksum == code.checksum
    assert sys.path[0] == str(path)
    assert subprocess.run([path / "run.sh"], capture_output=True, text=True, check=True).stdout == "ran\n"
    assert fetch_code(folder, code.checksum) == path


def test_changed_and_damaged_copies_are_not_used(tmp_path: Path) -> None:
    folder, code = open_folder(str(tmp_path / "sweep")), read_code(make_code(tmp_path / "code"))
    ship_code(folder, code)
    path = fetch_code(folder, code.checksum)
    (path / "inner" / "shipped.py").write_text("number = 8\n")
    again = fetch_code(folder, code.checksum)
    assert (again / "inner" / "shipped.py").read_text() == "number = 7\n"


def test_missing_code_is_said(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path / "sweep"))
    with pytest.raises(UserError, match=r"code/abc.zip: missing; launch again with execution.code"):
        fetch_code(folder, "abc")
    assert code_name("abc") == "code/abc.zip"
