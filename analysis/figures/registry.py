"""Every figure by its name."""

import importlib
from dataclasses import dataclass

from analysis.chart import Chart
from analysis.errors import NotApplicableError
from analysis.tables import Tables


@dataclass(frozen=True)
class FigureCode:
    """The module of a figure and the functions for its data and its chart."""

    module: str
    compute: str = "compute"
    chart: str = "chart"

    def make(self, tables: Tables) -> Chart:
        """From tables to a chart; the module is loaded when it is asked for."""
        module = importlib.import_module(f"analysis.figures.{self.module}")
        chart: Chart = getattr(module, self.chart)(tables, getattr(module, self.compute)(tables))
        return chart


FIGURES = {
    "curves": FigureCode("curves"),
    "violins": FigureCode("violins"),
    "rooms": FigureCode("violins", "compute_rooms", "chart_rooms"),
    "starts": FigureCode("starts"),
    "acting": FigureCode("acting"),
    "response": FigureCode("response"),
    "profiles": FigureCode("profiles"),
    "budget": FigureCode("budget"),
    "importance": FigureCode("importance"),
    "sensitivity": FigureCode("sensitivity"),
}


def make_charts(tables: Tables, names: list[str]) -> tuple[list[Chart], list[str]]:
    """The charts of these figures, and for those that do not apply why not."""
    charts, skipped = [], []
    for name in names:
        try:
            charts.append(FIGURES[name].make(tables))
        except NotApplicableError as error:
            skipped.append(str(error))
    return charts, skipped
