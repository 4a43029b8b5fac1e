"""`curves`: return by iteration, mean over all runs and over the best ten."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.bootstrap import generator, interval, resampled_means
from analysis.chart import Axis, Chart, Line, Mark, Panel, Rule
from analysis.errors import NotApplicableError
from analysis.figures.common import BANDS, bands, world_title
from analysis.labels import USUAL, Labels
from analysis.measures import best_rows
from analysis.tables import Tables


@dataclass(frozen=True)
class Curve:
    """Mean return by iteration over `runs` runs, with a 95 % interval; `window` iterations are averaged."""

    world: str
    method: str
    kind: str
    runs: int
    iteration: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    window: int = 1


def compute(tables: Tables, smooth: int = 1) -> list[Curve]:
    """Compute two curves for each method and world: all runs, and the best ten by score."""
    curves = []
    for world, method, runs in tables.groups():
        chosen = runs.iloc[best_rows(runs["score"].to_numpy())]
        curves.append(_mean_curve(tables, world, method, "all", runs, smooth))
        curves.append(_mean_curve(tables, world, method, "best", chosen, smooth))
    if not curves or not any(len(curve.iteration) for curve in curves):
        raise NotApplicableError("curves: no finished run has a curve")
    return curves


def _mean_curve(tables: Tables, world: str, method: str, kind: str, runs: pd.DataFrame, window: int) -> Curve:
    returns = tables.matrices["eval_return"][runs.index]
    known = np.isfinite(returns).all(axis=0)
    returns = moving_average(returns[:, known], window)
    # The best runs are few and often of few draws, so each of them is resampled on its own.
    units = runs["draw"].to_numpy() if kind == "all" else np.arange(len(runs))
    means = resampled_means(units, returns, BANDS, generator(0, world, method, kind))
    low, high = interval(means, len(np.unique(units)))
    iterations = np.flatnonzero(known) + 1
    return Curve(world, method, kind, len(runs), iterations, returns.mean(axis=0), low, high, window)


def moving_average(curves: np.ndarray, window: int) -> np.ndarray:
    """Return curves (R, T), each value averaged with those up to half a window before and after it.

    At both ends the window holds what there is. An even window reaches one value further back than forward.
    """
    if window <= 1 or not curves.size:
        return curves
    t = np.arange(curves.shape[1])
    first, last = np.maximum(t - window // 2, 0), np.minimum(t + (window + 1) // 2, curves.shape[1])
    sums = np.cumsum(np.pad(curves, ((0, 0), (1, 0))), axis=1)
    return np.asarray((sums[:, last] - sums[:, first]) / (last - first))


def chart(tables: Tables, data: list[Curve], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each world: the mean of all runs dotted, that of the best ten solid."""
    worlds = list(dict.fromkeys(curve.world for curve in data))
    panels = [_panel(tables, world, [curve for curve in data if curve.world == world], labels) for world in worlds]
    most = max(curve.runs for curve in data if curve.kind == "best")
    caption = (
        f"Evaluation return by iteration: mean over all runs (dotted) and over the best {most} by AUC (solid). "
        "Bands are 95 % bootstrap intervals of the mean."
    )
    note = ""
    if (window := data[0].window) > 1:
        note = f"moving average over {window} iterations"
        caption += f" Each run's curve is a {note}."
    key = (("mean of all runs", "dotted"), (f"mean of best {most}", "solid"))
    series, same_y = labels.series(tables.methods), tables.has_one_score
    return Chart("curves", "Learning curves", caption, series, panels, key, note=note, same_y=same_y)


def _panel(tables: Tables, world: str, curves: list[Curve], labels: Labels) -> Panel:
    marks: list[Mark] = []
    ideal = tables.ideal(world)
    if ideal is not None:
        marks.append(Rule(ideal, "ideal"))
    for curve in curves:
        marks += bands(curve.method, curve.iteration, curve.low, curve.high)
        style = "dotted" if curve.kind == "all" else "solid"
        marks.append(Line(curve.method, curve.iteration, curve.mean, style))
    return Panel(Axis("Iteration", whole=True), Axis("Return"), marks, world_title(tables, world, labels))
