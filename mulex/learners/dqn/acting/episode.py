"""The rule `episode`: one head acts for a whole episode."""

import numpy as np

from mulex.config import RunConfig
from mulex.learners.dqn.acting.contract import Heads, Sight


class EpisodeRule:
    """Draws a head at the first step of every episode, by the heads' probabilities."""

    def __init__(self, runs: list[RunConfig]) -> None:
        self.heads = Heads(runs)
        self.head = np.zeros(len(runs), dtype=np.int64)
        self.fresh = np.ones(len(runs), dtype=bool)  # whether the next step is the first of an episode

    def choose(self, sight: Sight) -> np.ndarray:
        drawn = self.heads.draw(self.heads.uniform(sight.step, 1))
        self.head[:] = np.where(self.fresh, drawn, self.head)
        return self.head

    def observe(self, reward: np.ndarray, ended: np.ndarray, returns: np.ndarray) -> None:
        self.fresh[:] = ended

    def state(self) -> dict[str, np.ndarray]:
        return {"head": self.head, "fresh": self.fresh}
