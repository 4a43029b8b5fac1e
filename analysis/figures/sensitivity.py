"""`sensitivity`: the performance-sensitivity plane of Adkins et al. (2024), over several worlds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.chart import Axis, Chart, Mark, Panel, Points, Rule
from analysis.columns import hyperparameters
from analysis.errors import NotApplicableError
from analysis.style import shown
from analysis.tables import Tables

REFERENCE = "epsilon_greedy"


@dataclass(frozen=True)
class Sensitivity:
    """Tuned performance: mean over worlds of the best draw's score. Sensitivity: what one draw for all loses of it."""

    method: str
    performance: float
    sensitivity: float
    draws: int


def compute(tables: Tables) -> list[Sensitivity]:
    """Draws that a method has in every world, their scores put to [5th, 95th percentile of all methods] = [0, 1]."""
    if len(tables.worlds) < 2:
        raise NotApplicableError("sensitivity: needs several worlds, these runs have one")
    found = []
    scored = _normalised(tables.scored)
    for method in tables.methods:
        runs = scored[scored["method"] == method]
        scores = _scores(runs, hyperparameters(runs.drop(columns=["score"])))
        if scores.shape[1] == len(tables.worlds) and len(scores):
            tuned, common = float(scores.max().mean()), float(scores.mean(axis=1).max())
            found.append(Sensitivity(method, tuned, tuned - common, len(scores)))
    if not found:
        raise NotApplicableError("sensitivity: no method has a draw that is finished in every world")
    return found


def _normalised(runs: pd.DataFrame) -> pd.DataFrame:
    def to_unit(scores: pd.Series) -> pd.Series:
        low, high = np.quantile(scores, [0.05, 0.95])
        return (scores - low) / max(high - low, 1e-12)

    means = runs.groupby(["world", "method", "draw"])["score"].transform("mean")
    return runs.assign(score=means.groupby(runs["world"]).transform(to_unit))


def _scores(runs: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Mean scores by draw, known by its values, and world; only draws that are in every world."""
    known = runs.assign(values=list(map(str, runs[names].to_numpy().tolist())))
    return known.pivot_table(index="values", columns="world", values="score").dropna()


def chart(tables: Tables, data: list[Sensitivity]) -> Chart:
    """One point a method; the line through the reference has those that gain as much as they lose."""
    points: list[Mark] = []
    reference = next((item for item in data if item.method == REFERENCE), data[0])
    points.append(Rule(reference.performance - reference.sensitivity, slope=1.0))
    for item in data:
        points.append(Points(item.method, np.array([item.sensitivity]), np.array([item.performance]), kind="ring"))
    x = Axis("Sensitivity: loss by one setting for all worlds", limits=_room([i.sensitivity for i in data], zero=True))
    y = Axis("Performance, tuned by world", limits=_room([i.performance for i in data]))
    caption = (
        "Up: better when tuned for each world. Left: loses less by one setting for all worlds. Above the dashed line "
        f"a method does better than {shown(reference.method)} with one setting for all worlds."
    )
    return Chart("sensitivity", "Performance and sensitivity", caption, tables.methods, [Panel(x, y, points)])


def _room(values: list[float], zero: bool = False) -> tuple[float, float]:
    low, high = (0.0 if zero else min(values)), max(values)
    space = max(high - low, 0.05) * 0.25
    return low - (space / 5 if zero else space), high + space
