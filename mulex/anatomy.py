"""What the agent of a run is made of: its network's shape, and what each head learns from. Imports no torch."""

from dataclasses import dataclass

import numpy as np

from mulex.config import RunConfig
from mulex.network_shape import BODIES, NetworkShape
from mulex.worlds.interface import Worlds

SMALLEST_LOSS = 1e-10  # keeps every priority positive


@dataclass(frozen=True)
class Source:
    """A kind of batch, and the heads that learn from it."""

    heads: tuple[int, ...]
    prioritised: bool
    n_step: int


def sources_of(run: RunConfig) -> list[Source]:
    """Plain heads learn from even batches of one step, Rainbow heads from prioritised batches of n steps."""
    rainbow = [is_rainbow(run, name) for name in run.recipe.heads]
    plain_heads = tuple(h for h, flag in enumerate(rainbow) if not flag)
    rainbow_heads = tuple(h for h, flag in enumerate(rainbow) if flag)
    both = [Source(rainbow_heads, True, run.training.n_step), Source(plain_heads, False, 1)]
    return [source for source in both if source.heads]


def is_rainbow(run: RunConfig, head: str) -> bool:
    """Whether a head gives a distribution over atoms."""
    return run.training.flavour == "rainbow" and run.recipe.heads[head].flavour == "training"


def uses_adam(run: RunConfig) -> bool:
    training = run.training
    return training.optimiser == "adam" or (training.optimiser == "auto" and training.flavour == "rainbow")


def frames_of_stack(run: RunConfig, worlds: Worlds) -> int:
    return run.training.stack or (1 if len(worlds.frame_shape) == 1 else 4)


def picture_shape(worlds: Worlds, stack: int, flat: bool) -> tuple[int, int, int]:
    """Rows, columns and channels of the network's input; flat makes every number a channel."""
    shape = worlds.frame_shape
    if flat or len(shape) == 1:
        return 1, 1, int(np.prod(shape)) * stack
    return shape[0], shape[1], stack * (shape[2] if len(shape) == 3 else 1)


def network_shape(run: RunConfig, worlds: Worlds, stack: int) -> NetworkShape:
    """The network for what is seen: convolutions for pictures, a dense layer for flat observations."""
    body = run.training.body
    if body == "auto":
        flat = len(worlds.frame_shape) == 1
        textured = getattr(run.world, "textured", False)
        body = "mlp" if flat else "textured" if textured else "conv"
    picture = picture_shape(worlds, stack, body == "mlp")
    outputs = [worlds.actions * (run.training.atoms if is_rainbow(run, name) else 1) for name in run.recipe.heads]
    return NetworkShape(picture, BODIES[body], run.training.padding == "same", run.training.hidden, outputs)


def reward_weights(runs: list[RunConfig]) -> np.ndarray:
    """(P, H, signals): what each head's reward is made of, the task's share first, then the bonuses'."""
    signals = ("task", *runs[0].recipe.signals)
    weights = [
        [[run.weight(head.reward.get(name, 0.0)) for name in signals] for head in run.recipe.heads.values()]
        for run in runs
    ]
    return np.array(weights, dtype=np.float32)
