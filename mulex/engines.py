"""Which engine trains a pack."""

from typing import Protocol

import numpy as np

from mulex.config import RunConfig
from mulex.errors import UserError

ENGINES = ("auto", "torch")

Row = dict[str, float | int | None]


class Engine(Protocol):
    """Trains P runs of one shape together, an iteration at a time."""

    name: str
    iterations: int
    updates: int

    def iterate(self) -> list[Row]:
        """Train for one iteration, then evaluate: one row a member."""

    def save(self) -> dict[str, np.ndarray]:
        """Everything that changes, as arrays."""

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Take what `save` gave; what follows is bit for bit what would have followed there."""

    def weights(self, p: int) -> dict[str, np.ndarray]:
        """The weights of one member, by name."""

    def close(self) -> None:
        """Let go of what it holds."""


def make_engine(name: str, device: str, runs: list[RunConfig]) -> Engine:
    """`auto` takes the fastest engine that serves these runs."""
    if name not in ENGINES:
        raise UserError(f"engine: got {name!r}, allowed is one of {', '.join(ENGINES)}")
    import torch

    from mulex.torch_engine import TorchEngine

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"device: got {device!r}, but torch cannot use it here ({reason}); use cpu") from None
    return TorchEngine(runs, device)
