"""`violins`: the density of scores by method; `rooms`: the same by world, in units of epsilon-greedy's median."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import gaussian_kde

from analysis.chart import Axis, Chart, Mark, Panel, Points, Rule, Shape
from analysis.errors import NotApplicableError
from analysis.figures.common import method_ticks, world_title
from analysis.tables import Tables

BASE = "epsilon_greedy"
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
        """The score in the middle."""
        return float(np.median(self.scores))

    @property
    def worst(self) -> float:
        """The lowest score."""
        return float(self.scores.min())


def compute(tables: Tables) -> list[Violin]:
    """A violin for each method and world with a scored run."""
    violins = [_violin(w, m, runs["score"].to_numpy(), runs.index.to_numpy()) for w, m, runs in tables.groups()]
    if not violins:
        raise NotApplicableError("violins: no finished run has a score")
    return violins


def compute_rooms(tables: Tables) -> list[Violin]:
    """Scores divided by epsilon-greedy's median in the same world."""
    if len(tables.worlds) < 2:
        raise NotApplicableError("rooms: needs several worlds, these runs have one; name several sweeps or worlds")
    base = {violin.world: violin.median for violin in compute(tables) if violin.method == BASE}
    violins = [
        _violin(violin.world, violin.method, violin.scores / base[violin.world], violin.runs)
        for violin in compute(tables)
        if base.get(violin.world, 0.0) > 0
    ]
    if not violins:
        raise NotApplicableError("rooms: needs epsilon_greedy runs with a median above 0 in some world")
    return violins


def _violin(world: str, method: str, scores: np.ndarray, runs: np.ndarray) -> Violin:
    grid, density = _density(scores)
    return Violin(world, method, scores, runs, grid, density)


def _density(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian kernels, cut at the worst and the best; nothing where the scores are all the same."""
    if len(scores) < 3 or np.ptp(scores) < 1e-9:
        return np.array([]), np.array([])
    grid = np.linspace(scores.min(), scores.max(), GRID)
    return grid, gaussian_kde(scores)(grid)


def chart(tables: Tables, data: list[Violin]) -> Chart:
    """One panel a world, methods beside each other."""
    worlds = list(dict.fromkeys(violin.world for violin in data))
    panels = []
    for world in worlds:
        violins = [violin for violin in data if violin.world == world]
        methods = [method for method in tables.methods if any(v.method == method for v in violins)]
        marks = [mark for violin in violins for mark in _marks(violin, methods.index(violin.method))]
        ticks = method_ticks(methods, {violin.method: len(violin.scores) for violin in violins})
        x = Axis(ticks=ticks, limits=(-0.6, len(methods) - 0.4))
        panels.append(Panel(x, Axis(tables.score_names[world]), marks, world_title(tables, world)))
    title = f"{tables.score_name} by method"
    return Chart("violins", title, CAPTION, tables.methods, panels, KEY, same_y=tables.has_one_score)


def chart_rooms(tables: Tables, data: list[Violin]) -> Chart:
    """One panel, a group of methods for each world."""
    worlds = [world for world in tables.worlds if any(violin.world == world for violin in data)]
    methods = [method for method in tables.methods if any(violin.method == method for violin in data)]
    step = len(methods) + 1
    marks: list[Mark] = [Rule(1.0)]
    for violin in data:
        marks += _marks(violin, worlds.index(violin.world) * step + methods.index(violin.method))
    ticks = [(i * step + (len(methods) - 1) / 2, f"{world}\n{_sizes(world, data)}") for i, world in enumerate(worlds)]
    x = Axis(ticks=ticks, limits=(-0.8, len(worlds) * step - 1.2))
    y = Axis("AUC / ε-greedy's median")
    without = [world for world in tables.worlds if world not in worlds]
    note = f"without {', '.join(without)}: ε-greedy's median is 0 or unknown" if without else ""
    caption = f"Scores by world, divided by ε-greedy's median there (dashed: 1). {CAPTION}"
    return Chart("rooms", "Worlds compared", caption, tables.methods, [Panel(x, y, marks)], KEY, note=note)


def _sizes(world: str, data: list[Violin]) -> str:
    sizes = [len(violin.scores) for violin in data if violin.world == world]
    text = f"{sizes[0]:,}" if len(set(sizes)) == 1 else ", ".join(f"{size:,}" for size in sizes)
    return f"n = {text}"


def _marks(violin: Violin, at: float) -> list[Mark]:
    marks: list[Mark] = []
    if len(violin.grid):
        width = violin.density / violin.density.max() * HALF_WIDTH
        outline = np.concatenate([violin.grid, violin.grid[::-1]])
        marks.append(Shape(violin.method, at + np.concatenate([width, -width[::-1]]), outline))
    has_shape = len(violin.grid) > 0
    marks.append(Points(violin.method, at + _spread(violin), violin.scores, violin.runs, quiet=has_shape))
    for kind in ("best", "median", "worst"):
        value = np.array([getattr(violin, kind)])
        marks.append(Points(violin.method, np.array([at]), value, kind=kind))
    return marks


def _spread(violin: Violin) -> np.ndarray:
    """Sideways places for the runs, within the violin, the same every time."""
    if not len(violin.grid):
        return np.zeros(len(violin.scores))
    room = np.interp(violin.scores, violin.grid, violin.density / violin.density.max()) * HALF_WIDTH * 0.9
    golden = (np.arange(len(violin.scores)) * 0.6180339887) % 1
    return (2 * golden - 1) * room
