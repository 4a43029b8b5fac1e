"""`starts`: steps to the exit from every start state, with the best final policies of each method."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.chart import Axis, Cells, Chart, Panel
from analysis.errors import NotApplicableError
from analysis.labels import USUAL, Labels
from analysis.study.starts_table import TABLE, read_starts
from analysis.tables import Tables


@dataclass(frozen=True)
class Starts:
    """By world, method and cell: mean steps of the policies that arrive, the share that never does, their number."""

    cells: pd.DataFrame


def compute(tables: Tables) -> Starts:
    """Compute the mean over a method's policies; `steps` is NaN where none of them arrives.

    Test runs are left out, unless no others were measured: they would make a mixture of some draws' many seeds.
    """
    starts = read_starts(tables)
    if starts is None:
        raise NotApplicableError(f"starts: no {TABLE} in the sweep; keep policies, then make it with mulex starts DIR")
    tuned = ~starts["run"].isin(tables.tested["run"])
    starts = starts[tuned] if tuned.any() else starts
    world_of = tables.runs.set_index("run")["world"]
    starts = starts.assign(world=starts["run"].map(world_of).fillna(tables.worlds[0]))
    cells = starts.groupby(["world", "method", "row", "col"])["steps"].agg(
        steps="mean", arrived="count", policies="size"
    )
    cells["lost"] = 1 - cells["arrived"] / cells["policies"]
    return Starts(cells.reset_index())


def chart(tables: Tables, data: Starts, labels: Labels = USUAL) -> Chart:
    """Draw one map for each method and world."""
    methods = [*tables.methods, *sorted(set(data.cells["method"]) - set(tables.methods))]
    groups = dict(list(data.cells.groupby(["world", "method"])))
    keys = [(w, m) for w in tables.worlds for m in methods if (w, m) in groups]
    panels = [_panel(_title(tables, world, method, labels), method, groups[world, method]) for world, method in keys]
    most = int(data.cells["policies"].max())
    caption = (
        f"Steps to the exit from every start state, mean over up to {most} policies of each method. A cross marks "
        "starts from which some policy never arrives, larger where more do not; grey where none arrives."
    )
    key = (("some policy never arrives", "lost"),)
    series = labels.series(methods)
    return Chart("starts", "Steps to the exit", caption, series, panels, key, "Steps to exit", same_y=False)


def _title(tables: Tables, world: str, method: str, labels: Labels) -> str:
    return labels.method(method) + (f", {labels.world(world)}" if len(tables.worlds) > 1 else "")


def _panel(name: str, method: str, cells: pd.DataFrame) -> Panel:
    row, column = cells["row"].to_numpy(), cells["col"].to_numpy()
    lost = 1 - cells["arrived"].sum() / cells["policies"].sum()
    x = Axis(ticks=[(-100.0, "")], limits=(float(column.min()) - 1, float(column.max()) + 1))
    y = Axis(ticks=[(-100.0, "")], limits=(float(row.max()) + 1, float(row.min()) - 1))
    heat = Cells(method, row, column, cells["steps"].to_numpy(), np.asarray(cells["lost"].to_numpy()))
    return Panel(x, y, [heat], f"{name}\n{lost:.1%} never arrive")
