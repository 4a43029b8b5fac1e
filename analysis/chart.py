"""A figure as data: panels of marks. The renderer makes pictures of them, the report's script draws them in a page."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Axis:
    """An axis: its label, its scale, and its ticks where they are not plain numbers."""

    label: str = ""
    log: bool = False
    ticks: Sequence[tuple[float, str]] = ()
    limits: tuple[float, float] | None = None
    whole: bool = False
    """Whether only whole numbers make sense as ticks."""


@dataclass(frozen=True)
class Line:
    """A curve of a series; the style is solid, dotted or dashed."""

    series: str
    x: np.ndarray
    y: np.ndarray
    style: str = "solid"


@dataclass(frozen=True)
class Band:
    """The area between two curves."""

    series: str
    x: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Shape:
    """A filled outline."""

    series: str
    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Points:
    """Points of a series; where each stands for one run, `runs` are their rows in the table of runs.

    The kind is dot, best, median, worst or ring. Quiet points are drawn in the report only.
    """

    series: str
    x: np.ndarray
    y: np.ndarray
    runs: np.ndarray | None = None
    kind: str = "dot"
    quiet: bool = False


@dataclass(frozen=True)
class Bars:
    """Horizontal bars that begin at zero."""

    series: str
    position: np.ndarray
    length: np.ndarray
    thickness: float


@dataclass(frozen=True)
class Cells:
    """The cells of a heat map; `lost` is the share of a cell's runs that have no value, 1 where none has one."""

    series: str
    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    lost: np.ndarray


@dataclass(frozen=True)
class Span:
    """A straight line between two points, such as an interval."""

    series: str
    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Rule:
    """A line across the whole panel: horizontal at y, or with the given slope through (0, y)."""

    y: float
    text: str = ""
    slope: float = 0.0
    at_start: bool = False
    """Whether the text of a sloped line belongs to its left end, because something else is at its right end."""


Mark = Line | Band | Shape | Points | Bars | Cells | Span | Rule


@dataclass(frozen=True)
class Panel:
    """One pair of axes and the marks in it."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    title: str = ""


@dataclass(frozen=True)
class Series:
    """What has a colour and an entry in the legend: usually a method."""

    key: str
    name: str
    colour: str


@dataclass(frozen=True)
class Chart:
    """A whole figure. `series` are all that may have marks; `key` says what styles and kinds of marks mean."""

    name: str
    title: str
    caption: str
    series: Sequence[Series]
    panels: Sequence[Panel]
    key: Sequence[tuple[str, str]] = field(default_factory=tuple)
    scale: str = ""
    """The quantity that the colours of a heat map show."""
    columns: int = 0
    """How many panels belong beside each other; 0 leaves it to the size."""
    note: str = ""
    """A remark that is printed on the picture itself."""
    same_y: bool = True
    """Whether all panels have one y axis in common."""

    def shown(self) -> list[Series]:
        """Return the series that have marks."""
        keys = {mark.series for panel in self.panels for mark in panel.marks if not isinstance(mark, Rule)}
        return [series for series in self.series if series.key in keys]

    def colours(self) -> dict[str, str]:
        """Return the colour of each series by its key."""
        return {series.key: series.colour for series in self.series}
