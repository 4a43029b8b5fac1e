"""`importance`: each hyperparameter's share in reaching the best tenth of the draws, by Optuna's PED-ANOVA."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.importance import PedAnovaImportanceEvaluator

from analysis.chart import Axis, Bars, Chart, Mark, Panel
from analysis.columns import category_name, is_category, varied
from analysis.errors import NotApplicableError
from analysis.figures.common import is_log, world_title
from analysis.labels import USUAL, Labels, display_name
from analysis.tables import Tables

FEWEST = 10
"""With fewer draws of a method than this, the best tenth is less than one draw."""


@dataclass(frozen=True)
class Importance:
    """The shares of one method's hyperparameters, which sum to 1."""

    world: str
    method: str
    shares: dict[str, float]


def compute(tables: Tables) -> list[Importance]:
    """Compute the shares of every method with several hyperparameters and enough draws."""
    found = []
    for world, method, runs in tables.groups():
        names = varied(runs, tables.hyperparameters)
        draws = runs.groupby("draw")[names].first().assign(score=runs.groupby("draw")["score"].mean())
        names = [name for name in names if draws[name].notna().sum() >= FEWEST and draws[name].nunique() > 1]
        if len(names) > 1:
            found.append(Importance(world, method, _shares(draws, names)))
    if not found:
        raise NotApplicableError(
            f"importance: needs a method with at least {FEWEST} finished draws of two hyperparameters or more"
        )
    return found


def _shares(draws: pd.DataFrame, names: list[str]) -> dict[str, float]:
    """Return the share of each hyperparameter.

    One that exists only under a condition is judged by the draws that have it, and counts by their number.
    """
    together: dict[tuple[bool, ...], list[str]] = {}
    for name in names:
        together.setdefault(tuple(draws[name].notna()), []).append(name)
    found = {
        name: share * len(draws[list(has)]) / len(draws)
        for has, group in together.items()
        for name, share in _importances(draws[list(has)], group).items()
    }
    total = sum(found.values())
    return {name: found[name] / total if total else 1 / len(names) for name in names}


def _importances(draws: pd.DataFrame, names: list[str]) -> dict[str, float]:
    """Run PED-ANOVA on an Optuna study made of draws that all have these hyperparameters."""
    ranges = {name: _range(draws[name]) for name in names}
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(direction="maximize")
        study.add_trials([_trial(row, ranges) for row in draws.to_dict("records")])
        shares = PedAnovaImportanceEvaluator().evaluate(study)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return {name: float(shares[name]) for name in names}


def _range(values: pd.Series) -> BaseDistribution:
    """Return what a hyperparameter is drawn from; few different numbers are categories, for they have no density."""
    if is_category(values):
        return CategoricalDistribution(sorted({category_name(value) for value in values}))
    if values.nunique() < FEWEST:
        return CategoricalDistribution(sorted({float(value) for value in values}))
    return FloatDistribution(float(values.min()), float(values.max()), log=is_log(values))


def _trial(row: Mapping[Any, Any], ranges: dict[str, BaseDistribution]) -> optuna.trial.FrozenTrial:
    values = {
        name: category_name(row[name]) if isinstance(row[name], str | bool) else float(row[name]) for name in ranges
    }
    return optuna.trial.create_trial(params=values, distributions=dict(ranges), value=float(row["score"]))


def chart(tables: Tables, data: list[Importance], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each world, with a horizontal bar for each hyperparameter of each method."""
    panels = [
        _panel(world_title(tables, world, labels), [item for item in data if item.world == world])
        for world in dict.fromkeys(item.world for item in data)
    ]
    caption = "Each hyperparameter's share of importance for reaching a method's best tenth of draws (PED-ANOVA)."
    series = labels.series(tables.methods)
    return Chart("importance", "Importance of hyperparameters", caption, series, panels, same_y=False)


def _panel(title: str, items: list[Importance]) -> Panel:
    """List each method's hyperparameters from the top, the most important first, with a gap between methods."""
    marks: list[Mark] = []
    ticks: list[tuple[float, str]] = []
    top = 0.0
    for item in items:
        ordered = sorted(item.shares, key=lambda name: -item.shares[name])
        positions = top + np.arange(len(ordered))
        ticks += [(float(at), display_name(name)) for at, name in zip(positions, ordered, strict=True)]
        marks.append(Bars(item.method, positions, np.array([item.shares[name] for name in ordered]), 0.75))
        top += len(ordered) + 0.6
    y = Axis(ticks=ticks, limits=(top - 0.9, -0.7))
    return Panel(Axis("Share of importance", limits=(0.0, 1.0)), y, marks, title)
