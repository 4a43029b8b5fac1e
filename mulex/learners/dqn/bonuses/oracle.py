"""The oracle: exact counts of the states of a grid world."""

import numpy as np

from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.learners.dqn.bonuses.counts import StateBonus
from mulex.worlds.interface import Worlds


class OracleBonus(StateBonus):
    """Counts visits of every state exactly."""

    def __init__(self, members: int, states: int) -> None:
        super().__init__(members, np.arange(states, dtype=np.int32))


def make_oracle(worlds: Worlds, runs: list[RunConfig], device: str) -> OracleBonus:
    """Make the oracle of a grid world.

    Raises:
        UserError: if the states of the worlds cannot be counted.
    """
    if worlds.states is None:
        raise UserError("bonus oracle: this world's states cannot be counted; use simhash, or a grid world")
    return OracleBonus(len(runs), worlds.states)
