"""The user's folder of code: its checksum, its checkout, and how it is found by a process."""

import subprocess
import sys
from pathlib import Path

import pytest

from mulex.errors import UserError
from mulex.learners import code
from mulex.learners.code import checksum, read_code, use_code


def make_folder(folder: Path) -> Path:
    (folder / "inner").mkdir(parents=True)
    (folder / "learner.py").write_text("number = 1\n")
    (folder / "inner" / "data.txt").write_text("words")
    return folder


def test_equal_content_has_an_equal_checksum_wherever_it_is(tmp_path: Path) -> None:
    one, two = make_folder(tmp_path / "one"), make_folder(tmp_path / "two")
    (two / "__pycache__").mkdir()
    (two / "__pycache__" / "learner.pyc").write_bytes(b"compiled")
    (two / ".git").mkdir()
    (two / ".git" / "HEAD").write_text("ref")
    assert checksum(one) == checksum(two)


@pytest.mark.parametrize("change", ["content", "name", "more", "moved"])
def test_any_change_changes_the_checksum(tmp_path: Path, change: str) -> None:
    folder = make_folder(tmp_path / "one")
    before = checksum(folder)
    if change == "content":
        (folder / "learner.py").write_text("number = 2\n")
    elif change == "name":
        (folder / "learner.py").rename(folder / "other.py")
    elif change == "more":
        (folder / "empty.py").write_text("")
    else:
        (folder / "inner" / "data.txt").rename(folder / "data.txt")
    assert checksum(folder) != before


def test_too_much_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (make_folder(tmp_path / "one") / "weights.bin").open("wb") as file:
        file.truncate(code.MOST_BYTES + 1)
    with pytest.raises(UserError, match=r"holds more than 100 MB .*name a folder with code alone"):
        read_code(tmp_path / "one")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder"):
        read_code(tmp_path / "none")


def test_a_checkout_knows_its_commit_and_whether_it_is_dirty(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "one")
    assert (read_code(folder).commit, read_code(folder).dirty) == (None, None)
    git = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    clean = read_code(folder)
    assert clean.commit is not None
    assert len(clean.commit) == 40
    assert clean.dirty is False
    (folder / "learner.py").write_text("number = 2\n")
    assert read_code(folder).dirty is True
    assert read_code(folder).plain()["commit"] == clean.commit


def test_code_comes_first_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    use_code(make_folder(tmp_path / "one"))
    use_code(make_folder(tmp_path / "two"))
    use_code(tmp_path / "one")
    assert sys.path[:2] == [str(tmp_path / "one"), str(tmp_path / "two")]
