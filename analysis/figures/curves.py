"""`curves`: return by iteration, mean over all runs and over the best ten."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.bootstrap import generator, interval, resample, weights
from analysis.chart import Axis, Band, Chart, Line, Mark, Panel, Rule
from analysis.errors import NotApplicableError
from analysis.figures.common import BANDS, world_title
from analysis.measures import best_rows
from analysis.tables import Tables


@dataclass(frozen=True)
class Curve:
    """Mean return by iteration over `runs` runs, with a 95 % interval."""

    world: str
    method: str
    kind: str
    runs: int
    iteration: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def compute(tables: Tables) -> list[Curve]:
    """Two curves for each method and world: all runs, and the best ten by score."""
    curves = []
    for world, method, runs in tables.groups():
        chosen = runs.iloc[best_rows(runs["score"].to_numpy())]
        curves.append(_mean_curve(tables, world, method, "all", runs))
        curves.append(_mean_curve(tables, world, method, "best", chosen))
    if not curves or not any(len(curve.iteration) for curve in curves):
        raise NotApplicableError("curves: no finished run has a curve")
    return curves


def _mean_curve(tables: Tables, world: str, method: str, kind: str, runs: pd.DataFrame) -> Curve:
    returns = tables.curves["eval_return"][runs.index]
    known = np.isfinite(returns).all(axis=0)
    returns = returns[:, known]
    # The best runs are few and often of few draws: each is resampled for itself.
    units = runs["draw"].to_numpy() if kind == "all" else np.arange(len(runs))
    rows = resample(units, BANDS, generator(0, world, method, kind))
    low, high = interval(weights(rows, len(runs)) @ returns)
    return Curve(world, method, kind, len(runs), np.flatnonzero(known) + 1, returns.mean(axis=0), low, high)


def chart(tables: Tables, data: list[Curve]) -> Chart:
    """All runs dotted, the best ten solid."""
    worlds = list(dict.fromkeys(curve.world for curve in data))
    panels = [_panel(tables, world, [curve for curve in data if curve.world == world]) for world in worlds]
    most = max(curve.runs for curve in data if curve.kind == "best")
    caption = (
        f"Evaluation return by iteration: mean over all runs (dotted) and over the best {most} by AUC (solid). "
        "Bands are 95 % bootstrap intervals of the mean."
    )
    key = (("mean of all runs", "dotted"), (f"mean of best {most}", "solid"))
    return Chart("curves", "Learning curves", caption, tables.methods, panels, key, same_y=tables.has_one_score)


def _panel(tables: Tables, world: str, curves: list[Curve]) -> Panel:
    marks: list[Mark] = []
    ideal = tables.ideal(world)
    if ideal is not None:
        marks.append(Rule(ideal, "ideal"))
    for curve in curves:
        marks.append(Band(curve.method, curve.iteration, curve.low, curve.high))
        style = "dotted" if curve.kind == "all" else "solid"
        marks.append(Line(curve.method, curve.iteration, curve.mean, style))
    return Panel(Axis("Iteration", whole=True), Axis("Return"), marks, world_title(tables, world))
