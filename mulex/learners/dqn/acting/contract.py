"""What an acting rule is: it chooses the acting heads of P members before every step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mulex.config import RunConfig
from mulex.learners.dqn.acting.registry import RULES
from mulex.learners.dqn.acting.schedule import head_probabilities
from mulex.streams import stream_keys, uniforms


@dataclass(frozen=True)
class Sight:
    """What a rule can look at before a step. The functions compute only when they are called."""

    step: int  # the number of training steps before it
    values: Callable[[], np.ndarray]  # the Q-values (H, P, A)
    bonus: Callable[[], np.ndarray]  # the present bonuses (P,) of what the members see


class Rule(Protocol):
    """Chooses the acting heads of P members; members never mix."""

    def choose(self, sight: Sight) -> np.ndarray:
        """Return the heads (P,) int64 that act at the next step."""

    def observe(self, reward: np.ndarray, ended: np.ndarray, returns: np.ndarray) -> None:
        """Take note of a step: the task's rewards, whether the episodes ended, and their returns so far, all (P,)."""

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays that change; loading a checkpoint writes to them."""


def make_rule(runs: list[RunConfig]) -> Rule | None:
    """Make the rule of a pack; None if all heads can be drawn in advance."""
    entry = RULES[runs[0].recipe.acting.rule]
    if not entry.where:
        return None
    rule: Rule = entry.load()(runs)
    return rule


class Heads:
    """Draws heads by their probabilities, among all heads or among explorers or the others only."""

    def __init__(self, runs: list[RunConfig]) -> None:
        self.explorers = np.array(runs[0].recipe.explorers)  # (H,)
        self.probabilities = np.array([head_probabilities(run) for run in runs])  # (P, H)
        self._keys = stream_keys([run.stream_id for run in runs], "switching")

    def uniform(self, step: int, which: int) -> np.ndarray:
        """Return one of the two random numbers (P,) of a step; the first is for whether to switch."""
        return uniforms(self._keys, np.array([2 * step + which]))

    def draw(self, uniform: np.ndarray) -> np.ndarray:
        """Draw among all heads."""
        return self._draw(uniform, self.probabilities)

    def draw_among(self, explorer: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Draw among the explorers where the mask (P,) is true, and among the other heads elsewhere."""
        mask = self.explorers[None] == explorer[:, None]  # (P, H)
        weights = self.probabilities * mask
        return self._draw(uniform, np.where(weights.sum(axis=1, keepdims=True) > 0, weights, mask))

    def _draw(self, uniform: np.ndarray, weights: np.ndarray) -> np.ndarray:
        cumulative = np.cumsum(weights, axis=1)
        return (uniform[:, None] * cumulative[:, -1:] >= cumulative[:, :-1]).sum(axis=1)
