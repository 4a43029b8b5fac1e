"""The environment that fails on demand, with a gate: `id: "tests.support.gated_env:Gated-v0"`.

Its runs are slow for some iterations, then wait as long as there is a file `gate`, so that a test can look at a sweep
in the middle of training.
"""

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tests.support.broken_env import Broken

SLOW_EPISODES = 120
STEP_SECONDS = 0.002


class Gated(Broken):
    """Broken, but slow at first and then closed."""

    def __init__(self, control: str, gate: str) -> None:
        super().__init__(control)
        self.gate, self.episodes = Path(gate), 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        self.episodes += 1
        while self.episodes > SLOW_EPISODES and self.gate.exists():
            time.sleep(0.02)
        return super().reset(seed=seed, options=options)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        if self.gate.exists():
            time.sleep(STEP_SECONDS)
        return super().step(action)


gymnasium.register("Gated-v0", entry_point="tests.support.gated_env:Gated")
