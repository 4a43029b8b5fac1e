"""The published results: what the pages say is what the tables beside them give."""

import importlib
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, "docs/results")
redraw = importlib.import_module("redraw")
MOST = 20_000_000  # bytes


@pytest.mark.parametrize("page", redraw.PAGES, ids=lambda page: page.name)
def test_the_pages_tables_are_those_of_the_sweeps(page: Path) -> None:
    text = page.read_text()
    assert "<!-- end of" in text
    assert redraw.with_tables(text) == text


def test_there_are_results_and_they_are_small() -> None:
    files = list(Path("docs/results").glob("*/*.parquet"))
    assert redraw.studies()
    assert sum(path.stat().st_size for path in files) < MOST


def test_every_picture_that_a_page_shows_is_there() -> None:
    for page in [*redraw.PAGES, Path("README.md")]:
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text()):
            assert (page.parent / link).is_file(), f"{page}: {link}"
