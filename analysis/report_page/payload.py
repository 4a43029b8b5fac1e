"""The data of the page's script: charts, runs and their curves, as small as possible."""

import base64
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from analysis.chart import Axis, Chart, Mark, Panel
from analysis.columns import category_name, is_category
from analysis.labels import USUAL, display_name
from analysis.style import HEAT, LOST, page_colour
from analysis.tables import Tables

POINTS = 200
"""Points of a run's curve in the page; longer curves are averaged."""
STEPS = 65535


def payload(tables: Tables, charts: Sequence[Chart]) -> dict[str, Any]:
    """Return everything that the script draws and shows."""
    return {
        "methods": [vars(one) | {"colour": page_colour(one.colour)} for one in USUAL.series(tables.methods)],
        "scores": tables.score_names,
        "runs": _runs(tables),
        "curves": _curves(tables.matrices["eval_return"]),
        "charts": [plain_chart(chart) for chart in charts],
        "heat": [to_hex(mpl.colormaps[HEAT](i / 8)) for i in range(9)],
        "lost": LOST,
    }


def plain_chart(chart: Chart) -> dict[str, Any]:
    """Return a chart as plain data for JSON."""
    return {
        "name": chart.name,
        "scale": chart.scale,
        "columns": chart.columns,
        "sameY": chart.same_y,
        "series": {series.key: {"name": series.name, "colour": page_colour(series.colour)} for series in chart.shown()},
        "panels": [_panel(panel) for panel in chart.panels],
    }


def _panel(panel: Panel) -> dict[str, Any]:
    marks = [_mark(mark) for mark in panel.marks]
    return {"title": panel.title, "x": _axis(panel.x), "y": _axis(panel.y), "marks": marks}


def _axis(axis: Axis) -> dict[str, Any]:
    return {"label": axis.label, "log": axis.log, "ticks": list(axis.ticks), "limits": axis.limits}


def _mark(mark: Mark) -> dict[str, Any]:
    plain: dict[str, Any] = {"mark": type(mark).__name__.lower()}
    for field in fields(mark):
        value = getattr(mark, field.name)
        plain[field.name] = numbers(value) if isinstance(value, np.ndarray) else value
    return plain


def numbers(values: np.ndarray) -> list[float | int | None]:
    """Return numbers with five digits, which is more than a screen shows, and None where there is none."""
    if values.dtype.kind in "iu":
        return [int(value) for value in values]
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]


def _runs(tables: Tables) -> dict[str, Any]:
    """Return the columns of the runs, in the order of the table."""
    runs = tables.runs
    text = {name: list(map(str, runs[name])) for name in ("run", "world", "method", "outcome")}
    known = {name: numbers(pd.to_numeric(runs[name]).to_numpy(dtype=float)) for name in ("score", "seconds")}
    whole = {name: runs[name].astype(int).tolist() for name in ("draw", "seed")}
    values = {name: _values(runs[name]) for name in tables.hyperparameters}
    errors = [str(error) if pd.notna(error) else None for error in runs["error"]]
    return {
        **text,
        **known,
        **whole,
        "error": errors,
        "values": values,
        "names": {name: display_name(name) for name in values},
    }


def _values(column: pd.Series) -> list[float | int | None] | list[str | None]:
    """Return the values of a hyperparameter: numbers, or categories as texts."""
    if is_category(column):
        return [None if pd.isna(value) else category_name(value) for value in column]
    return numbers(column.to_numpy(dtype=float))


def _curves(returns: np.ndarray) -> dict[str, Any]:
    """Return each run's curve in at most 200 points, as 16-bit steps between the lowest and the highest of all."""
    iterations = returns.shape[1]
    edges = np.unique(np.linspace(0, iterations, min(iterations, POINTS) + 1).round().astype(int))
    known = np.isfinite(returns)
    sums = np.add.reduceat(np.where(known, returns, 0.0), edges[:-1], axis=1) if iterations else returns
    counts = np.add.reduceat(known, edges[:-1], axis=1, dtype=int) if iterations else returns
    low, high = (float(returns[known].min()), float(returns[known].max())) if known.any() else (0.0, 1.0)
    means = sums / np.maximum(counts, 1)
    steps = np.round((means - low) / max(high - low, 1e-12) * (STEPS - 1))
    coded = np.where(counts > 0, steps, STEPS).astype("<u2")
    at = [float(x) for x in (edges[:-1] + 1 + edges[1:]) / 2]
    return {"low": low, "high": high, "at": at, "data": base64.b64encode(coded.tobytes()).decode()}
