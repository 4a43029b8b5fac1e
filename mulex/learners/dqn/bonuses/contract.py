"""What a bonus is, and how one is made."""

from typing import Protocol

import numpy as np

from mulex.config import RunConfig
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.worlds.interface import Worlds


class Bonus(Protocol):
    """The novelty of what P members meet. A record is what the replay keeps of a frame (D numbers)."""

    def visit(self, record: np.ndarray) -> np.ndarray:
        """Take note of the records (P, D), then return their bonuses (P,) in float32."""

    def value(self, record: np.ndarray) -> np.ndarray:
        """Return the present bonuses (P, B) in float32 of records (P, B, D), and take note of nothing."""

    def save(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore the state that `save` returned."""


def make_bonus(name: str, worlds: Worlds, runs: list[RunConfig], device: str = "cpu") -> Bonus:
    """Make the bonus of that name for these worlds.

    Raises:
        UserError: if the worlds do not have what the bonus needs.
    """
    bonus: Bonus = BONUSES[name].load()(worlds, runs, device)
    return bonus
