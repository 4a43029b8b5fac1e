"""What an engine is, and which of our DQN's two engines, native or torch, trains a pack."""

from typing import Protocol

import numpy as np

from mulex.config import ENGINES, RunConfig
from mulex.errors import UserError

Row = dict[str, float | int | None]
"""What an iteration of a run came to: one row of its curve."""


class Engine(Protocol):
    """Trains P runs of one shape together, one iteration at a time."""

    name: str
    iterations: int
    updates: int

    def iterate(self) -> list[Row]:
        """Train for one iteration, then evaluate; returns one row per member."""

    def save(self) -> dict[str, np.ndarray]:
        """Return the complete state as arrays."""

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state that `save` returned; training continues from it bit for bit."""

    def weights(self, p: int) -> dict[str, np.ndarray]:
        """Return the weights of one member, by name."""

    def close(self) -> None:
        """Close the worlds and release the memory."""


def make_engine(name: str, device: str, runs: list[RunConfig]) -> Engine:
    """Make the engine for runs of one shape; `auto` is the native engine where it can train them, else torch."""
    engine, _ = choose_engine(name, device, runs[0])
    try:
        return _native_engine(runs) if engine == "native" else _torch_engine(runs, device)
    except MemoryError as error:
        raise UserError(
            f"training: a pack of {len(runs)} such runs does not fit in memory ({error}); lower replay_size, hidden or "
            "batch_size, or train fewer runs in a pack"
        ) from None


def _native_engine(runs: list[RunConfig]) -> Engine:
    from mulex.learners.dqn.native.engine import NativeEngine

    return NativeEngine(runs)


def _torch_engine(runs: list[RunConfig], device: str) -> Engine:
    import torch

    from mulex.learners.dqn.torch.engine import TorchEngine

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"device: got {device!r}, but torch cannot use it here ({reason}); use cpu") from None
    try:
        return TorchEngine(runs, device)
    except RuntimeError as error:
        if "memory" not in str(error):
            raise
        raise MemoryError(str(error).splitlines()[0]) from None


def choose_engine(name: str, device: str, run: RunConfig) -> tuple[str, str]:
    """Return the name of the engine that trains a run, and the reason for it.

    Raises:
        UserError: if the native engine is asked for and cannot train the run.
    """
    if name not in ENGINES:
        raise UserError(f"engine: got {name!r}, allowed is one of {', '.join(ENGINES)}")
    if name == "torch":
        return "torch", "asked for"
    from mulex.learners.dqn.native.engine import instruction_sets, why_not

    reason = why_not(run)
    if reason is None and device != "cpu":
        reason = f"it runs on the cpu, not on {device}"
    if reason is None:
        return "native", f"with {instruction_sets()[0]} code"
    if name == "native":
        raise UserError(f"engine: native cannot train {run.method} in this world: {reason}; use auto or torch")
    return "torch", f"native cannot: {reason}"
