"""The published results: what the pages say is what the tables beside them give."""

import re
import runpy
from pathlib import Path

import pytest

REDRAW = runpy.run_path("docs/results/redraw.py", run_name="redraw")
MOST = 20_000_000  # bytes


@pytest.mark.parametrize("page", REDRAW["PAGES"], ids=lambda page: page.name)
def test_the_pages_tables_are_those_of_the_sweeps(page: Path) -> None:
    text = page.read_text()
    assert "<!-- end of" in text
    assert REDRAW["with_tables"](text) == text


def test_there_are_results_and_they_are_small() -> None:
    files = list(Path("docs/results").glob("*/*.parquet"))
    assert REDRAW["studies"]()
    assert sum(path.stat().st_size for path in files) < MOST


def test_every_picture_that_a_page_shows_is_there() -> None:
    for page in [*REDRAW["PAGES"], Path("README.md")]:
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text()):
            assert (page.parent / link).is_file(), f"{page}: {link}"
