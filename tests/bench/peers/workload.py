"""The workload that every subject runs: epsilon-greedy DQN on Montezuminha, w = 5, as the plain loop has it."""

from typing import Protocol

STEPS, EVALUATION_STEPS, PAPER_ITERATIONS = 2500, 1250, 800
UPDATES = 625  # an iteration
REPLAY_SIZE = 50_000  # of the peers that keep frames; ours and the JAX loop keep state ids
RMSPROP = {"alpha": 0.95, "eps": 1e-5, "centered": True}  # torch's own: epsilon is outside the square root


class Subject(Protocol):
    """Something that trains and evaluates, an iteration at a time."""

    def iteration(self) -> float:
        """Train for 2500 steps, then evaluate: the mean return of greedy episodes."""

    def counts(self) -> tuple[int, int, float]:
        """Updates so far, transitions in the replay, and the last loss."""
