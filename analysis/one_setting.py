"""One setting for all worlds, and how many hyperparameters must be tuned for each world.

The setting is chosen as in the Cross-environment Hyperparameter Setting Benchmark (Patterson et al. 2024): scores are
normalised by the distribution of all runs' scores in their world. The effective dimensionality is that of Adkins et
al. (2024), which needs a grid of draws.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import REPLICATES, generator, interval
from analysis.columns import varied
from analysis.errors import NotApplicableError
from analysis.figures.sensitivity import normalised
from analysis.tables import Tables

ENOUGH = 0.95
"""The share of the performance tuned by world that the hyperparameters that count must reach together."""


@dataclass(frozen=True)
class AcrossWorlds:
    """A method's best setting for all worlds, with its score normalised by rank, and its effective dimensionality.

    The interval is that of the whole choice, over resampled draws. The dimension is None where draws are no grid.
    """

    method: str
    draw: int
    values: dict[str, Any]
    score: float
    low: float
    high: float
    by_world: dict[str, float]
    dimension: int | None
    hyperparameters: int

    def plain(self) -> dict[str, Any]:
        """Return it for JSON."""
        ends = {name: x if np.isfinite(x) else None for name, x in (("low", self.low), ("high", self.high))}
        values = {name: v.item() if isinstance(v, np.generic) else v for name, v in self.values.items()}
        return {**vars(self), "values": values, **ends}


def across_worlds(tables: Tables) -> list[AcrossWorlds]:
    """Choose each method's setting for all worlds, among the draws that are finished in every world.

    Raises:
        NotApplicableError: There is one world only, or no method has a draw that is finished in every world.
    """
    if len(tables.worlds) < 2:
        raise NotApplicableError("one_setting: needs several worlds, these runs have one")
    scored = tables.scored
    ranked = scored.assign(score=scored.groupby("world")["score"].rank(method="max", pct=True))
    unit = normalised(scored)
    found = [
        _of_method(tables, method, ranked[ranked["method"] == method], unit[unit["method"] == method])
        for method in tables.methods
    ]
    if not any(found):
        raise NotApplicableError("one_setting: no method has a draw that is finished in every world")
    return [one for one in found if one is not None]


def _of_method(tables: Tables, method: str, ranked: pd.DataFrame, unit: pd.DataFrame) -> AcrossWorlds | None:
    scores = ranked.pivot_table(index="draw", columns="world", values="score").dropna()
    if scores.empty or set(scores.columns) != set(tables.worlds):
        return None
    means = scores.mean(axis=1)
    draw = int(means.index[int(means.to_numpy().argmax())])
    picked = generator(0, "across worlds", method).integers(0, len(means), (REPLICATES, len(means)))
    low, high = interval(means.to_numpy()[picked].max(axis=1), len(means), level=tables.level)
    tried = tables.tuned[tables.tuned["method"] == method]
    names = varied(tried, tables.hyperparameters)
    first = ranked[ranked["draw"] == draw].iloc[0]
    values = {name: first[name] for name in names if pd.notna(first[name])}
    by_world = dict(
        zip(map(str, scores.columns), scores.to_numpy()[int(means.to_numpy().argmax())].tolist(), strict=True)
    )
    dimension = effective_dimension(unit, names, tried)
    return AcrossWorlds(
        method, draw, values, float(means.max()), float(low), float(high), by_world, dimension, len(names)
    )


def effective_dimension(runs: pd.DataFrame, names: list[str], tried: pd.DataFrame | None = None) -> int | None:
    """Return how many hyperparameters must be tuned by world for 95 % of the performance of tuning all of them.

    The others keep the values of the setting that is best on average. None unless the draws that were tried are a whole
    grid, since otherwise no two draws have the same values of those others.

    Args:
        runs: The scored runs of a method. All draws count as tuned for a world if they have a score there; where some
            hyperparameters are kept, only draws with a score in every world count.
        names: Its hyperparameters.
        tried: All its tuning runs, if some have no score.
    """
    settings = (runs if tried is None else tried).groupby("draw")[names].first()
    sizes = [settings[name].nunique(dropna=False) for name in names]
    if len(settings.drop_duplicates()) != np.prod(sizes):
        return None
    scores = runs.pivot_table(index="draw", columns="world", values="score").reindex(settings.index)
    tuned, whole = scores.max().mean(), scores.dropna()
    base = settings.loc[whole.index].iloc[int(whole.mean(axis=1).to_numpy().argmax())]
    same = pd.DataFrame({name: settings[name] == base[name] for name in names}).loc[whole.index]
    for size in range(len(names)):
        for kept in combinations(names, len(names) - size):
            if whole[same[list(kept)].all(axis=1)].max().mean() >= ENOUGH * tuned:
                return size
    return len(names)
