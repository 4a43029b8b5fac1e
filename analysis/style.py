"""How every figure looks: colours, names, sizes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
NAMES = {
    "epsilon_greedy": "ε-greedy",
    "additive": "Additive",
    "mulex": "MuleX",
    "two_task_heads": "Two task heads",
    "learning_rate": "learning rate",
    "beta": "β",
    "epsilon": "ε",
    "gamma_steps": "\u03b3 steps",
    "p_task": "p task",
    "p_1": "p₁",
    "first": "first head",
    "second": "second head",
}


def colours(series: Sequence[str]) -> dict[str, str]:
    """A colour for each: always the same for the methods of the paper, the others in their order."""
    others = [name for name in series if name not in COLOURS]
    return {**COLOURS, **{name: OTHERS[i % len(OTHERS)] for i, name in enumerate(others)}}


def shown(name: str) -> str:
    """A method or hyperparameter as people write it."""
    return NAMES.get(name, name.replace("_", " "))


@dataclass(frozen=True)
class Size:
    """A place that figures are made for: inches across, letters in points, how many panels beside each other."""

    width: float
    single: float
    letters: float
    across: int
    dot: float
    dpi: int

    def columns(self, panels: int, wanted: int = 0) -> int:
        """As even a grid as fits, or as many as are wanted if that is no more than one too many."""
        if 0 < wanted <= self.across + 1:
            return wanted
        rows = math.ceil(panels / self.across)
        return math.ceil(panels / rows)


SIZES = {
    "column": Size(width=3.4, single=3.4, letters=7, across=2, dot=3, dpi=300),
    "screen": Size(width=10.5, single=7.0, letters=11, across=3, dot=9, dpi=110),
}


def settings(size: Size) -> Any:
    """Matplotlib's settings."""
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
