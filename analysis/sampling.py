"""Which runs are analysed where a sweep has too many: all seeds of evenly spaced draws."""

import math
from dataclasses import dataclass

import pandas as pd

from mulex.store.roles import TEST

MOST_RUNS = 20_000
"""Statistics and figures are made of at most about so many runs."""


@dataclass(frozen=True)
class Sampling:
    """How many runs were taken of how many, and of which draws."""

    runs: int
    of: int
    every: int

    def __str__(self) -> str:
        which = f"draws 0, {self.every}, {2 * self.every} and so on of each method"
        return f"{self.runs:,} of {self.of:,} runs are analysed: {which}, and all test runs"


def sample_draws(runs: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the runs of every n-th draw, all test runs, and n; all runs, and 1, where they are few enough."""
    every = math.ceil(len(runs) / MOST_RUNS)
    if every == 1:
        return runs, 1
    kept = (runs["draw"] % every == 0) | (runs["role"] == TEST)
    return runs[kept].reset_index(drop=True), every
