"""The native engine, as built from mulex/learners/dqn/native."""

from typing import Any

import numpy as np

def instruction_sets() -> list[str]:
    """List the instruction sets that this processor can run, the fastest first."""

class Trainer:
    """One engine for the members of a pack; module.cpp checks its arguments."""

    def __init__(self, settings: dict[str, Any], world: dict[str, Any], instructions: str) -> None: ...
    def train(self, member: dict[str, Any], head: np.ndarray, forced: np.ndarray) -> dict[str, Any]:
        """Train through a schedule (T,), whose heads a rule writes; returns sums over its steps."""

    def evaluate(self, member: dict[str, Any], head: int, ghost_key: int) -> tuple[float, float]:
        """Return the mean return and length of a head's greedy episodes."""

    def values(self, member: dict[str, Any], head: int, stack: np.ndarray) -> np.ndarray:
        """Return the Q-values (A,) for a stack (C, D) int32."""

    @property
    def work(self) -> dict[str, int]:
        """Counts of the work done and saved so far."""
