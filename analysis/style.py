"""How every figure looks: colours, sizes and matplotlib's settings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

COLOURS = {
    "epsilon_greedy": "#E69F00",
    "additive": "#0072B2",
    "mulex": "#009E73",
    "two_task_heads": "#CC79A7",
}
OTHERS = ("#D55E00", "#56B4E9", "#000000", "#8C6D00", "#7A5195", "#7F7F7F")
"""Okabe and Ito's colours, which the colour-blind can tell apart, then some that differ in lightness."""

INK, FAINT, LOST = "#222222", "#8A8A8A", "#C8C8C8"
HEAT = "cividis_r"


def palette(keys: Sequence[str]) -> dict[str, str]:
    """Return a colour for each key: the paper's methods always have the same one, the others take theirs in order."""
    others = [key for key in keys if key not in COLOURS]
    return {**COLOURS, **{key: OTHERS[i % len(OTHERS)] for i, key in enumerate(others)}}


def page_colour(colour: str) -> str:
    """Return a colour for a page that may be dark: black becomes the colour of the page's text."""
    return "currentColor" if colour == "#000000" else colour


@dataclass(frozen=True)
class Size:
    """The measures of a figure.

    Attributes:
        width: Inches across.
        single: Inches across where the figure has one panel.
        letters: Font size in points.
        across: How many panels fit beside each other.
        dot: Area of a marker in square points.
        dpi: Pixels per inch of a bitmap.
        height: Inches from top to bottom; None leaves it to the number of panels.
    """

    width: float
    single: float
    letters: float
    across: int
    dot: float
    dpi: int
    height: float | None = None

    def columns(self, panels: int, wanted: int = 0) -> int:
        """Return the columns of the most even grid that fits, or `wanted`, if at most one more than fit."""
        if 0 < wanted <= self.across + 1:
            return wanted
        rows = math.ceil(panels / self.across)
        return math.ceil(panels / rows)


NARROW = 5.0
"""Inches below which a figure has the letters of a paper's column."""
SIZES = {
    "column": Size(width=3.4, single=3.4, letters=7, across=2, dot=3, dpi=300),
    "screen": Size(width=10.5, single=7.0, letters=11, across=3, dot=9, dpi=110),
}


def custom_size(width: float, height: float) -> Size:
    """Return a size of so many inches; one as narrow as a paper's column has a column's letters."""
    usual = SIZES["column"] if width < NARROW else SIZES["screen"]
    return replace(usual, width=width, single=width, height=height)


def settings(size: Size) -> Any:
    """Return matplotlib's settings for figures of this size."""
    return {
        "font.size": size.letters,
        "axes.titlesize": size.letters,
        "axes.labelsize": size.letters,
        "xtick.labelsize": size.letters * 0.9,
        "ytick.labelsize": size.letters * 0.9,
        "legend.fontsize": size.letters * 0.9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.linewidth": size.letters / 11,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#E6E6E6",
        "grid.linewidth": size.letters / 14,
        "lines.linewidth": size.letters / 6,
        "xtick.color": INK,
        "ytick.color": INK,
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "mulex",
        "hatch.linewidth": 0.5,
    }
