"""Helpers that several figures share."""

import numpy as np
import pandas as pd

from analysis.chart import Band, Mark
from analysis.labels import Labels
from analysis.tables import Tables

BANDS = 400
"""Bootstrap replicates for a band: fewer than for a table, since nobody sees the difference."""


def world_title(tables: Tables, world: str, labels: Labels) -> str:
    """Return a panel's title: the name of its world where the tables have several worlds."""
    return labels.world(world) if len(tables.worlds) > 1 else ""


def is_log(values: np.ndarray | pd.Series) -> bool:
    """Return whether a hyperparameter is easier to read on a logarithmic axis."""
    low, high = float(np.min(values)), float(np.max(values))
    return low > 0 and high / low >= 8


def method_ticks(methods: list[str], counts: dict[str, int], labels: Labels) -> list[tuple[float, str]]:
    """Return a tick for each method, with its name and its number of runs."""
    return [(float(i), f"{labels.method(method)}\nn = {counts.get(method, 0):,}") for i, method in enumerate(methods)]


def bands(series: str, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[Mark]:
    """Return the band of an interval over the part of x where there is one; nothing if it is known nowhere."""
    known = np.isfinite(low) & np.isfinite(high)
    return [Band(series, x[known], low[known], high[known])] if known.any() else []
