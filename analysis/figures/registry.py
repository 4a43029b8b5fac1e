"""Every figure by its name. This module is light: a figure's code is imported when the figure is made."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.chart import Chart
    from analysis.labels import Labels
    from analysis.tables import Tables

FIGURES = {
    "curves": "analysis.figures.curves",
    "columns": "analysis.figures.columns",
    "violins": "analysis.figures.violins",
    "rooms": "analysis.study.rooms",
    "starts": "analysis.study.start_states",
    "acting": "analysis.study.acting",
    "response": "analysis.figures.response",
    "profiles": "analysis.figures.profiles",
    "budget": "analysis.figures.budget",
    "importance": "analysis.figures.importance",
    "sensitivity": "analysis.figures.sensitivity",
    "one_setting": "analysis.figures.one_setting",
    "confirmed": "analysis.figures.confirmed",
}
"""By figure its module, which has `compute(tables, **options)` and `chart(tables, data, labels)`."""
SMOOTHED = ("curves",)
"""The figures that can be smoothed."""


def make_chart(tables: "Tables", name: str, labels: "Labels | None" = None, **options: Any) -> "Chart":
    """Make one figure's chart.

    Raises:
        NotApplicableError: The tables have no data for this figure.
    """
    from analysis.labels import USUAL

    module = importlib.import_module(FIGURES[name])
    chart: Chart = module.chart(tables, module.compute(tables, **options), labels or USUAL)
    return chart


def make_charts(tables: "Tables", names: Sequence[str] = tuple(FIGURES)) -> tuple[list["Chart"], list[str]]:
    """Make the charts of these figures, and for each that does not apply the reason."""
    from analysis.errors import NotApplicableError

    charts, skipped = [], []
    for name in names:
        try:
            charts.append(make_chart(tables, name))
        except NotApplicableError as error:
            skipped.append(str(error))
    return charts, skipped
