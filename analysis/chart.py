"""A figure as data: panels of marks, which the paper's pictures and the report's pages both are drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Axis:
    """What an axis shows; ticks are given where they are not plain numbers."""

    label: str = ""
    log: bool = False
    ticks: Sequence[tuple[float, str]] = ()
    limits: tuple[float, float] | None = None
    whole: bool = False
    """Only whole numbers make sense as ticks."""


@dataclass(frozen=True)
class Line:
    """A curve of a series; the style is solid, dotted or dashed."""

    series: str
    x: np.ndarray
    y: np.ndarray
    style: str = "solid"


@dataclass(frozen=True)
class Band:
    """What lies between two curves."""

    series: str
    x: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Shape:
    """A closed outline, filled."""

    series: str
    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Points:
    """Places in a panel; `runs` are row numbers of `runs`, for those that stand for one run each.

    The kind is dot, best, median, worst or ring; quiet ones are drawn in the report only.
    """

    series: str
    x: np.ndarray
    y: np.ndarray
    runs: np.ndarray | None = None
    kind: str = "dot"
    quiet: bool = False


@dataclass(frozen=True)
class Bars:
    """Lying bars that begin at zero, with their thickness."""

    series: str
    position: np.ndarray
    length: np.ndarray
    thickness: float


@dataclass(frozen=True)
class Cells:
    """A heat map; `lost` is the share of a cell's runs that have no value, 1 where none has."""

    series: str
    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    lost: np.ndarray


@dataclass(frozen=True)
class Rule:
    """A line across the whole panel: horizontal at y, or with the given slope through (0, y)."""

    y: float
    text: str = ""
    slope: float = 0.0


Mark = Line | Band | Shape | Points | Bars | Cells | Rule


@dataclass(frozen=True)
class Panel:
    """One pair of axes and what is in it."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    title: str = ""


@dataclass(frozen=True)
class Chart:
    """A whole figure. `series` are all that may have a colour; `key` says what styles and kinds of marks mean."""

    name: str
    title: str
    caption: str
    series: Sequence[str]
    panels: Sequence[Panel]
    key: Sequence[tuple[str, str]] = field(default_factory=tuple)
    scale: str = ""
    """What the colours of a heat map measure."""
    columns: int = 0
    """How many panels belong beside each other; 0 leaves it to the size."""
    note: str = ""
    """What the picture itself must say."""
    same_y: bool = True
    """Whether the panels' y axes are one and the same."""

    def shown(self) -> list[str]:
        """The series that have marks."""
        there = {mark.series for panel in self.panels for mark in panel.marks if not isinstance(mark, Rule)}
        return [series for series in self.series if series in there]
