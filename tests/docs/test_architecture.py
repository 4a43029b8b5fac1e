"""The tour of docs/architecture.md: its files exist, lead to each other, and are as many as it says."""

import ast
import re
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

PAGE = Path("docs/architecture.md").read_text()
TOUR = re.findall(r"^\d+\. \[`([^`]+)`\]\(\.\./([^)]+)\)", PAGE, re.MULTILINE)
FILES = [path for path, _ in TOUR]
MOST_FILES, MOST_JUMPS = 45, 8
PACKAGES = {"mulex", "sweeps", "analysis"}


def module_of(path: str) -> str:
    """The dotted name of a Python file."""
    return ".".join(PurePosixPath(path).with_suffix("").parts).removesuffix(".__init__")


@cache
def mentioned(path: str) -> frozenset[str]:
    """The modules that a Python file imports anywhere, or names in a string as `module` or `module:attribute`.

    A file that imports a whole package, as in `import analysis`, also mentions what the package's `__init__` names.
    """
    found = set()
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value.partition(":")[0])
    for package in found & PACKAGES:
        found |= mentioned(f"{package}/__init__.py")
    return frozenset(found)


def leads_to(paths: list[str], index: int) -> set[str]:
    """The files of the tour that mention one and come before it."""
    return {path for path in paths[:index] if module_of(paths[index]) in mentioned(path)}


def jumps_back(paths: list[str]) -> list[str]:
    """The files that neither the file before them mentions, nor any file that also led to that one."""
    leads = [leads_to(paths, index) for index in range(len(paths))]
    steps = range(1, len(paths))
    return [paths[i] for i in steps if paths[i - 1] not in leads[i] and not leads[i - 1] & leads[i]]


def test_a_return_to_a_file_further_up_is_a_jump_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"a.py": "import b\nimport d\nimport e", "b.py": "import c", "c.py": "", "d.py": "", "e.py": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert jumps_back(list(texts)) == ["d.py"]  # c leads nowhere, so the reader returns to a; d and e are its parts


def test_the_numbers_are_in_order_and_the_links_lead_to_the_names() -> None:
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \[`", PAGE, re.MULTILINE)]
    assert numbers == list(range(1, len(FILES) + 1))
    assert all(name == link for name, link in TOUR)


def test_no_file_is_opened_twice() -> None:
    assert len(set(FILES)) == len(FILES)


@pytest.mark.parametrize("index", range(1, len(FILES)), ids=FILES[1:])
def test_each_file_is_imported_or_named_by_one_before_it(index: int) -> None:
    assert leads_to(FILES, index)


def test_the_counts_are_right_and_small() -> None:
    stated = re.search(r"The tour has (\d+) files and (\d+) jumps back", PAGE)
    assert stated
    assert [int(number) for number in stated.groups()] == [len(FILES), len(jumps_back(FILES))]
    places = re.search(r"In (\d+) places it is neither", PAGE)
    assert places
    assert int(places[1]) == len(jumps_back(FILES))
    assert len(FILES) <= MOST_FILES
    assert len(jumps_back(FILES)) <= MOST_JUMPS


def test_external_learners_leave_and_join_the_tour_where_it_says() -> None:
    stated = re.search(r"leave the tour\s+at file (\d+) and come back at file (\d+)", PAGE)
    assert stated
    leave, join = (FILES[int(number) - 1] for number in stated.groups())
    assert "mulex.learners.training" in mentioned(leave)
    assert module_of(join) in mentioned("mulex/learners/training.py")


def test_every_path_of_the_page_exists() -> None:
    paths = re.findall(r"`((?:mulex|sweeps|analysis|cluster|docs|tests)/[^`\s]*)`", PAGE)
    assert len(paths) > len(FILES)
    assert [path for path in paths if not Path(path).exists()] == []
