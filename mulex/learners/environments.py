"""Gymnasium environments from a world's plain data, and episodes that a checkpoint can play again."""

from typing import Any

import gymnasium
import numpy as np

from mulex.streams import words
from mulex.worlds.make_gymnasium import make_gymnasium

_SEED_BITS = np.uint64(33)


def make_environment(world: dict[str, Any], **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """The environment that a world describes: a Gymnasium id, or one of our grid worlds."""
    if "id" not in world:
        from mulex.worlds.env import GridWorld

        return GridWorld(**world, **kwargs)
    return make_gymnasium(world["id"], {**world.get("kwargs", {}), **kwargs}, world.get("wrappers", []))


class RepeatableEpisodes(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Every episode is reset with a seed of its own, and its actions are noted.

    So a checkpoint need not look inside the environment: it keeps the number of the episode and its actions, and
    loading plays them again. That is exact for every environment whose episodes follow from their seed and actions.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], key: int) -> None:
        super().__init__(env)
        self._key = np.array([key], dtype=np.uint64)
        self.episode = 0
        self._actions: list[np.ndarray] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode; a seed from outside is ignored, for the run's own decides."""
        own = int(words(self._key, np.array([self.episode], dtype=np.int64))[0] >> _SEED_BITS)
        self.episode += 1
        self._actions = []
        return self.env.reset(seed=own, options=options)

    def step(self, action: Any) -> Any:
        self._actions.append(np.array(action))
        return self.env.step(action)

    def save(self) -> dict[str, np.ndarray]:
        """The episode's number and its actions (T, ...)."""
        return {"episode": np.array(self.episode), "actions": np.array(self._actions)}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Play the episode again up to the same step; nothing is done if no episode had begun."""
        self.episode = int(arrays["episode"])
        if self.episode == 0:
            return
        self.episode -= 1
        self.reset()
        for action in arrays["actions"]:
            self.step(action if action.ndim else action[()])
