"""`columns`: what external learners report beside their return, by iteration, such as losses."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.chart import Axis, Chart, Line, Mark, Panel
from analysis.errors import NotApplicableError
from analysis.figures.common import bands, world_title
from analysis.labels import USUAL, Labels, display_name
from analysis.tables import Tables
from mulex.config import ENGINES
from mulex.store.schema import CURVES

QUARTILES = (0.25, 0.75)


@dataclass(frozen=True)
class Column:
    """The median of a column over the runs of a method that have it, and the middle half of these runs."""

    world: str
    method: str
    name: str
    iteration: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray


def compute(tables: Tables) -> list[Column]:
    """Summarise every number or boolean that learners add to their rows; other sweeps' curves are not read whole."""
    if tables.scored["engine"].dropna().isin(ENGINES).all():
        raise NotApplicableError("columns: no run of an external learner")
    curves = tables.curves
    found = [
        column
        for name in curves.columns
        if name not in CURVES.names and _is_number(curves[name])
        for world, method, runs in tables.groups()
        if (column := _column(world, method, name, curves[curves["run"].isin(runs["run"])])) is not None
    ]
    if not found:
        raise NotApplicableError("columns: the learners' rows have none beside the usual ones")
    return found


def _is_number(values: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values))


def _column(world: str, method: str, name: str, curves: pd.DataFrame) -> Column | None:
    known = curves[["iteration", name]].astype(float).replace([np.inf, -np.inf], np.nan).dropna()
    if known.empty:
        return None
    by_iteration = known.groupby("iteration")[name]
    median = by_iteration.median()
    low, high = (by_iteration.quantile(share).to_numpy() for share in QUARTILES)
    return Column(world, method, name, median.index.to_numpy(dtype=float), median.to_numpy(), low, high)


def chart(tables: Tables, data: list[Column], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each column and world, with all methods that have it."""
    names = dict.fromkeys(column.name for column in data)
    worlds = list(dict.fromkeys(column.world for column in data))
    groups = [[c for c in data if (c.name, c.world) == (name, world)] for name in names for world in worlds]
    panels = [_panel(tables, group, labels) for group in groups if group]
    columns = len(worlds) if len(worlds) > 1 and all(groups) else 0
    caption = "What the learners report, by iteration: the median of all runs, and a band with the middle half of them."
    series = labels.series(tables.methods)
    return Chart("columns", "Columns of the learners", caption, series, panels, columns=columns, same_y=False)


def _panel(tables: Tables, group: list[Column], labels: Labels) -> Panel:
    marks: list[Mark] = []
    for column in group:
        marks += bands(column.method, column.iteration, column.low, column.high)
        marks.append(Line(column.method, column.iteration, column.median, "solid"))
    first = group[0]
    title = world_title(tables, first.world, labels)
    return Panel(Axis("Iteration", whole=True), Axis(display_name(first.name)), marks, title)
