"""`response`: score against each hyperparameter, with a smoothed median."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.chart import Axis, Chart, Line, Mark, Panel, Points
from analysis.columns import varied
from analysis.errors import NotApplicableError
from analysis.figures.common import is_log
from analysis.style import shown
from analysis.tables import Tables

GRID = 60
BANDWIDTH = 0.25
"""Of the smoothing kernel for one value, as a share of the axis; it shrinks with the fifth root of their number."""


@dataclass(frozen=True)
class Response:
    """The scores of one method by one hyperparameter; the median is weighted by nearness on the axis."""

    world: str
    method: str
    name: str
    values: np.ndarray
    scores: np.ndarray
    runs: np.ndarray
    grid: np.ndarray
    median: np.ndarray


def compute(tables: Tables) -> list[Response]:
    """For every hyperparameter that varies within a method."""
    responses = [
        _response(world, method, name, runs)
        for world, method, runs in tables.groups()
        for name in varied(runs.drop(columns=["score"]))
    ]
    if not responses:
        raise NotApplicableError("response: no hyperparameter varies within a method")
    return responses


def _response(world: str, method: str, name: str, runs: pd.DataFrame) -> Response:
    runs = runs[runs[name].notna()]
    values, scores = runs[name].to_numpy(), runs["score"].to_numpy()
    is_choice = runs["draw"].nunique() >= 2 * len(np.unique(values))
    grid, median = smoothed_median(values, scores, is_choice)
    return Response(world, method, name, values, scores, runs.index.to_numpy(), grid, median)


def smoothed_median(x: np.ndarray, y: np.ndarray, is_choice: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The median of y weighted by a Gaussian in x, along the range of x; of a choice, the median at each value."""
    scaled = np.log(x) if is_log(x) else x
    grid = np.unique(scaled) if is_choice else np.linspace(scaled.min(), scaled.max(), GRID)
    order = np.argsort(y, kind="stable")
    width = (1e-6 if is_choice else BANDWIDTH * len(np.unique(x)) ** -0.2) * np.ptp(scaled)
    weight = np.exp(-0.5 * ((scaled[order] - grid[:, None]) / width) ** 2)
    total = np.cumsum(weight, axis=1)
    median = y[order][(total < total[:, -1:] / 2).sum(axis=1)]
    return (np.exp(grid) if is_log(x) else grid), median


def chart(tables: Tables, data: list[Response]) -> Chart:
    """One panel for each hyperparameter and world, methods together."""
    names = dict.fromkeys(response.name for response in data)
    worlds = list(dict.fromkeys(response.world for response in data))
    keys = [(world, name) for name in names for world in worlds]
    groups = [[r for r in data if (r.world, r.name) == key] for key in keys]
    panels = [_panel(tables, group) for group in groups if group]
    columns = len(worlds) if len(worlds) > 1 and all(groups) else 0
    caption = f"{tables.score_name} against each hyperparameter. A dot is a run; the line is a smoothed median."
    title, same_y = "Response to hyperparameters", tables.has_one_score
    return Chart("response", title, caption, tables.methods, panels, columns=columns, same_y=same_y)


def _panel(tables: Tables, responses: list[Response]) -> Panel:
    marks: list[Mark] = [Points(r.method, r.values, r.scores, r.runs) for r in responses]
    marks += [Line(r.method, r.grid, r.median) for r in responses]
    first = responses[0]
    log = is_log(np.concatenate([r.values for r in responses]))
    title = first.world if len(tables.worlds) > 1 else ""
    return Panel(Axis(shown(first.name), log), Axis(tables.score_names[first.world]), marks, title)
