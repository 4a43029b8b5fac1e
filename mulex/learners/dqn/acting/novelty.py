"""The rule `novelty`: the explorer acts where the state is new, the task's head where it is known."""

import numpy as np

from mulex.config import RunConfig
from mulex.learners.dqn.acting.contract import Heads, Sight


class NoveltyRule:
    """Compares the bonus of the present state with that of a state with `visits` visits: 1 / sqrt(visits).

    Among several explorers, or several heads of the task, one is drawn when its kind takes over.
    """

    def __init__(self, runs: list[RunConfig]) -> None:
        self.heads = Heads(runs)
        visits = np.array([run.rule_parameter("visits") for run in runs])
        self.threshold = (1.0 / np.sqrt(visits)).astype(np.float32)
        self.head = np.full(len(runs), -1, dtype=np.int64)

    def choose(self, sight: Sight) -> np.ndarray:
        explorer = sight.bonus() >= self.threshold
        stays = (self.head >= 0) & (self.heads.explorers[self.head] == explorer)
        drawn = self.heads.draw_among(explorer, self.heads.uniform(sight.step, 1))
        self.head[:] = np.where(stays, self.head, drawn)
        return self.head

    def observe(self, reward: np.ndarray, ended: np.ndarray, returns: np.ndarray) -> None:
        """Take note of nothing: the bonus has the counts."""

    def state(self) -> dict[str, np.ndarray]:
        return {"head": self.head}
