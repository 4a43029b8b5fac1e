"""`confirmed`: the tuned score of each method's best draws beside what they score with seeds that no tuning saw."""

import numpy as np

from analysis.chart import Axis, Chart, Mark, Panel, Points, Span
from analysis.figures.common import world_title
from analysis.labels import USUAL, Labels
from analysis.selection import Confirmed, ConfirmedDraw, confirmed
from analysis.tables import Tables

WIDTH = 0.7
"""The share of a method's room that its draws take."""
KEY = (("tuned", "best"), ("confirmed", "ring"))
CAPTION = (
    "The best draws of each method, from left to right: a triangle is the mean score over the tuning seeds, by which "
    "the draw was chosen; a dot with its 95 % interval is the mean score over test seeds. The difference is the "
    "selection bias."
)


def compute(tables: Tables) -> list[Confirmed]:
    """Compute both scores of each confirmed draw."""
    return confirmed(tables)


def chart(tables: Tables, data: list[Confirmed], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each world, with the methods beside each other."""
    panels = []
    for world in dict.fromkeys(one.world for one in data):
        here = [one for one in data if one.world == world]
        marks = [mark for at, one in enumerate(here) for mark in _marks(one, at)]
        ticks = [(float(at), labels.method(one.method)) for at, one in enumerate(here)]
        x = Axis(ticks=ticks, limits=(-0.6, len(here) - 0.4))
        panels.append(Panel(x, Axis(tables.score_names[world]), marks, world_title(tables, world, labels)))
    series = labels.series(tables.methods)
    return Chart("confirmed", "Tuned and confirmed scores", CAPTION, series, panels, KEY, same_y=tables.has_one_score)


def _marks(one: Confirmed, at: int) -> list[Mark]:
    step = WIDTH / len(one.draws)
    return [
        mark
        for rank, draw in enumerate(one.draws)
        for mark in _of_draw(one.method, draw, at + (rank + 0.5) * step - WIDTH / 2)
    ]


def _of_draw(method: str, draw: ConfirmedDraw, x: float) -> list[Mark]:
    estimate, at = draw.confirmed, np.array([x])
    marks: list[Mark] = [
        Points(method, at, np.array([draw.tuned]), kind="best"),
        Points(method, at, np.array([estimate.value]), kind="ring"),
    ]
    if np.isfinite(estimate.low):
        marks.append(Span(method, np.array([x, x]), np.array([estimate.low, estimate.high])))
    return marks
