"""Shortest paths and an optimal policy, found by search on the tables."""

import numpy as np

from mulex.worlds.tables import ACTIONS, Tables


def distances_from_start(tables: Tables) -> np.ndarray:
    """Return the fewest steps from the start to each state: (S,) int64."""
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
    """Return the fewest steps of an episode that ends at the exit with this return; None if there is none."""
    ends = np.arange(tables.live, len(tables.next_state))
    returns = np.bitwise_count(tables.items[ends]) + 1
    lengths = distances_from_start(tables)[ends[returns == total]]
    return int(lengths.min()) if len(lengths) else None


def optimal_actions(tables: Tables) -> np.ndarray:
    """Return, for each state, the first action of a shortest path with the highest return: (S,) int64."""
    value = np.zeros(len(tables.next_state))
    step_cost = 1.0 / (1 + ACTIONS * len(value))  # so small that a detour for a reward always pays
    while True:
        after = np.where(tables.terminal, 0.0, value[tables.next_state])
        best = (tables.reward - step_cost + after).max(axis=1)
        best[tables.live :] = 0.0
        if np.array_equal(best, value):
            return np.asarray((tables.reward - step_cost + after).argmax(axis=1))
        value = best
