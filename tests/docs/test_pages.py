"""Every page: its links lead to files and headings that exist, and so do the paths that CONTRIBUTING.md names."""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from cluster.cli import COMMANDS

PAGES = [Path(name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "cluster/README.md")]
PAGES += sorted([*Path("docs").glob("*.md"), *Path("docs/results").glob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page}: {link}"
        assert not anchor or anchor in anchors(target), f"{page}: {link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_path_in_backticks_exists(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    paths = re.findall(r"`(?:pytest )?((?:mulex|sweeps|analysis|cluster|docs|tests|examples)/[\w./*-]+)`", text)
    missing = [path for path in paths if not path.startswith("mulex/") or "-v0" not in path]  # not Gymnasium ids
    assert [path for path in missing if not list(Path().glob(path))] == []


def test_the_index_lists_every_page() -> None:
    index = Path("docs/README.md").read_text()
    assert [
        page.name for page in Path("docs").glob("*.md") if f"({page.name})" not in index and page.name != "README.md"
    ] == []


def test_where_to_change_what_names_files_that_have_it() -> None:
    """The words that a reader looks for are in the files that the table sends them to."""
    table = Path("CONTRIBUTING.md").read_text().partition("## Where to change what")[2]
    expected = {
        "analysis/style.py": "COLOURS",
        "mulex/store/lease.py": "EXPIRY_SECONDS",
        "mulex/config/training.py": "rmsprop_epsilon",
        "mulex/store/schema.py": "iterations_to_ideal",
        "cluster/slurm/sweep.sbatch": "#SBATCH --time",
        "sweeps/interruption.py": "SIGINT",
        "sweeps/plan.py": "def packs",
        "sweeps/execution/task.py": "class PackTask",
        "sweeps/search/distributions.py": "log_uniform",
        "mulex/streams.py": "def stream_key",
        "mulex/learners/contract.py": "class Adapter",
        "mulex/learners/placeholders.py": "CHECKPOINT",
        "analysis/live/server.py": "def make_app",
    }
    for path, word in expected.items():
        assert f"({path})" in table, path
        assert word in Path(path).read_text(), path


def test_every_command_has_a_line() -> None:
    page = Path("docs/command-line.md").read_text()
    assert [name for name in COMMANDS if f"| `mulex {name}" not in page] == []


def test_the_changelog_has_this_version() -> None:
    version = tomllib.loads(Path("pyproject.toml").read_text())["project"]["version"]
    newest = re.search(r"^## (\S+)", Path("CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert newest[1] == version


def test_the_native_engines_files_are_all_explained() -> None:
    native = Path("mulex/learners/dqn/native")
    named = set(re.findall(r"`(\w+\.(?:hpp|cpp|inc))`", Path("docs/engines.md").read_text()))
    assert named == {path.name for kind in ("hpp", "cpp", "inc") for path in native.glob(f"*.{kind}")}
