"""The script launches its sweep, plots it, and trains nothing the second time."""

import runpy
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.support.sweeps import RAY_MARKS, ROOT

pytest_plugins = ["tests.support.ray_plugin"]
pytestmark = RAY_MARKS


def test_it_trains_and_plots_and_a_second_call_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = str(ROOT / "examples" / "launch_from_python.py")
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path / "sweep")])
    written = []
    for _ in range(2):
        runpy.run_path(script, run_name="__main__")
        written.append({path: path.stat().st_mtime_ns for path in (tmp_path / "sweep" / "runs").rglob("*.parquet")})
    assert written[0] == written[1]
    runs = pd.read_parquet(tmp_path / "sweep" / "runs.parquet")
    assert runs["status"].tolist() == ["done"] * 8
    assert (tmp_path / "sweep" / "curves.png").stat().st_size > 10_000
