"""A Gymnasium environment that fails on demand: `id: "tests.support.broken_env:Broken-v0"`.

Its `control` is the path of a JSON file that may say `{"17": "raise"}`: an episode that was reset with this seed fails
in its third step. A way that ends or stops the process takes its seed out of the file first, so it strikes once, unless
it begins with "always". What the file says is no part of a run's id, so the same run may fail now and succeed later.
"""

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mulex.streams import stream_keys, words

EPISODE = 10  # steps
FAILS_IN_STEP = 3
ONCE = ("exit", "sys.exit", "kill", "segfault", "freeze", "hang")


class Broken(gymnasium.Env):
    """Action 1 is worth 1, action 0 nothing; the observation counts the steps."""

    def __init__(self, control: str) -> None:
        self.control = Path(control)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (3,), np.float32)
        self.age = 0
        self.fails: str | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.age = 0
        said = json.loads(self.control.read_text()) if self.control.exists() else {}
        self.fails = said.get(str(seed))
        if self.fails in ONCE:
            del said[str(seed)]
            self.control.write_text(json.dumps(said))
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.age += 1
        if self.fails is not None and self.age == FAILS_IN_STEP:
            fail(self.fails.removeprefix("always "))
        return self._seen(), float(action), self.age == EPISODE, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.age / EPISODE, self.age % 2, 1.0], dtype=np.float32)


def fail(how: str) -> None:
    """In that way."""
    if how == "exit":
        os._exit(17)
    if how == "sys.exit":
        sys.exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "freeze":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "hang":
        time.sleep(3600)
    if how == "denied":
        raise PermissionError(13, "Permission denied", "/opt/licence")
    if how == "full":
        raise OSError(28, "No space left on device", "/var/replays")
    if how == "markup":
        raise RuntimeError("[/bold] [red]no[/nothing] \x1b[31mred\x1b[0m \x07" + "and so on " * 500_000)
    raise RuntimeError("the environment is broken")


def reset_seed(run_id: str, episode: int) -> int:
    """What an episode of a run's training is reset with."""
    return int(words(stream_keys([run_id], "ghosts"), np.array([episode]))[0] >> np.uint64(33))


def arm(control: Path, faults: dict[int, str]) -> None:
    """Have the episodes of these seeds fail, each in its way."""
    control.write_text(json.dumps(faults))


gymnasium.register("Broken-v0", entry_point="tests.support.broken_env:Broken")
