"""`one_setting`: how each method does in each world with one setting for all of them."""

import numpy as np

from analysis.chart import Axis, Chart, Line, Mark, Panel, Points
from analysis.labels import USUAL, Labels
from analysis.one_setting import AcrossWorlds, across_worlds
from analysis.tables import Tables


def compute(tables: Tables) -> list[AcrossWorlds]:
    """Choose each method's setting for all worlds."""
    return across_worlds(tables)


def chart(tables: Tables, data: list[AcrossWorlds], labels: Labels = USUAL) -> Chart:
    """Draw the score by rank of each method's chosen setting, world by world."""
    worlds = tables.worlds
    marks: list[Mark] = []
    for one in data:
        x, y = np.arange(len(worlds), dtype=float), np.array([one.by_world[world] for world in worlds])
        marks += [Line(one.method, x, y), Points(one.method, x, y, kind="ring")]
    ticks = [(float(i), labels.world(world)) for i, world in enumerate(worlds)]
    panel = Panel(
        Axis(ticks=ticks, limits=(-0.4, len(worlds) - 0.6)),
        Axis("Share of runs that are not better", limits=(0.0, 1.05)),
        marks,
    )
    caption = (
        "Each method with the one draw that is best on average over all worlds. A score is the share of all runs of a "
        "world that are not better; the draw was chosen by these runs, so the scores are likely to be too high."
    )
    return Chart("one_setting", "One setting for all worlds", caption, labels.series(tables.methods), [panel])
