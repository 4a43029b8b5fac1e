"""The examples of docs/api.md run from top to bottom, as a reader would type them."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from tests.support.sweeps import RAY_MARKS, ROOT

pytest_plugins = ["tests.support.ray_plugin"]

PAGE = Path("docs/api.md")
NAMES = ["mulex.train"]
NAMES += [f"sweeps.{name}" for name in ("load_spec", "launch", "resume", "confirm", "status")]
NAMES += [f"analysis.{name}" for name in ("load", "stats", "plot", "confirmed", "across_worlds", "power", "report")]


def examples() -> str:
    """All Python blocks of the page, as one script."""
    return "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))


@pytest.mark.parametrize("name", NAMES)
def test_every_function_has_a_section_and_an_example(name: str) -> None:
    assert f"\n### {name}\n" in PAGE.read_text()
    assert f"{name}(" in examples()


class TestOnRay:
    pytestmark = RAY_MARKS

    def test_the_examples_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for folder in ("docs", "examples"):
            (tmp_path / folder).symlink_to(ROOT / folder)
        script = tmp_path / "examples.py"
        script.write_text(examples())
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", list(sys.path))
        runpy.run_path(str(script))
        for written in ("out/small/runs.parquet", "out/cross_entropy/runs.parquet", "violins.pdf", "report.html"):
            assert (tmp_path / written).stat().st_size > 0
