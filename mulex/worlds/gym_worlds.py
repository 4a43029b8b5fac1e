"""Any Gymnasium environment with discrete actions and an array observation, as the worlds of a pack.

Episode n of a member is reset with a seed of its own. So a snapshot need not look inside an environment: it keeps the
actions of the running episode, and loading plays them again.
"""

from typing import Any

import gymnasium
import numpy as np

from mulex.errors import UserError
from mulex.streams import words
from mulex.worlds.pack import Outcome

MOST_ACTIONS = 256
_SEED_BITS = np.uint64(33)


class GymWorlds:
    """P copies of an environment; a record is the frame itself."""

    repeats = False
    states: int | None = None

    def __init__(self, env_id: str, kwargs: dict[str, Any], ideal_return: float | None, keys: np.ndarray) -> None:
        """`keys` (P,) uint64 are the streams of the members' episode seeds."""
        self.envs = [_make(env_id, kwargs) for _ in keys]
        action_space, observation_space = self.envs[0].action_space, self.envs[0].observation_space
        if not isinstance(action_space, gymnasium.spaces.Discrete) or action_space.n > MOST_ACTIONS:
            raise UserError(f"world {env_id}: its actions are {action_space}, needed is Discrete up to {MOST_ACTIONS}")
        if not isinstance(observation_space, gymnasium.spaces.Box) or len(observation_space.shape) not in (1, 2, 3):
            raise UserError(f"world {env_id}: its observation is {observation_space}, needed is a Box of 1 to 3 axes")
        self.actions = int(action_space.n)
        self._first_action = int(action_space.start)
        self.record_shape = self.frame_shape = observation_space.shape
        pixels = observation_space.dtype == np.uint8
        self.record_dtype = np.dtype(np.uint8 if pixels else np.float32)
        self.ideal_return = ideal_return
        spec = self.envs[0].spec
        self.time_limit = spec.max_episode_steps if spec else None
        self.keys = keys
        self.episode = np.zeros(len(keys), dtype=np.int64)
        self._played: list[list[int]] = [[] for _ in keys]
        self._seen = np.zeros((len(keys), *self.record_shape), dtype=self.record_dtype)
        self.restart(np.ones(len(keys), dtype=bool))

    def observe(self) -> np.ndarray:
        return self._seen.copy()

    def step(self, actions: np.ndarray) -> Outcome:
        results = [self._step(p, int(action)) for p, action in enumerate(actions)]
        reward, terminal, truncated = zip(*results, strict=True)
        over = np.array(terminal)
        return Outcome(np.array(reward, dtype=np.float32), over, np.array(truncated) & ~over)

    def restart(self, who: np.ndarray) -> None:
        for p in np.nonzero(who)[0].tolist():
            self._played[p] = []
            self._seen[p], _ = self.envs[p].reset(seed=self._seed(p))
            self.episode[p] += 1

    def frames(self, records: np.ndarray) -> np.ndarray:
        return records

    def save(self) -> dict[str, np.ndarray]:
        lengths = np.array([len(played) for played in self._played], dtype=np.int64)
        played = np.array([action for actions in self._played for action in actions], dtype=np.uint8)
        return {"episode": self.episode.copy(), "lengths": lengths, "played": played}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.episode[:] = arrays["episode"] - 1
        self.restart(np.ones(len(self.envs), dtype=bool))
        ends = np.cumsum(arrays["lengths"])
        for p, (start, end) in enumerate(zip(ends - arrays["lengths"], ends, strict=True)):
            for action in arrays["played"][start:end]:
                self._step(p, int(action))

    def close(self) -> None:
        for env in self.envs:
            env.close()

    def _seed(self, p: int) -> int:
        return int(words(self.keys[p : p + 1], self.episode[p : p + 1])[0] >> _SEED_BITS)

    def _step(self, p: int, action: int) -> tuple[float, bool, bool]:
        self._played[p].append(action)
        seen, reward, terminal, truncated, _ = self.envs[p].step(np.int64(self._first_action + action))
        self._seen[p] = seen
        return float(reward), bool(terminal), bool(truncated)


def _make(env_id: str, kwargs: dict[str, Any]) -> gymnasium.Env:
    try:
        return gymnasium.make(env_id, **kwargs)
    except (gymnasium.error.Error, TypeError, ValueError, ModuleNotFoundError) as error:
        raise UserError(f"world {env_id}: gymnasium.make refused it: {error}") from None
