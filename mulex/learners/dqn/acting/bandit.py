"""The rule `bandit`: a bandit chooses the probability of the task's head, after Agent57 (Badia et al. 2020)."""

import numpy as np

from mulex.config import RunConfig
from mulex.learners.dqn.acting.contract import Heads, Sight
from mulex.streams import below, stream_keys, uniforms, words


class BanditRule:
    """A sliding-window UCB bandit for each member; within an episode heads are drawn as by the rule `steps`.

    Arm i of n lets a head of the task act with probability (i + 0.5) / n. Each arm is tried once. Then an arm is drawn
    at random with probability `random`; otherwise it is the one with the largest mean return in the last `window`
    episodes plus exploration / sqrt(times chosen).
    """

    def __init__(self, runs: list[RunConfig]) -> None:
        members = len(runs)
        self.heads = Heads(runs)
        self.stay = np.array([run.weight(run.recipe.acting.gamma_steps) for run in runs])
        self.arms, self.window = (
            np.array([int(run.rule_parameter(name)) for run in runs]) for name in ("arms", "window")
        )
        self.exploration, self.random = (
            np.array([run.rule_parameter(name) for run in runs]) for name in ("exploration", "random")
        )
        self._keys = stream_keys([run.stream_id for run in runs], "bandit")
        self.arm, self.head, self.episodes = (np.zeros(members, dtype=np.int64) for _ in range(3))
        self.fresh = np.ones(members, dtype=bool)
        self.chosen = np.zeros((members, int(self.window.max())), dtype=np.int64)  # rings by episode
        self.returns = np.zeros(self.chosen.shape)

    def choose(self, sight: Sight) -> np.ndarray:
        for p in np.nonzero(self.fresh)[0].tolist():
            self.arm[p] = self._pull(p, sight.step)
        task = (self.arm + 0.5) / self.arms
        uniform = self.heads.uniform(sight.step, 1)
        explorer = uniform >= task
        rest = np.where(explorer, (uniform - task) / (1 - task), uniform / task)
        switches = self.fresh | (self.heads.uniform(sight.step, 0) >= self.stay)
        self.head[:] = np.where(switches, self.heads.draw_among(explorer, rest), self.head)
        return self.head

    def _pull(self, p: int, step: int) -> int:
        """Choose the arm of a member's next episode."""
        episodes, arms = int(self.episodes[p]), int(self.arms[p])
        if episodes < arms:
            return episodes
        key = self._keys[p : p + 1]
        if uniforms(key, np.array([2 * step]))[0] < self.random[p]:
            return int(below(words(key, np.array([2 * step + 1])), arms)[0])
        known = slice(min(episodes, int(self.window[p])))
        times = np.bincount(self.chosen[p, known], minlength=arms)
        totals = np.bincount(self.chosen[p, known], self.returns[p, known], minlength=arms)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = totals / times + self.exploration[p] / np.sqrt(times)
        return int(np.argmax(np.where(times > 0, scores, np.inf)))

    def observe(self, reward: np.ndarray, ended: np.ndarray, returns: np.ndarray) -> None:
        who = np.nonzero(ended)[0]
        slot = self.episodes[who] % self.window[who]
        self.chosen[who, slot], self.returns[who, slot] = self.arm[who], returns[who]
        self.episodes[who] += 1
        self.fresh[:] = ended

    def state(self) -> dict[str, np.ndarray]:
        names = ("arm", "head", "episodes", "fresh", "chosen", "returns")
        return {name: getattr(self, name) for name in names}
