"""Greedy evaluation: the mean return of whole episodes. Nothing goes to the replay."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mulex.worlds.interface import Worlds

GreedyActions = Callable[[np.ndarray], np.ndarray]  # stacks (P, C, D) to actions (P,)


@dataclass(frozen=True)
class Evaluation:
    """Means over a member's evaluation episodes."""

    mean_return: np.ndarray  # (P,) float64
    mean_length: np.ndarray  # (P,) float64


class Stacks:
    """The last C records of each member (P, C, D). At the start of an episode all are its first record."""

    def __init__(self, first: np.ndarray, stack: int) -> None:
        self.records = np.repeat(first[:, None], stack, axis=1)

    def push(self, record: np.ndarray) -> None:
        """Append a record (P, D) to every stack."""
        self.records[:, :-1] = self.records[:, 1:]
        self.records[:, -1] = record

    def begin(self, who: np.ndarray, record: np.ndarray) -> None:
        """Fill the stacks of the members of a mask (P,) with the first record of their new episode."""
        self.records[who] = record[who, None]


def evaluate(worlds: Worlds, act: GreedyActions, stack: int, least_steps: int) -> Evaluation:
    """Evaluate on one episode if all episodes are equal, else on whole episodes until the step budget is reached."""
    if worlds.repeats:
        return _one_episode(worlds, act, stack)
    return _many_episodes(worlds, act, stack, least_steps)


def _one_episode(worlds: Worlds, act: GreedyActions, stack: int) -> Evaluation:
    """Play one episode. A policy that meets a stack again is in a loop without reward, so it is stopped there."""
    stacks = Stacks(worlds.observe(), stack)
    members = len(stacks.records)
    total, length = np.zeros(members), np.zeros(members)
    running = np.ones(members, dtype=bool)
    met: list[set[bytes]] = [set() for _ in range(members)]
    while True:
        for p in np.nonzero(running)[0]:
            seen = stacks.records[p].tobytes()
            if seen in met[p]:
                running[p] = False
                length[p] = worlds.time_limit
            met[p].add(seen)
        if not running.any():
            return Evaluation(total, length)
        outcome = worlds.step(act(stacks.records))
        total += outcome.reward * running
        length += running
        running &= ~(outcome.terminal | outcome.truncated)
        stacks.push(worlds.observe())


def _many_episodes(worlds: Worlds, act: GreedyActions, stack: int, least_steps: int) -> Evaluation:
    """Play until every member has used up its own step budget; members that are done wait for the others."""
    stacks = Stacks(worlds.observe(), stack)
    members = len(stacks.records)
    total, steps, episodes = np.zeros(members), np.zeros(members), np.zeros(members)
    running = np.ones(members, dtype=bool)
    while running.any():
        outcome = worlds.step(act(stacks.records))
        total += outcome.reward * running
        steps += running
        ended = outcome.terminal | outcome.truncated
        episodes += ended & running
        running &= ~(ended & (steps >= least_steps))
        stacks.push(worlds.observe())
        if ended.any():
            worlds.restart(ended)
            stacks.begin(ended, worlds.observe())
    return Evaluation(total / episodes, steps / episodes)
