"""Who acts at each step of an iteration, and where it acts at random: drawn ahead, from the members' streams.

A head's number of steps is geometric with parameter 1 - gamma_steps, which is the same as going on with probability
gamma_steps after each step; so every step has its own numbers, and a schedule needs no memory but the last head.
"""

from dataclasses import dataclass

import numpy as np

from mulex.config import MethodConfig, RunConfig
from mulex.streams import below, stream_keys, uniforms, words

GREEDY = -1


@dataclass(frozen=True)
class Acting:
    """What every member does at the T steps of an iteration."""

    head: np.ndarray  # (T, P) int64: the acting head
    forced: np.ndarray  # (T, P) int64: a random action, or GREEDY


class Schedule:
    """The acting rule of a method, for P members."""

    def __init__(self, runs: list[RunConfig], actions: int) -> None:
        recipe, training = runs[0].recipe, runs[0].training
        ids = [run.run_id for run in runs]
        self.acting_keys = stream_keys(ids, "acting")
        self.switching_keys = stream_keys(ids, "switching")
        self.epsilon = np.array([run.values["epsilon"] for run in runs])
        self.stay = np.array([run.weight(recipe.acting.gamma_steps) for run in runs])
        self.cumulative = np.cumsum([head_probabilities(run) for run in runs], axis=1)  # (P, H)
        self.actions = actions
        self.warm_up = training.warm_up
        self.decay = training.epsilon_decay_steps

    def draw(self, first_step: int, steps: int, last_head: np.ndarray) -> Acting:
        """The acting of the steps from `first_step` on; `last_head` (P,) acted before them."""
        places = np.arange(first_step, first_step + steps)[:, None]  # (T, 1)
        return Acting(self._heads(places, last_head), self._forced(places))

    def _heads(self, places: np.ndarray, last_head: np.ndarray) -> np.ndarray:
        switches = uniforms(self.switching_keys, 2 * places) >= self.stay  # (T, P)
        switches |= places == 0
        drawn = uniforms(self.switching_keys, 2 * places + 1)[..., None]
        picked = (drawn >= self.cumulative[:, :-1]).sum(axis=2)
        since = np.maximum.accumulate(np.where(switches, np.arange(len(places))[:, None], -1), axis=0)
        return np.where(since < 0, last_head, np.take_along_axis(picked, np.maximum(since, 0), axis=0))

    def _forced(self, places: np.ndarray) -> np.ndarray:
        explores = uniforms(self.acting_keys, 2 * places) < self._epsilon_at(places)
        random_action = below(words(self.acting_keys, 2 * places + 1), self.actions)
        return np.where(explores | (places < self.warm_up), random_action, GREEDY)

    def _epsilon_at(self, places: np.ndarray) -> np.ndarray:
        if not self.decay:
            return self.epsilon
        left = np.clip(1 - (places - self.warm_up) / self.decay, 0, 1)
        return self.epsilon + (1 - self.epsilon) * left


def head_probabilities(run: RunConfig) -> list[float]:
    """(H,): how likely each head is drawn; heads without a probability share what the others leave."""
    recipe: MethodConfig = run.recipe
    named = {head: run.weight(value) for head, value in recipe.acting.probabilities.items()}
    rest = 1 - sum(named.values())
    others = [head for head in recipe.heads if head not in named]
    return [named.get(head, rest / max(1, len(others))) for head in recipe.heads]
