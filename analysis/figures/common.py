"""What several figures share."""

import numpy as np
import pandas as pd

from analysis.style import shown
from analysis.tables import Tables

BANDS = 400
"""Replicates for a band: fewer than for a table, the eye does not see the difference."""


def world_title(tables: Tables, world: str) -> str:
    """A panel names its world only where there are several."""
    return world if len(tables.worlds) > 1 else ""


def is_log(values: np.ndarray | pd.Series) -> bool:
    """Whether a hyperparameter is better seen on a logarithmic axis."""
    low, high = float(np.min(values)), float(np.max(values))
    return low > 0 and high / low >= 8


def method_ticks(methods: list[str], counts: dict[str, int]) -> list[tuple[float, str]]:
    """A place for each method, with its number of runs."""
    return [(float(i), f"{shown(method)}\nn = {counts.get(method, 0):,}") for i, method in enumerate(methods)]
