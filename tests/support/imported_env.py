"""An environment whose id names its module, so that tests see whether the module was imported."""

from typing import Any

import gymnasium
import numpy as np


class Imported(gymnasium.Env):
    """Episodes of three steps, each with reward 1."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (3,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(3, dtype=np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.steps += 1
        return np.zeros(3, dtype=np.float32), 1.0, self.steps == 3, False, {}


if "Imported-v0" not in gymnasium.registry:
    gymnasium.register("Imported-v0", entry_point="tests.support.imported_env:Imported")
