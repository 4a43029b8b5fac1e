"""`response`: score against each hyperparameter, with a smoothed median and its interval."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.bootstrap import generator, interval, resample_some, weights
from analysis.chart import Axis, Chart, Line, Mark, Panel, Points, Span
from analysis.columns import categories, category_name, is_category, varied
from analysis.errors import NotApplicableError
from analysis.figures.common import bands, is_log, world_title
from analysis.labels import USUAL, Labels, display_name
from analysis.tables import Tables

GRID = 60
BANDWIDTH = 0.25
"""Width of the smoothing kernel as a share of the axis; it shrinks with the fifth root of the number of values."""
LEAST_DRAWS = 8.0
"""Draws that a median should rest on, by their weights: where they are sparse the kernel is wider."""
REPLICATES = 200
"""Bootstrap replicates of a median."""


@dataclass(frozen=True)
class Response:
    """The scores of one method by one hyperparameter, with a median that weights runs by their distance on the axis.

    Texts and booleans are categories: `values` are then their indices in `categories`, and each has its own median.
    """

    world: str
    method: str
    name: str
    values: np.ndarray
    scores: np.ndarray
    runs: np.ndarray
    grid: np.ndarray
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    categories: tuple[str, ...] = ()


def compute(tables: Tables) -> list[Response]:
    """Compute the response to every hyperparameter that varies within a method."""
    responses = [
        _by_category(world, method, name, runs, categories(tables.runs[name]))
        if is_category(tables.runs[name])
        else _response(world, method, name, runs)
        for world, method, runs in tables.groups()
        for name in varied(runs, tables.hyperparameters)
    ]
    if not responses:
        raise NotApplicableError("response: no hyperparameter varies within a method")
    return responses


def _response(world: str, method: str, name: str, runs: pd.DataFrame) -> Response:
    runs = runs[runs[name].notna()]
    values, scores = runs[name].to_numpy(dtype=float), runs["score"].to_numpy()
    kernel = make_kernel(values, has_few_values(values, runs["draw"].nunique()))
    median = kernel.median(scores)
    low, high = _interval(kernel, scores, runs["draw"].to_numpy(), generator(0, "response", world, method, name))
    return Response(world, method, name, values, scores, runs.index.to_numpy(), kernel.grid, median, low, high)


def has_few_values(values: np.ndarray, draws: int) -> bool:
    """Whether the median is taken at each value: draws repeat the values, or several seeds share fewer than eight."""
    different = len(np.unique(values))
    return 2 * different <= (len(values) if different < LEAST_DRAWS else draws)


def _interval(
    kernel: "Kernel", scores: np.ndarray, draws: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the 95 % interval of a median at every point of the grid, from resampled draws."""
    samples = [
        kernel.median(scores, share)
        for rows in resample_some(draws, REPLICATES, rng)
        for share in weights(rows, len(scores))
    ]
    return interval(np.array(samples), len(np.unique(draws)))


def _by_category(world: str, method: str, name: str, runs: pd.DataFrame, known: list[str]) -> Response:
    runs = runs[runs[name].notna()]
    values = runs[name].map(lambda value: known.index(category_name(value))).to_numpy(dtype=float)
    scores = runs["score"].to_numpy()
    grid = np.unique(values)
    kernel = Kernel(grid, (values == grid[:, None]).astype(float), None)
    low, high = _interval(kernel, scores, runs["draw"].to_numpy(), generator(0, "response", world, method, name))
    median = np.array([np.median(scores[values == value]) for value in grid])
    return Response(world, method, name, values, scores, runs.index.to_numpy(), grid, median, low, high, tuple(known))


@dataclass(frozen=True)
class Kernel:
    """Which runs count how much at each point of a grid.

    Attributes:
        grid: The points, (G,).
        weight: The weight of each run at each point, (G, R).
        smoothing: The weight of each point in the average that smooths the medians, (G, G); None for a choice.
    """

    grid: np.ndarray
    weight: np.ndarray
    smoothing: np.ndarray | None

    def median(self, scores: np.ndarray, share: np.ndarray | None = None) -> np.ndarray:
        """Return the weighted median of scores (R,) at every point; `share` counts some runs more than others.

        Neighbouring medians are averaged, so that a single run makes no tower. A point without runs is NaN.
        """
        order = np.argsort(scores, kind="stable")
        weight = self.weight[:, order] * (share[order] if share is not None else 1.0)
        total = np.cumsum(weight, axis=1)
        at = (total < total[:, -1:] / 2).sum(axis=1)
        median = np.where(total[:, -1] > 0, scores[order][np.minimum(at, len(scores) - 1)], np.nan)
        return median if self.smoothing is None else self.smoothing @ median


def make_kernel(x: np.ndarray, is_choice: bool = False) -> Kernel:
    """Return Gaussian weights in x, on a logarithmic axis where that reads better, or those of a choice's values."""
    scaled = np.log(x) if is_log(x) else x
    grid = np.unique(scaled) if is_choice else np.linspace(scaled.min(), scaled.max(), GRID)
    shown = np.exp(grid) if is_log(x) else grid
    if is_choice:
        return Kernel(shown, (scaled == grid[:, None]).astype(float), None)
    width = _widths(np.unique(scaled), grid)[:, None]
    smoothing = np.exp(-0.5 * ((grid - grid[:, None]) / (0.5 * width)) ** 2)
    weight = np.exp(-0.5 * ((scaled - grid[:, None]) / width) ** 2)
    return Kernel(shown, weight, smoothing / smoothing.sum(axis=1, keepdims=True))


def _widths(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return a width for each point of the grid; where few values are near it grows until enough of them count."""
    width = np.full(len(grid), BANDWIDTH * len(values) ** -0.2 * np.ptp(values))
    needed = min(LEAST_DRAWS, len(values) / 2)
    for _ in range(20):
        weight = np.exp(-0.5 * ((values - grid[:, None]) / width[:, None]) ** 2)
        few = weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1) < needed
        if not few.any():
            break
        width[few] *= 1.2
    return width


def chart(tables: Tables, data: list[Response], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each hyperparameter and world, with all methods in it."""
    names = dict.fromkeys(response.name for response in data)
    worlds = list(dict.fromkeys(response.world for response in data))
    keys = [(world, name) for name in names for world in worlds]
    groups = [[r for r in data if (r.world, r.name) == key] for key in keys]
    panels = [_panel(tables, group, labels) for group in groups if group]
    columns = len(worlds) if len(worlds) > 1 and all(groups) else 0
    caption = f"{tables.score_name} against each hyperparameter. A dot is a run; the line is a smoothed median "
    caption += "of the runs with similar values (the median at each value, where there are few), and the band its "
    caption += "95 % bootstrap interval."
    if any(response.categories for response in data):
        caption += " A diamond is the median of a category, and the line through it its interval."
    title, same_y = "Response to hyperparameters", tables.has_one_score
    series = labels.series(tables.methods)
    return Chart("response", title, caption, series, panels, columns=columns, same_y=same_y)


def _panel(tables: Tables, responses: list[Response], labels: Labels) -> Panel:
    first = responses[0]
    if first.categories:
        return _category_panel(tables, responses, labels)
    marks: list[Mark] = [Points(r.method, r.values, r.scores, r.runs) for r in responses]
    marks += [band for r in responses for band in bands(r.method, r.grid, r.low, r.high)]
    marks += [Line(r.method, r.grid, r.median) for r in responses]
    values = np.concatenate([r.values for r in responses])
    log, whole = is_log(values), bool((values == np.round(values)).all())
    x, y = Axis(display_name(first.name), log, whole=whole and not log), Axis(tables.score_names[first.world])
    return Panel(x, y, marks, world_title(tables, first.world, labels))


def _category_panel(tables: Tables, responses: list[Response], labels: Labels) -> Panel:
    """Draw the methods side by side at each category."""
    first, offsets = responses[0], _side_by_side(len(responses))
    marks: list[Mark] = [
        Points(r.method, r.values + offset, r.scores, r.runs) for r, offset in zip(responses, offsets, strict=True)
    ]
    marks += [
        Span(r.method, np.repeat(x + offset, 2), np.array(ends))
        for r, offset in zip(responses, offsets, strict=True)
        for x, *ends in zip(r.grid, r.low, r.high, strict=True)
        if np.isfinite(ends).all()
    ]
    marks += [
        Points(r.method, r.grid + offset, r.median, kind="median") for r, offset in zip(responses, offsets, strict=True)
    ]
    ticks = [(float(index), category) for index, category in enumerate(first.categories)]
    x = Axis(display_name(first.name), ticks=ticks, limits=(-0.6, len(ticks) - 0.4))
    return Panel(x, Axis(tables.score_names[first.world]), marks, world_title(tables, first.world, labels))


def _side_by_side(count: int) -> np.ndarray:
    """Return where each of several methods is drawn, relative to a category."""
    return (np.arange(count) - (count - 1) / 2) * min(0.25, 0.7 / count)
