"""The agent core against the plain loop, side by side on one thread, and the memory of a real pack."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch

from mulex.config import GridWorldConfig, TrainingConfig
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import make_run
from tests.bench.plain_dqn import PlainDQN

PACKS = (1, 5, 16, 32)
ROUNDS = 5
PAPER_ITERATIONS = 800

_MEMORY = """
import resource, sys
import numpy as np
from mulex.config import GridWorldConfig, TrainingConfig
from mulex.methods import make_run
from mulex.learners.dqn.engines import make_engine

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

def engine(members, textured):
    world = GridWorldConfig(textured=textured)
    runs = [make_run(world, "mulex", TrainingConfig(), seed=seed) for seed in range(members)]
    return make_engine("auto", "cpu", runs)

members, textured = 4, sys.argv[1] == "textured"
engine(1, textured).iterate()  # what libraries take at their first use is not the pack's
before = resident()
pack = engine(members, textured)
pack.iterate()
for ring in pack.replay._rings().values():
    ring[:] = 1  # as if one million transitions had been written
print((resident() - before) / members / 2**20)
"""


def measure() -> dict[str, float]:
    """Seconds an iteration of a run, and how many times more runs an hour a core trains than with the plain loop."""
    torch.set_num_threads(1)
    plain = PlainDQN()
    engines = {p: _engine(p) for p in PACKS}
    subjects: dict[str, Callable[[], object]] = {"plain": plain.iteration}
    subjects |= {f"pack{p}": engine.iterate for p, engine in engines.items()}
    for subject in subjects.values():
        subject()  # warm-up steps are not like the others
    seconds: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(ROUNDS):
        for name, subject in subjects.items():
            started = time.perf_counter()
            subject()
            seconds[name].append(time.perf_counter() - started)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    figures = {"plain_torch_seconds_per_paper_run": median["plain"] * PAPER_ITERATIONS}
    for p in PACKS:
        a_run = median[f"pack{p}"] / p
        figures[f"torch_pack{p}_seconds_per_paper_run"] = a_run * PAPER_ITERATIONS
        figures[f"torch_pack{p}_vs_plain_torch"] = median["plain"] / a_run
    return figures | {
        "run_mb_at_1m_transitions": _memory("plain"),
        "run_mb_at_1m_transitions_textured": _memory("textured"),
    }


def _engine(members: int) -> TorchEngine:
    training = TrainingConfig(replay_size=50_000)
    return TorchEngine([make_run(GridWorldConfig(), "epsilon_greedy", training, seed=s) for s in range(members)])


def _memory(world: str) -> float:
    command = [sys.executable, "-c", _MEMORY, world]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
