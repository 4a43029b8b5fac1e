"""From the two tables of one or more sweeps to statistics, figures and a report.

Example:
    >>> import analysis
    >>> tables = analysis.load("out/main")
    >>> analysis.stats(tables)
    >>> analysis.plot(tables, "violins", methods={"mulex": "MuleX (ours)"})
    >>> analysis.report(tables, "report.html")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.api import FIGURE_NAMES, across_worlds, confirmed, load, plot, power, report, stats
    from analysis.tables import Tables

__all__ = ["FIGURE_NAMES", "Tables", "across_worlds", "confirmed", "load", "plot", "power", "report", "stats"]


def __getattr__(name: str) -> Any:
    """Import the API when it is first used, so that `import analysis` takes no time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("analysis.tables" if name == "Tables" else "analysis.api"), name)
