"""Misbehaving Gymnasium environments: each fault is a message that names the environment and the fault."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from mulex.config import GymWorldConfig, TrainingConfig
from mulex.errors import UserError
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import make_run
from mulex.streams import stream_keys
from mulex.worlds import gymnasium_worlds
from mulex.worlds.gymnasium_worlds import GymWorlds

KEYS = stream_keys(["a", "b"], "ghosts")
GOOD = np.zeros(3, dtype=np.float32)
STEP = (GOOD, 1.0, False, False, {})


class Faulty(gymnasium.Env):
    """Returns what it is told to, once `returns` says what."""

    made = 0

    def __init__(
        self, reset: Any = (GOOD, {}), step: Any = STEP, pixels: bool = False, grows: bool = False, close: bool = True
    ) -> None:
        Faulty.made += 1
        self.returns = {"reset": reset, "step": step}
        self.closes = close
        size = 3 + (Faulty.made if grows else 0)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.observation_space = (
            gymnasium.spaces.Box(0, 255, (size,), np.uint8)
            if pixels
            else gymnasium.spaces.Box(-1.0, 1.0, (size,), np.float32)
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self._returned("reset")

    def step(self, action: int) -> Any:
        return self._returned("step")

    def close(self) -> None:
        if not self.closes:
            raise RuntimeError("no way to close")

    def _returned(self, call: str) -> Any:
        if isinstance(self.returns[call], Exception):
            raise self.returns[call]
        return self.returns[call]


@pytest.fixture(autouse=True)
def registered():
    gymnasium.register("Faulty-v0", entry_point=Faulty, disable_env_checker=True, order_enforce=False)
    yield
    del gymnasium.registry["Faulty-v0"]


def faulty(**kwargs: Any) -> GymWorlds:
    return GymWorlds("Faulty-v0", kwargs, None, KEYS)


@pytest.mark.parametrize(
    ("reset", "says"),
    [
        (GOOD, "reset returned a ndarray, needed is a tuple of 2"),
        ((GOOD,), "reset returned a tuple of 1, needed is a tuple of 2"),
        ((np.zeros(1, np.float32), {}), r"reset returned an observation of shape \(1,\), declared is \(3,\)"),
        ((0.0, {}), r"reset returned an observation of shape \(\), declared is \(3,\)"),
        ((["a", "b", "c"], {}), "reset returned an observation of type <U1, needed are numbers"),
        (([None] * 3, {}), "reset returned an observation of type object, needed are numbers"),
        (([0.0, np.nan, 0.0], {}), "reset returned an observation that is NaN"),
        (([0.0, np.inf, 0.0], {}), "reset returned an observation that is NaN, infinite"),
        (([0.0, 1e300, 0.0], {}), "too large for 32 bits"),
    ],
)
def test_a_wrong_reset_is_named(reset: Any, says: str) -> None:
    with pytest.raises(UserError, match=f"^world Faulty-v0: .*{says}"):
        faulty(reset=reset)


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ((GOOD, 1.0, False, {}), "step returned a tuple of 4, needed is a tuple of 5"),
        (None, "step returned a NoneType"),
        ((np.zeros((3, 3)), 1.0, False, False, {}), r"step returned an observation of shape \(3, 3\)"),
        ((GOOD, float("nan"), False, False, {}), "step returned the reward nan, needed is a finite number"),
        ((GOOD, float("-inf"), False, False, {}), "step returned the reward -inf"),
        ((GOOD, 1e300, False, False, {}), r"step returned the reward 1e\+300"),
        ((GOOD, None, False, False, {}), "step returned the reward None, needed is a number"),
        ((GOOD, "1.0", False, False, {}), "step returned the reward '1.0'"),
        ((GOOD, np.ones(2), False, False, {}), "step returned the reward array"),
        ((GOOD, 1.0, None, False, {}), "step returned terminated = None, needed is true or false"),
        ((GOOD, 1.0, False, "no", {}), "step returned truncated = 'no'"),
        ((GOOD, 1.0, np.zeros(2, bool), False, {}), "step returned terminated = array"),
    ],
)
def test_a_wrong_step_is_named(step: Any, says: str) -> None:
    worlds = faulty(step=step)
    with pytest.raises(UserError, match=f"^world Faulty-v0: .*{says}"):
        worlds.step(np.array([0, 1]))


@pytest.mark.parametrize("seen", [[0.5, 0.0, 0.0], [0, 256, 0], [-1, 0, 0]])
def test_bytes_that_are_none_are_named(seen: list) -> None:
    """NumPy would wrap them around without a word."""
    with pytest.raises(UserError, match="declared is uint8"):
        faulty(pixels=True, reset=(seen, {}))


def test_harmless_types_are_taken() -> None:
    worlds = faulty(reset=([0, 1, 0], {}), step=([1, 0, 1], np.ones(1), np.bool_(True), 0, {}))
    assert worlds.observe().dtype == np.float32
    outcome = worlds.step(np.array([0, 1]))
    assert outcome.reward.tolist() == [1.0, 1.0]
    assert outcome.terminal.tolist() == [True, True]
    assert faulty(pixels=True, reset=([0, 255, 7], {})).observe()[0].tolist() == [0, 255, 7]


@pytest.mark.parametrize("call", ["reset", "step"])
def test_an_environments_own_error_passes_with_a_note(call: str) -> None:
    error = PermissionError("the licence file is missing")
    with pytest.raises(PermissionError) as raised:
        faulty(**{call: error}).step(np.array([0, 0]))
    assert raised.value is error
    assert f"raised by {call} of the environment Faulty-v0" in error.__notes__


def test_copies_with_different_spaces_are_refused() -> None:
    with pytest.raises(UserError, match="two copies of it have the spaces"):
        faulty(grows=True)


def test_whatever_the_constructor_raises_is_a_users_error() -> None:
    def broken(**kwargs: Any) -> gymnasium.Env:
        raise KeyError("ROM")

    gymnasium.register("Broken-constructor-v0", entry_point=broken)
    try:
        with pytest.raises(UserError, match=r"gymnasium\.make refused it: KeyError: 'ROM'"):
            GymWorlds("Broken-constructor-v0", {}, None, KEYS)
    finally:
        del gymnasium.registry["Broken-constructor-v0"]


def test_an_episode_without_an_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation would wait for its end for ever."""
    monkeypatch.setattr(gymnasium_worlds, "LONGEST_EPISODE", 200)
    settings = TrainingConfig(iterations=1, steps_per_iteration=20, evaluation_steps=10, warm_up=5)
    engine = TorchEngine([make_run(GymWorldConfig(id="Faulty-v0"), "epsilon_greedy", settings)])
    with pytest.raises(UserError, match="an episode has not ended after 200 steps; give it a time limit"):
        engine.iterate()


def test_a_faulty_close_does_not_lose_the_run() -> None:
    faulty(close=False).close()
