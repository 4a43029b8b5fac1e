"""Gymnasium environments with discrete actions and an array observation, as the worlds of a pack.

Episode n of a member is reset with a seed of its own. So a checkpoint does not need the environment's internal state:
it keeps the actions of the running episode, and loading plays them again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from mulex.errors import UserError
from mulex.streams import words
from mulex.worlds.gymnasium_checks import ReturnChecks, check_spaces
from mulex.worlds.make_gymnasium import Wrapper, make_gymnasium
from mulex.worlds.maps import LONGEST_EPISODE
from mulex.worlds.pack import Outcome

_SEED_BITS = np.uint64(33)


class GymWorlds:
    """P copies of an environment. A record is the frame itself."""

    repeats = False
    states: int | None = None

    def __init__(
        self,
        env_id: str,
        kwargs: dict[str, Any],
        ideal_return: float | None,
        keys: np.ndarray,
        wrappers: Sequence[Wrapper] = (),
    ) -> None:
        """`keys` (P,) uint64 are the keys of the streams that the members' episode seeds are drawn from."""
        self.envs = [make_gymnasium(env_id, kwargs, wrappers) for _ in keys]
        check_spaces(env_id, self.envs)
        action_space: Any = self.envs[0].action_space
        observation_space: Any = self.envs[0].observation_space
        self.actions = int(action_space.n)
        self._first_action = int(action_space.start)
        self.record_shape: tuple[int, ...] = observation_space.shape
        self.frame_shape: tuple[int, ...] = observation_space.shape
        pixels = observation_space.dtype == np.uint8
        self.record_dtype = np.dtype(np.uint8 if pixels else np.float32)
        self._env_id, self._checks = env_id, ReturnChecks(env_id, self.record_shape, self.record_dtype)
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
            with self._named("reset"):
                returned: Any = self.envs[p].reset(seed=self._seed(p))
            seen, _ = self._checks.parts("reset", returned, 2)
            self._seen[p] = self._checks.observation("reset", seen)
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
            with suppress(Exception):  # the results are complete, and a faulty close does not change them
                env.close()

    def _seed(self, p: int) -> int:
        return int(words(self.keys[p : p + 1], self.episode[p : p + 1])[0] >> _SEED_BITS)

    def _step(self, p: int, action: int) -> tuple[float, bool, bool]:
        self._played[p].append(action)
        if len(self._played[p]) > LONGEST_EPISODE:
            raise UserError(
                f"world {self._env_id}: an episode has not ended after {LONGEST_EPISODE:,} steps; give it a time "
                "limit, for example kwargs: {max_episode_steps: 1000}"
            )
        with self._named("step"):
            returned: Any = self.envs[p].step(np.int64(self._first_action + action))
        checks = self._checks
        seen, reward, terminal, truncated, _ = checks.parts("step", returned, 5)
        self._seen[p] = checks.observation("step", seen)
        return checks.reward(reward), checks.flag("terminated", terminal), checks.flag("truncated", truncated)

    @contextmanager
    def _named(self, call: str) -> Iterator[None]:
        """Let an environment's own error pass as it is, with a note that says whose it is."""
        try:
            yield
        except Exception as error:
            error.add_note(f"raised by {call} of the environment {self._env_id}")
            raise
