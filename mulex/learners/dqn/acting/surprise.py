"""The rule `surprise`: switch where the value's promise was broken, after Pislar et al. (2022), "When should agents
explore?"
"""

import numpy as np

from mulex.config import RunConfig
from mulex.learners.dqn.acting.contract import Heads, Sight

_MEMORY = 100  # of the running means, in expected numbers of switches


class Homeostasis:
    """Turns a signal of any scale into switches of a given mean rate: the larger the signal, the likelier."""

    def __init__(self, rate: np.ndarray) -> None:
        self.rate = rate
        self.count, self.mean, self.variance, self.level = (np.zeros(len(rate)) for _ in range(4))

    def chances(self, signal: np.ndarray, who: np.ndarray) -> np.ndarray:
        """Return the probability (P,) of a switch; only the members of a mask (P,) have a signal, and update."""
        self.count += who
        share = np.where(who, 1 / np.maximum(1, np.minimum(self.count, _MEMORY / self.rate)), 0.0)
        self.mean += share * (signal - self.mean)
        self.variance += share * ((signal - self.mean) ** 2 - self.variance)
        deviation = np.sqrt(self.variance)
        scaled = np.where(deviation > 0, (signal - self.mean) / np.where(deviation > 0, deviation, 1.0), 0.0)
        positive = np.exp(np.clip(scaled, -50, 50))
        self.level += share * (positive - self.level)
        return np.where(who, np.minimum(1.0, self.rate * positive / np.where(self.level > 0, self.level, 1.0)), 0.0)


class SurpriseRule:
    """Compares the task's value some steps ago with the rewards since and the value now.

    The signal is |V(s) - (r + ... + discount^(k-1) r' + discount^k V(s'))| over k steps of one episode, with V the
    largest Q-value of the first head that learns the task. Homeostasis keeps the mean rate of switches at `rate`.
    """

    def __init__(self, runs: list[RunConfig]) -> None:
        members = len(runs)
        self.heads, self.discount = Heads(runs), runs[0].discount
        self.homeostasis = Homeostasis(np.array([run.rule_parameter("rate") for run in runs]))
        self.steps = np.array([int(run.rule_parameter("steps")) for run in runs])  # (P,)
        self.values = np.zeros((members, int(self.steps.max())))  # rings by the step in the episode
        self.rewards = np.zeros_like(self.values)
        self.age = np.zeros(members, dtype=np.int64)
        self.head = np.full(members, -1, dtype=np.int64)
        self._member = np.arange(members)

    def choose(self, sight: Sight) -> np.ndarray:
        task = int(np.argmin(self.heads.explorers))
        value = sight.values()[task].max(axis=1).astype(np.float64)
        old = self.age >= self.steps
        chances = self.homeostasis.chances(np.where(old, self._discrepancy(value), 0.0), old)
        switches = self.heads.uniform(sight.step, 0) < chances
        explores = (self.head >= 0) & self.heads.explorers[self.head]
        drawn = self.heads.draw_among(explores ^ switches, self.heads.uniform(sight.step, 1))
        self.head[:] = np.where(switches | (self.head < 0), drawn, self.head)
        self.values[self._member, self.age % self.steps] = value
        return self.head

    def _discrepancy(self, value: np.ndarray) -> np.ndarray:
        """Return |promised - received| (P,); the ring's slot that is written next holds the oldest step."""
        received = value.copy()
        for back in range(1, int(self.steps.max()) + 1):
            reward = self.rewards[self._member, (self.age - back) % self.steps]
            received = np.where(back <= self.steps, reward + self.discount * received, received)
        return np.asarray(np.abs(self.values[self._member, self.age % self.steps] - received))

    def observe(self, reward: np.ndarray, ended: np.ndarray, returns: np.ndarray) -> None:
        self.rewards[self._member, self.age % self.steps] = reward
        self.age[:] = np.where(ended, 0, self.age + 1)

    def state(self) -> dict[str, np.ndarray]:
        means = {name: getattr(self.homeostasis, name) for name in ("count", "mean", "variance", "level")}
        return {"head": self.head, "age": self.age, "values": self.values, "rewards": self.rewards, **means}
