"""`acting`: return against p_1 for each head of a method whose heads act with probabilities p_1 and 1 - p_1."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.bootstrap import generator, interval, resampled_means
from analysis.chart import Axis, Chart, Line, Mark, Panel, Points, Rule
from analysis.columns import HEAD_RETURN
from analysis.errors import NotApplicableError
from analysis.figures.common import BANDS, bands, world_title
from analysis.labels import USUAL, Labels
from analysis.tables import Tables

MOST_VALUES = 21
"""With more values of p_1 than this, runs are grouped by the nearest tenth."""


@dataclass(frozen=True)
class Head:
    """One head's mean return over training, by run and by value of p_1 with a 95 % interval."""

    world: str
    head: str
    p_1: np.ndarray
    returns: np.ndarray
    runs: np.ndarray
    at: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def compute(tables: Tables) -> list[Head]:
    """Compute a head for each column eval_return_<head>, from the runs that have a p_1."""
    names = [name for name in tables.matrices if name.startswith(HEAD_RETURN)]
    if "p_1" not in tables.runs or not tables.scored["p_1"].notna().any() or not names:
        raise NotApplicableError("acting: needs runs with p_1 and the return of each head (method two_task_heads)")
    scored = tables.scored[tables.scored["p_1"].notna()]
    heads = [_head(tables, world, name, scored[scored["world"] == world]) for world in tables.worlds for name in names]
    return [head for head in heads if len(head.runs)]


def _head(tables: Tables, world: str, name: str, runs: pd.DataFrame) -> Head:
    curves = tables.matrices[name][runs.index]
    known = np.isfinite(curves).any(axis=1)
    runs, returns = runs[known], np.nanmean(curves[known], axis=1)
    p_1 = runs["p_1"].to_numpy()
    group = p_1 if len(np.unique(p_1)) <= MOST_VALUES else np.round(p_1, 1)
    at = np.unique(group)
    means = [_mean(returns[group == p], runs["draw"].to_numpy()[group == p], f"{world} {name} {p}") for p in at]
    mean, low, high = np.array(means).reshape(-1, 3).T
    return Head(world, name.removeprefix(HEAD_RETURN), p_1, returns, runs.index.to_numpy(), at, mean, low, high)


def _mean(returns: np.ndarray, draws: np.ndarray, name: str) -> tuple[float, float, float]:
    low, high = interval(resampled_means(draws, returns, BANDS, generator(0, name)), len(np.unique(draws)))
    return float(returns.mean()), float(low), float(high)


def chart(tables: Tables, data: list[Head], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each world, with a line for each head and a dot for each run."""
    heads = list(dict.fromkeys(head.head for head in data))
    worlds = list(dict.fromkeys(head.world for head in data))
    panels = [_panel(tables, world, [head for head in data if head.world == world], labels) for world in worlds]
    caption = (
        "Mean evaluation return over training of each head's own greedy policy, by the probability p₁ that the first "
        "head acts. A dot is a run; bands are 95 % bootstrap intervals of the mean."
    )
    return Chart("acting", "A head that never acts", caption, labels.series(heads), panels)


def _panel(tables: Tables, world: str, heads: list[Head], labels: Labels) -> Panel:
    marks: list[Mark] = []
    ideal = tables.ideal(world)
    if ideal is not None:
        marks.append(Rule(ideal, "ideal"))
    for i, head in enumerate(heads):
        beside = (i - (len(heads) - 1) / 2) * 0.02
        marks.append(Points(head.head, head.p_1 + beside, head.returns, head.runs))
        marks += bands(head.head, head.at, head.low, head.high)
        marks.append(Line(head.head, head.at, head.mean))
    x = Axis("p₁, the first head's share of acting")
    return Panel(x, Axis("Mean return"), marks, world_title(tables, world, labels))
