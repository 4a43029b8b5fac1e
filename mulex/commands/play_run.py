"""Turns a trained run into a policy to watch, or plays its episodes where there is nothing to watch."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mulex.commands.play_session import Policy
from mulex.learners.dqn.evaluation import Stacks
from mulex.learners.dqn.policy import Policy as TrainedPolicy
from mulex.learners.dqn.policy import find_policy, trusted_worlds
from mulex.worlds.make import make_worlds
from mulex.worlds.pack import WorldPack

_ONE = np.ones(1, dtype=bool)


def trained_policy(path: Path, trust: bool = False) -> tuple[TrainedPolicy, str | None]:
    """Read the policy of a policy or run file; returns it with a warning about the file, if there is one."""
    file, folder = find_policy(path)
    return file.policy(trusted_worlds(folder), trust), file.warning


def grid_policy(trained: TrainedPolicy) -> Policy:
    """Make a trained policy of a grid world playable."""
    stacks = Stacks(trained.worlds.observe(), trained.stack)

    def act(pack: WorldPack) -> np.ndarray:
        record = np.concatenate([pack.state[:, None], pack.ghosts], axis=1).astype(stacks.records.dtype)
        if pack.steps[0] == 0:
            stacks.begin(_ONE, record)
        else:
            stacks.push(record)
        return trained.actions(stacks.records)

    return act


def gymnasium_episodes(trained: TrainedPolicy, seed: int, episodes: int) -> Iterator[str]:
    """Play episodes of a trained policy in its Gymnasium environment; yields the summary of each."""
    worlds = make_worlds(trained.run.world, [f"play/{seed}"], "shown")
    try:
        for episode in range(episodes):
            if episode:
                worlds.restart(_ONE)
            stacks = Stacks(worlds.observe(), trained.stack)
            total, steps, ending = 0.0, 0, ""
            while not ending:
                outcome = worlds.step(trained.actions(stacks.records))
                stacks.push(worlds.observe())
                total, steps = total + float(outcome.reward[0]), steps + 1
                ending = "terminated" if outcome.terminal[0] else "time is up" if outcome.truncated[0] else ""
            yield f"return {total:g} in {steps} steps: {ending}"
    finally:
        worlds.close()
