"""The examples of docs/api.md run from top to bottom, as a reader would type them."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sweeps import ROOT, clean_environment

PAGE = Path("docs/api.md")
NAMES = ["mulex.train"]
NAMES += [f"sweeps.{name}" for name in ("load_spec", "launch", "resume", "confirm", "status")]
NAMES += [f"analysis.{name}" for name in ("load", "stats", "plot", "confirmed", "across_worlds", "power", "report")]


def examples() -> str:
    """All Python blocks of the page, as one script."""
    return "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))


@pytest.fixture
def ray_folder() -> Iterator[str]:
    """A short path for the script's own Ray."""
    folder = tempfile.mkdtemp(dir="/tmp", prefix="r")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("name", NAMES)
def test_every_function_has_a_section_and_an_example(name: str) -> None:
    assert f"\n### {name}\n" in PAGE.read_text()
    assert f"{name}(" in examples()


@pytest.mark.xdist_group("ray")
def test_the_examples_run(tmp_path: Path, ray_folder: str) -> None:
    for folder in ("docs", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    script = tmp_path / "examples.py"
    script.write_text(examples())
    env = {**clean_environment(), "RAY_TMPDIR": ray_folder, "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for written in ("out/small/runs.parquet", "out/cross_entropy/runs.parquet", "violins.pdf", "report.html"):
        assert (tmp_path / written).stat().st_size > 0
