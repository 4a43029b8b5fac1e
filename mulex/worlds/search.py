"""Exact answers by search on the tables: shortest ways, and an optimal policy."""

import numpy as np

from mulex.worlds.tables import ACTIONS, Tables


def distances_from_start(tables: Tables) -> np.ndarray:
    """(S,) int64: the fewest steps from the start to each state."""
    distance = np.full(len(tables.next_state), -1, dtype=np.int64)
    distance[0] = 0
    frontier = np.array([0])
    while len(frontier):
        after = np.unique(tables.next_state[frontier])
        steps = distance[frontier[0]] + 1
        frontier = after[distance[after] < 0]
        distance[frontier] = steps
    return distance


def shortest_way(tables: Tables, total: float) -> int | None:
    """The fewest steps of an episode that ends at the exit with this return; None if there is none."""
    ends = np.arange(tables.live, len(tables.next_state))
    returns = np.bitwise_count(tables.items[ends]) + 1
    lengths = distances_from_start(tables)[ends[returns == total]]
    return int(lengths.min()) if len(lengths) else None


def optimal_actions(tables: Tables) -> np.ndarray:
    """(S,) int64: the first action, in each state, of a shortest way among those with the highest return."""
    value = np.zeros(len(tables.next_state))
    step_cost = 1.0 / (1 + ACTIONS * len(value))  # so small that no detour for a reward is ever refused
    while True:
        after = np.where(tables.terminal, 0.0, value[tables.next_state])
        best = (tables.reward - step_cost + after).max(axis=1)
        best[tables.live :] = 0.0
        if np.array_equal(best, value):
            return np.asarray((tables.reward - step_cost + after).argmax(axis=1))
        value = best
