"""A sweep of 3,000 runs x 800 iterations that has something for every figure: the figures, and the report."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.analysis_tables import SPACES, made, write_starts

MB = 2**20


def measure() -> dict[str, float]:
    """Seconds of the commands from start to end, the figures' peak memory and the report's size."""
    with tempfile.TemporaryDirectory() as folder:
        sweep = made(folder, tuple(SPACES), worlds=("w5", "w10"), draws=75, seeds=5, iterations=800)
        write_starts(folder)
        figures, memory = _run("plot", sweep, "--figure", "all")
        report, _ = _run("report", sweep)
        size = (Path(folder) / "report.html").stat().st_size / MB
    return {
        "figures_all_seconds": figures,
        "figures_all_mb": memory,
        "report_seconds": report,
        "report_mb": size,
    }


def _run(command: str, *arguments: str) -> tuple[float, float]:
    """Seconds and peak MB."""
    code = f"import sys; from analysis.commands.{command} import {command}; {command}(sys.argv[1:])"
    started = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"mulex {command} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss * 1024 / MB
