"""Checks of what a Gymnasium environment declares and returns, so that a faulty one is named instead of trained on."""

from typing import Any

import gymnasium
import numpy as np

from mulex.errors import UserError

MOST_ACTIONS = 256
LARGEST_REWARD = float(np.finfo(np.float32).max)


def check_spaces(env_id: str, envs: list[gymnasium.Env]) -> None:
    """Refuse environments whose spaces cannot be used, or that differ among the copies."""
    action_space, observation_space = envs[0].action_space, envs[0].observation_space
    if not isinstance(action_space, gymnasium.spaces.Discrete) or action_space.n > MOST_ACTIONS:
        raise UserError(f"world {env_id}: its actions are {action_space}, needed is Discrete up to {MOST_ACTIONS}")
    if not isinstance(observation_space, gymnasium.spaces.Box) or len(observation_space.shape) not in (1, 2, 3):
        raise UserError(f"world {env_id}: its observation is {observation_space}, needed is a Box of 1 to 3 axes")
    if 0 in observation_space.shape:
        raise UserError(f"world {env_id}: its observation is {observation_space}, needed is at least one number")
    for env in envs[1:]:
        if (env.action_space, env.observation_space) != (action_space, observation_space):
            raise UserError(
                f"world {env_id}: two copies of it have the spaces {action_space}, {observation_space} and "
                f"{env.action_space}, {env.observation_space}; needed are equal ones"
            )


class ReturnChecks:
    """Checks what reset and step return against the declared observation; every problem is a UserError."""

    def __init__(self, env_id: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._env_id, self._shape, self._dtype = env_id, shape, dtype

    def parts(self, call: str, returned: Any, count: int) -> tuple[Any, ...]:
        """Return the parts of the tuple that a call returned."""
        if not isinstance(returned, tuple) or len(returned) != count:
            what = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else f"a {type(returned).__name__}"
            raise self._wrong(call, f"returned {what}, needed is a tuple of {count} (Gymnasium's API since 0.26)")
        return returned

    def observation(self, call: str, seen: Any) -> np.ndarray:
        """Return an observation as an array of the declared shape and of the record's type."""
        array = np.asarray(seen)
        if array.shape != self._shape:
            raise self._wrong(call, f"returned an observation of shape {array.shape}, declared is {self._shape}")
        if array.dtype == self._dtype == np.uint8:
            return array
        if array.dtype.kind not in "biuf":
            raise self._wrong(call, f"returned an observation of type {array.dtype}, needed are numbers")
        if self._dtype == np.uint8:
            if array.dtype.kind == "f" or array.min() < 0 or array.max() > 255:
                raise self._wrong(call, f"returned an observation of type {array.dtype}, declared is uint8 (0 to 255)")
            return array.astype(np.uint8)
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise self._wrong(call, "returned an observation that is NaN, infinite or too large for 32 bits")
        return array

    def reward(self, reward: Any) -> float:
        """Return a reward as a finite number."""
        array = np.asarray(reward)
        if array.size != 1 or array.dtype.kind not in "biuf":
            raise self._wrong("step", f"returned the reward {_short(reward)}, needed is a number")
        number = float(array.reshape(()))
        if not abs(number) <= LARGEST_REWARD:
            raise self._wrong("step", f"returned the reward {number}, needed is a finite number within 32 bits")
        return number

    def flag(self, name: str, flag: Any) -> bool:
        """Return `terminated` or `truncated` as a bool."""
        array = np.asarray(flag)
        if array.size != 1 or array.dtype.kind not in "biu":
            raise self._wrong("step", f"returned {name} = {_short(flag)}, needed is true or false")
        return bool(array.reshape(()))

    def _wrong(self, call: str, problem: str) -> UserError:
        return UserError(f"world {self._env_id}: {call} {problem}; mend or wrap the environment")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."
