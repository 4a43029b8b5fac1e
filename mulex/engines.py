"""Which engine trains a pack."""

from typing import Protocol

import numpy as np

from mulex.config import RunConfig
from mulex.errors import UserError

ENGINES = ("auto", "native", "torch")

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
    """`auto` takes the native engine where it serves these runs, and torch elsewhere."""
    engine, _ = choose_engine(name, device, runs[0])
    if engine == "native":
        from mulex.native_engine import NativeEngine

        return NativeEngine(runs)
    import torch

    from mulex.torch_engine import TorchEngine

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"device: got {device!r}, but torch cannot use it here ({reason}); use cpu") from None
    return TorchEngine(runs, device)


def choose_engine(name: str, device: str, run: RunConfig) -> tuple[str, str]:
    """The engine that trains a run, and why; native where it cannot be is the user's mistake."""
    if name not in ENGINES:
        raise UserError(f"engine: got {name!r}, allowed is one of {', '.join(ENGINES)}")
    if name == "torch":
        return "torch", "asked for"
    from mulex.native_engine import instruction_sets, why_not

    reason = why_not(run)
    if reason is None and device != "cpu":
        reason = f"it runs on the cpu, not on {device}"
    if reason is None:
        return "native", f"with {instruction_sets()[0]} code"
    if name == "native":
        raise UserError(f"engine: native cannot train {run.method} in this world: {reason}; use auto or torch")
    return "torch", f"native cannot: {reason}"
