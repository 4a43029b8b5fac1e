"""A launch until its first run trains, and how much of that is Ray's own start."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.scale.costs import Cost
from tests.scale.synthetic import spec_text

PATIENCE = 300.0
"""Seconds that a launch may take; a busy machine starts a Ray in minutes."""
_RAY_ALONE = """
import sys
from pathlib import Path
from sweeps.execution.cluster import Cluster, connected
import ray
with connected(Cluster(cpus=1)):
    ray.get(ray.remote(lambda: None).remote())
    Path(sys.argv[1]).touch()
    sys.stdin.read()
"""


def launch_cost(place: Path, runs: int) -> Cost:
    """Launch a sweep until a worker says that it trains; processor time and memory are the launcher's."""
    out, spec = place / f"launch-{runs}", place / f"launch-{runs}.yaml"
    spec.write_text(spec_text(runs, 1000))
    command = ["-m", "cluster.cli", "sweep", str(spec), "--out", str(out), "--cpus", "1"]
    return _until(command, lambda: any(out.glob("progress/*.json")) or any(out.glob("runs/*/*.parquet")))


def ray_cost(place: Path) -> Cost:
    """Start the same Ray, with one worker process, and nothing of ours."""
    ready = place / "ray-is-ready"
    ready.unlink(missing_ok=True)
    return _until(["-c", _RAY_ALONE, str(ready)], ready.exists)


def _until(command: list[str], is_ready: Callable[[], bool]) -> Cost:
    """Run a command of Python's until something is so, then interrupt it."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not is_ready():
            assert process.poll() is None, "it has ended"
            assert time.monotonic() - began < PATIENCE, f"it took more than {PATIENCE:.0f} s"
            time.sleep(0.05)
        return Cost(time.monotonic() - began, _processor_time(process.pid), _peak(process.pid))
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()


def _peak(pid: int) -> float:
    about = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in about.splitlines() if line.startswith("VmHWM"))


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
