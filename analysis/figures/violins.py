"""`violins`: the density of scores by method."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import gaussian_kde

from analysis.chart import Axis, Chart, Mark, Panel, Points, Shape
from analysis.errors import NotApplicableError
from analysis.figures.common import method_ticks, world_title
from analysis.labels import USUAL, Labels
from analysis.tables import Tables

GRID = 128
HALF_WIDTH = 0.38
KEY = (("best", "best"), ("median", "median"), ("worst", "worst"))
CAPTION = "Width is the density of runs; the marks are the best, the median and the worst run."


@dataclass(frozen=True)
class Violin:
    """The scores of one method in one world, and their density between the worst and the best."""

    world: str
    method: str
    scores: np.ndarray
    runs: np.ndarray
    grid: np.ndarray
    density: np.ndarray

    @property
    def best(self) -> float:
        """The highest score."""
        return float(self.scores.max())

    @property
    def median(self) -> float:
        """The median score."""
        return float(np.median(self.scores))

    @property
    def worst(self) -> float:
        """The lowest score."""
        return float(self.scores.min())


def compute(tables: Tables) -> list[Violin]:
    """Compute a violin for each method and world with a scored run."""
    violins = [make_violin(w, m, runs["score"].to_numpy(), runs.index.to_numpy()) for w, m, runs in tables.groups()]
    if not violins:
        raise NotApplicableError("violins: no finished run has a score")
    return violins


def make_violin(world: str, method: str, scores: np.ndarray, runs: np.ndarray) -> Violin:
    """Return a violin of these scores; the density is cut at the worst and the best, and empty if all are equal."""
    if len(scores) < 3 or np.ptp(scores) < 1e-9:
        return Violin(world, method, scores, runs, np.array([]), np.array([]))
    grid = np.linspace(scores.min(), scores.max(), GRID)
    return Violin(world, method, scores, runs, grid, gaussian_kde(scores)(grid))


def chart(tables: Tables, data: list[Violin], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each world, with the methods beside each other."""
    worlds = list(dict.fromkeys(violin.world for violin in data))
    panels = []
    for world in worlds:
        violins = [violin for violin in data if violin.world == world]
        methods = [method for method in tables.methods if any(v.method == method for v in violins)]
        marks = [mark for violin in violins for mark in violin_marks(violin, methods.index(violin.method))]
        ticks = method_ticks(methods, {violin.method: len(violin.scores) for violin in violins}, labels)
        x = Axis(ticks=ticks, limits=(-0.6, len(methods) - 0.4))
        panels.append(Panel(x, Axis(tables.score_names[world]), marks, world_title(tables, world, labels)))
    title, series = f"{tables.score_name} by method", labels.series(tables.methods)
    return Chart("violins", title, CAPTION, series, panels, KEY, same_y=tables.has_one_score)


def violin_marks(violin: Violin, at: float) -> list[Mark]:
    """Return the marks of a violin whose middle is at this position on the x axis."""
    has_shape = len(violin.grid) > 0
    marks: list[Mark] = []
    if has_shape:
        width = violin.density / violin.density.max() * HALF_WIDTH
        outline = np.concatenate([violin.grid, violin.grid[::-1]])
        marks.append(Shape(violin.method, at + np.concatenate([width, -width[::-1]]), outline))
    marks.append(Points(violin.method, at + _offsets(violin), violin.scores, violin.runs, quiet=has_shape))
    for kind in ("best", "median", "worst"):
        value = np.array([getattr(violin, kind)])
        marks.append(Points(violin.method, np.array([at]), value, kind=kind))
    return marks


def _offsets(violin: Violin) -> np.ndarray:
    """Return how far each run is drawn beside the middle: within the violin, and the same every time."""
    if not len(violin.grid):
        return np.zeros(len(violin.scores))
    room = np.interp(violin.scores, violin.grid, violin.density / violin.density.max()) * HALF_WIDTH * 0.9
    golden = (np.arange(len(violin.scores)) * 0.6180339887) % 1
    return (2 * golden - 1) * room
