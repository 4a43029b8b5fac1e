"""What each head learns from: its kind of batch and its reward. Imports no torch."""

from dataclasses import dataclass

import numpy as np

from mulex.config import GridWorldConfig, RunConfig
from mulex.errors import UserError
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.learners.dqn.head_kinds import HEAD_KINDS
from mulex.worlds.interface import Worlds

SMALLEST_LIMIT = 1e-3  # of a value limit that is computed, so that atoms of a signal without weight differ
SMALLEST_LOSS = 1e-10  # keeps every priority positive


@dataclass(frozen=True)
class Source:
    """A kind of batch, and the heads that learn from it."""

    heads: tuple[int, ...]
    prioritised: bool
    n_step: int


def sources_of(run: RunConfig) -> list[Source]:
    """List a run's sources, prioritised ones first: heads that learn from the same kind of batch share one."""
    heads: dict[tuple[bool, int], list[int]] = {}
    for h, name in enumerate(run.recipe.heads):
        kind = HEAD_KINDS[kind_of(run, name)]
        heads.setdefault((kind.prioritised, run.training.n_step if kind.multi_step else 1), []).append(h)
    kinds = sorted(heads, key=lambda kind: not kind[0])
    return [Source(tuple(heads[prioritised, n]), prioritised, n) for prioritised, n in kinds]


def kind_of(run: RunConfig, head: str) -> str:
    """Return the name of a head's kind: its own, or the training's."""
    own = run.recipe.heads[head].flavour
    return run.training.flavour if own == "training" else own


def value_limits(runs: list[RunConfig], head: str, worlds: Worlds) -> list[float]:
    """Return the value limit of a head for each member: a number of the settings, or what its reward can come to."""
    own = runs[0].recipe.heads[head].value_limit
    limit = runs[0].training.value_limit if own is None else own
    if limit != "auto":
        return [limit] * len(runs)
    return [sum(_bound(run, signal, w, worlds) for signal, w in run.recipe.heads[head].reward.items()) for run in runs]


def _bound(run: RunConfig, signal: str, weight: float | str, worlds: Worlds) -> float:
    """Return the largest size of the discounted sum of one signal of a head's reward."""
    for_ever = 1 / (1 - run.discount)
    if signal == "task" and isinstance(run.world, GridWorldConfig) and worlds.ideal_return is not None:
        most = worlds.ideal_return  # every reward is collected once
    elif signal == "task":
        largest = run.training.reward_clip
        if largest is None:
            raise UserError("value_limit: auto needs bounded rewards; set reward_clip, or give value_limit as a number")
        most = largest * for_ever
    elif (largest := BONUSES[signal].largest) is not None:
        most = largest * for_ever
    else:
        raise UserError(f"value_limit: auto needs bounded rewards, and {signal} has no bound; give it as a number")
    return max(abs(run.weight(weight)) * most, SMALLEST_LIMIT)


def reward_weights(runs: list[RunConfig]) -> np.ndarray:
    """Return the weight of each signal in each head's reward, the task first, then the bonuses: (P, H, signals)."""
    signals = ("task", *runs[0].recipe.signals)
    weights = [
        [[run.weight(head.reward.get(name, 0.0)) for name in signals] for head in run.recipe.heads.values()]
        for run in runs
    ]
    return np.array(weights, dtype=np.float32)
