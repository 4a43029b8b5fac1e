"""How fast the worlds step, and what compiling a large one costs."""

import json
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import gymnasium
import numpy as np

import mulex  # noqa: F401  registers the worlds
from mulex.streams import stream_keys
from mulex.worlds.pack import WorldPack
from mulex.worlds.world import build_world

REPEATS = 7
MEMBERS = 64
PACK_STEPS = 10_000
GYM_STEPS = 20_000

# VmHWM is this program's own peak, where getrusage's also counts the one that started it.
COMPILE = """
import json, re
from pathlib import Path
from time import perf_counter
from mulex.worlds.world import build_world

def megabytes(field):
    return int(re.search(rf"{field}:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1000

before = megabytes("VmRSS")
start = perf_counter()
build_world(room_size=15, hard=True, textured=True)
print(json.dumps([perf_counter() - start, megabytes("VmHWM") - before]))
"""


def measure() -> dict[str, float]:
    """The median of several repeats, taken in turn so that a slow moment of the machine hits all of them alike."""
    step_pack, step_gym = _pack_stepper(), _gym_stepper()
    rounds = [(step_pack(), step_gym(), *_compile()) for _ in range(REPEATS)]
    pack, gym, seconds, megabytes = (median(column) for column in zip(*rounds, strict=True))
    return {
        "world_pack64_us_per_member_step": pack,
        "world_gym_us_per_step": gym,
        "world_compile_w15_hard_textured_seconds": seconds,
        "world_compile_w15_hard_textured_mb": megabytes,
    }


def _pack_stepper() -> Callable[[], float]:
    """Microseconds a member-step: random actions, ended episodes restarted."""
    pack = WorldPack(build_world(room_size=5), stream_keys([str(i) for i in range(MEMBERS)], "ghost"))
    actions = np.random.default_rng(0).integers(0, 4, (PACK_STEPS, MEMBERS))

    def run() -> float:
        start = perf_counter()
        for chosen in actions:
            pack.advance(chosen)
        return (perf_counter() - start) / (PACK_STEPS * MEMBERS) * 1e6

    return run


def _gym_stepper() -> Callable[[], float]:
    """Microseconds a step of what `gymnasium.make` gives: random actions, ended episodes reset."""
    env = gymnasium.make("mulex/Montezuminha-v0")
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 4, GYM_STEPS).tolist()

    def run() -> float:
        start = perf_counter()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return (perf_counter() - start) / GYM_STEPS * 1e6

    return run


def _compile() -> tuple[float, float]:
    """Seconds and peak growth of resident memory in megabytes, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", COMPILE], capture_output=True, text=True, check=True)
    seconds, megabytes = json.loads(done.stdout)
    return seconds, megabytes
