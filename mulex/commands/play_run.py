"""A trained run as a policy to watch."""

from pathlib import Path

import numpy as np

from mulex.commands.play_session import Policy
from mulex.errors import UserError
from mulex.evaluation import Stacks
from mulex.policy import load_policy
from mulex.worlds.interface import GridWorlds
from mulex.worlds.pack import WorldPack
from mulex.worlds.world import World


def run_policy(path: Path) -> tuple[World, Policy]:
    """The world that a run was trained in, and its greedy policy there."""
    trained = load_policy(path)
    if not isinstance(trained.worlds, GridWorlds):
        raise UserError(f"{path}: trained in a Gymnasium environment; only grid worlds can be shown")
    stacks = Stacks(trained.worlds.observe(), trained.stack)

    def act(pack: WorldPack) -> np.ndarray:
        record = np.concatenate([pack.state[:, None], pack.ghosts], axis=1).astype(stacks.records.dtype)
        if pack.steps[0] == 0:
            stacks.begin(np.ones(1, dtype=bool), record)
        else:
            stacks.push(record)
        return trained.actions(stacks.records)

    return trained.worlds.world, act
