"""Which head acts at each step of an iteration, and which actions are random: drawn in advance for all steps.

The number of steps that a head acts is geometric with parameter 1 - gamma_steps. Equivalently, the head keeps acting
with probability gamma_steps after each step. So every step has its own random numbers, and the only state that is
carried from one iteration to the next is the last head. Random actions that are repeated (epsilon-z-greedy, Dabney et
al. 2021) also carry the present action and its last step.
"""

from dataclasses import dataclass

import numpy as np

from mulex.config import MethodConfig, RunConfig
from mulex.streams import below, stream_keys, uniforms, words

GREEDY = -1
ZETA = 2.0  # the paper's mu: a random action is repeated n times with a probability that falls as n^-2
LONGEST_REPEAT = 10_000


@dataclass(frozen=True)
class Acting:
    """The acting head and the random actions of every member at the T steps of an iteration."""

    head: np.ndarray  # (T, P) int64: the acting head
    forced: np.ndarray  # (T, P) int64: a random action, or GREEDY


class Schedule:
    """The acting rule of a method, for P members."""

    def __init__(self, runs: list[RunConfig], actions: int) -> None:
        recipe, training = runs[0].recipe, runs[0].training
        ids = [run.stream_id for run in runs]
        self.acting_keys = stream_keys(ids, "acting")
        self.switching_keys = stream_keys(ids, "switching")
        self.epsilon = np.array([run.weight("epsilon") for run in runs])
        self.stay = np.array([run.weight(recipe.acting.gamma_steps) for run in runs])
        self.cumulative = np.cumsum([head_probabilities(run) for run in runs], axis=1)  # (P, H)
        self.actions = actions
        self.warm_up = training.warm_up
        self.decay = training.epsilon_decay_steps
        self.repeats = recipe.acting.random == "repeat"
        self.repeated = np.zeros(len(runs), dtype=np.int64)  # the action that is repeated
        self.repeated_until = np.zeros(len(runs), dtype=np.int64)  # the first step after it
        self._repeating_keys = stream_keys(ids, "repeating")

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays that change from one iteration to the next."""
        if not self.repeats:
            return {}
        return {"repeated": self.repeated, "repeated_until": self.repeated_until}

    def draw(self, first_step: int, steps: int, last_head: np.ndarray) -> Acting:
        """Draw the acting of `steps` steps from `first_step` on; `last_head` (P,) acted before them."""
        step = np.arange(first_step, first_step + steps)[:, None]  # (T, 1)
        return Acting(self._heads(step, last_head), self._forced(step))

    def _heads(self, step: np.ndarray, last_head: np.ndarray) -> np.ndarray:
        switches = uniforms(self.switching_keys, 2 * step) >= self.stay  # (T, P)
        switches |= step == 0
        drawn = uniforms(self.switching_keys, 2 * step + 1)[..., None]
        picked = (drawn >= self.cumulative[:, :-1]).sum(axis=2)
        since = np.maximum.accumulate(np.where(switches, np.arange(len(step))[:, None], -1), axis=0)
        return np.where(since < 0, last_head, np.take_along_axis(picked, np.maximum(since, 0), axis=0))

    def _forced(self, step: np.ndarray) -> np.ndarray:
        explores = uniforms(self.acting_keys, 2 * step) < self._epsilon_at(step)
        random_action = below(words(self.acting_keys, 2 * step + 1), self.actions)
        forced = np.where(explores | (step < self.warm_up), random_action, GREEDY)
        if self.repeats:
            lengths = repeat_lengths(uniforms(self._repeating_keys, step))
            for p in range(forced.shape[1]):
                self._repeat(p, forced[:, p], lengths[:, p], step[:, 0])
        return forced

    def _repeat(self, p: int, forced: np.ndarray, lengths: np.ndarray, step: np.ndarray) -> None:
        """Write the repeats of a member's random actions to `forced`; during a repeat no other action is drawn."""
        first = int(step[0])
        drawn = np.nonzero((forced != GREEDY) & (step >= self.warm_up))[0]
        begin = max(0, int(self.repeated_until[p]) - first)
        forced[:begin] = self.repeated[p]
        for t in drawn.tolist():
            if t >= begin:
                begin = t + int(lengths[t])
                self.repeated[p], self.repeated_until[p] = forced[t], first + begin
                forced[t:begin] = forced[t]

    def _epsilon_at(self, step: np.ndarray) -> np.ndarray:
        if not self.decay:
            return self.epsilon
        left = np.clip(1 - (step - self.warm_up) / self.decay, 0, 1)
        return self.epsilon + (1 - self.epsilon) * left


def repeat_lengths(uniform: np.ndarray) -> np.ndarray:
    """Map numbers in [0, 1) to zeta-distributed lengths from 1 to LONGEST_REPEAT."""
    return np.searchsorted(_ZETA_CUMULATIVE, uniform, side="right") + 1


def _zeta_cumulative() -> np.ndarray:
    weights = np.arange(1, LONGEST_REPEAT + 1, dtype=np.float64) ** -ZETA
    cumulative = np.cumsum(weights / weights.sum())
    cumulative[-1] = 1.0
    return cumulative


_ZETA_CUMULATIVE = _zeta_cumulative()


def head_probabilities(run: RunConfig) -> list[float]:
    """Return the probability (H,) of each head; heads without one share the rest equally."""
    recipe: MethodConfig = run.recipe
    named = {head: run.weight(value) for head, value in recipe.acting.probabilities.items()}
    rest = 1 - sum(named.values())
    others = [head for head in recipe.heads if head not in named]
    return [named.get(head, rest / max(1, len(others))) for head in recipe.heads]
