"""`importance`: each hyperparameter's share in reaching the best tenth of the draws, by Optuna's PED-ANOVA."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
import pandas as pd
from optuna.distributions import FloatDistribution
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

from analysis.chart import Axis, Bars, Chart, Mark, Panel
from analysis.columns import varied
from analysis.errors import NotApplicableError
from analysis.figures.common import is_log, world_title
from analysis.style import shown
from analysis.tables import Tables

FEWEST = 10
"""Draws of a method below which the best tenth is less than one draw."""


@dataclass(frozen=True)
class Importance:
    """The shares of one method's hyperparameters, which add up to 1."""

    world: str
    method: str
    shares: dict[str, float]


def compute(tables: Tables) -> list[Importance]:
    """For every method with several hyperparameters and enough draws."""
    found = []
    for world, method, runs in tables.groups():
        names = varied(runs.drop(columns=["score"]))
        draws = runs.groupby("draw")[[*names, "score"]].mean().dropna()
        if len(names) > 1 and len(draws) >= FEWEST:
            found.append(Importance(world, method, _shares(draws, names)))
    if not found:
        raise NotApplicableError(
            f"importance: needs a method with at least {FEWEST} finished draws of two hyperparameters or more"
        )
    return found


def _shares(draws: pd.DataFrame, names: list[str]) -> dict[str, float]:
    """PED-ANOVA on a study that is made of these draws."""
    ranges = {
        name: FloatDistribution(float(draws[name].min()), float(draws[name].max()), log=is_log(draws[name]))
        for name in names
    }
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(direction="maximize")
        study.add_trials([_trial(row, ranges) for row in draws.to_dict("records")])
        shares = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    finally:
        optuna.logging.set_verbosity(verbosity)
    return {name: float(shares[name]) for name in names}


def _trial(row: Mapping[Any, Any], ranges: dict[str, FloatDistribution]) -> optuna.trial.FrozenTrial:
    values = {name: float(row[name]) for name in ranges}
    return optuna.trial.create_trial(params=values, distributions=dict(ranges), value=float(row["score"]))


def chart(tables: Tables, data: list[Importance]) -> Chart:
    """A panel a world, lying bars by hyperparameter, methods beside each other."""
    panels = [
        _panel(tables, world, [item for item in data if item.world == world])
        for world in dict.fromkeys(item.world for item in data)
    ]
    caption = "Each hyperparameter's share of importance for reaching a method's best tenth of draws (PED-ANOVA)."
    return Chart("importance", "Importance of hyperparameters", caption, tables.methods, panels, same_y=False)


def _panel(tables: Tables, world: str, items: list[Importance]) -> Panel:
    """From the top: each method's hyperparameters, the most important first, with a gap between methods."""
    marks: list[Mark] = []
    ticks: list[tuple[float, str]] = []
    place = 0.0
    for item in items:
        ordered = sorted(item.shares, key=lambda name: -item.shares[name])
        places = place + np.arange(len(ordered))
        ticks += [(float(at), shown(name)) for at, name in zip(places, ordered, strict=True)]
        marks.append(Bars(item.method, places, np.array([item.shares[name] for name in ordered]), 0.75))
        place += len(ordered) + 0.6
    y = Axis(ticks=ticks, limits=(place - 0.9, -0.7))
    return Panel(Axis("Share of importance", limits=(0.0, 1.0)), y, marks, world_title(tables, world))
