"""The script launches its sweep, plots it, and trains nothing the second time."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.support.sweeps import ROOT, clean_environment

pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """An environment in which the script has a Ray of its own."""
    folder = tempfile.mkdtemp(dir="/tmp", prefix="r")
    yield {**clean_environment(), "RAY_TMPDIR": folder}
    shutil.rmtree(folder, ignore_errors=True)


def test_it_trains_and_plots_and_a_second_call_trains_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, str(ROOT / "examples" / "launch_from_python.py"), str(tmp_path / "sweep")]
    written = []
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        written.append({path: path.stat().st_mtime_ns for path in (tmp_path / "sweep" / "runs").rglob("*.parquet")})
    assert written[0] == written[1]
    runs = pd.read_parquet(tmp_path / "sweep" / "runs.parquet")
    assert runs["status"].tolist() == ["done"] * 8
    assert (tmp_path / "sweep" / "curves.png").stat().st_size > 10_000
