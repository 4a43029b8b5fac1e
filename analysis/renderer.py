"""Draws a chart with matplotlib."""

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullFormatter, NullLocator

from analysis.chart import Axis, Band, Bars, Cells, Chart, Line, Mark, Panel, Points, Rule, Shape, Span
from analysis.style import FAINT, HEAT, INK, LOST, Size, settings

LINES: dict[str, Any] = {"solid": "-", "dotted": ":", "dashed": "--"}
MARKERS = {"dot": "o", "ring": "o", "best": "^", "median": "D", "worst": "v"}
MANY = 300
"""Dots above which a panel's dots are drawn small, faint and as a bitmap."""
GAP = 0.06
"""Between panels beside each other, as a share of their width: the last tick of one is not read as the next one's."""
TEXT_SHARE = 0.08
"""The share of a panel's height that a line of small text takes at most."""
METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Without dates, so that the same tables give the same file."""
Entries = list[Patch | Line2D]


class Picture(Figure):
    """A matplotlib figure that keeps its own settings, knows its caption and shows itself in a notebook.

    It belongs to no pyplot state and no interactive backend. All methods of a Figure work on it.

    Attributes:
        chart: What is drawn, as data.
        size: The measures it was made for.
    """

    def __init__(self, chart: Chart, size: Size) -> None:
        self.chart = chart
        self.size = size
        self._settings = settings(size)
        with mpl.rc_context(self._settings):
            super().__init__(figsize=_measures(chart, size), dpi=size.dpi)
            self.set_layout_engine("constrained", wspace=GAP)

    @property
    def caption(self) -> str:
        """The text that belongs below the figure in a paper."""
        return self.chart.caption

    def draw(self, renderer: Any) -> None:
        """Draw with the figure's own settings, since matplotlib makes ticks only now."""
        with mpl.rc_context(self._settings):
            super().draw(renderer)

    def savefig(self, fname: Any, *, transparent: bool | None = None, **options: Any) -> None:
        """Save as Figure.savefig does, with the figure's own settings and without a date."""
        kind = str(options.get("format") or Path(str(fname)).suffix.removeprefix("."))
        with mpl.rc_context(self._settings):
            super().savefig(fname, transparent=transparent, **{"metadata": METADATA.get(kind), **options})

    def content(self, kind: str) -> bytes:
        """Return the content of a file of this kind: png, pdf or svg."""
        file = io.BytesIO()
        self.savefig(file, format=kind)
        return file.getvalue()

    def _repr_png_(self) -> bytes:
        return self.content("png")


def render(chart: Chart, size: Size, note: str = "", title: str = "") -> Picture:
    """Draw a chart; the note is printed below the panels, together with the chart's own."""
    figure = Picture(chart, size)
    chart, note, title = _literal(chart), literal(note), literal(title)
    with mpl.rc_context(settings(size)):
        _add_axes(figure, chart, size)
        heat = _heat_scale(chart)
        for axes, panel in zip(figure.axes, chart.panels, strict=True):
            _draw_panel(axes, panel, chart.colours(), heat, size)
        if chart.same_y:
            _share_y_label(figure, size)
        if heat is not None:
            figure.colorbar(ScalarMappable(heat, HEAT), ax=list(figure.axes), label=chart.scale, shrink=0.8, aspect=30)
        _add_legend(figure, chart, size)
        if title:
            figure.suptitle(title, fontsize=size.letters * 1.15)
        if text := "; ".join(filter(None, [note, chart.note])):
            figure.supxlabel(text, x=0.99, ha="right", fontsize=size.letters * 0.85, color=FAINT, style="italic")
    figure.draw_without_rendering()  # the first layout makes ticks, which the second one finds room for
    return figure


def literal(text: str) -> str:
    """Return a text that matplotlib shows as it is: a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def _literal(chart: Chart) -> Chart:
    """Return a chart in whose names and labels dollar signs are literal."""
    panels = [
        replace(
            panel,
            x=_literal_axis(panel.x),
            y=_literal_axis(panel.y),
            title=literal(panel.title),
            marks=[replace(m, text=literal(m.text)) if isinstance(m, Rule) else m for m in panel.marks],
        )
        for panel in chart.panels
    ]
    series = [replace(one, name=literal(one.name)) for one in chart.series]
    key = [(literal(text), style) for text, style in chart.key]
    return replace(chart, panels=panels, series=series, key=key, scale=literal(chart.scale), note=literal(chart.note))


def _literal_axis(axis: Axis) -> Axis:
    return replace(axis, label=literal(axis.label), ticks=[(x, literal(text)) for x, text in axis.ticks])


def _measures(chart: Chart, size: Size) -> tuple[float, float]:
    """Return the width and height in inches; a panel is high enough for the texts at its y axis."""
    n = len(chart.panels)
    columns = _columns(chart, size)
    width = size.single if n == 1 else size.width
    ratio = 0.9 if chart.scale else 0.66 if columns == 1 else 0.8
    texts = max(len(panel.y.ticks) for panel in chart.panels)
    panel = max(width / columns * ratio, size.letters / 72 * (1.5 * texts + 5))
    return width, size.height or panel * math.ceil(n / columns) + size.letters / 72 * 4.5


def _columns(chart: Chart, size: Size) -> int:
    """Return how many panels are beside each other: fewer where the texts at their y axes would take half of it."""
    columns = size.columns(len(chart.panels), chart.columns)
    longest = max((len(text) for panel in chart.panels for _, text in panel.y.ticks), default=0)
    return max(1, min(columns, int(size.width / 2 / max(_inches(longest, size), 1e-9))))


def _inches(letters: int, size: Size) -> float:
    """Return the width of so many letters, roughly: a letter is about half as wide as high."""
    return letters * 0.5 * size.letters / 72


def _add_axes(figure: Figure, chart: Chart, size: Size) -> None:
    n = len(chart.panels)
    columns = _columns(chart, size)
    first: Axes | None = None
    for i in range(n):
        axes = figure.add_subplot(math.ceil(n / columns), columns, i + 1, sharey=first if chart.same_y else None)
        first = first or axes
        axes.tick_params(labelleft=i % columns == 0 or not chart.same_y)


def _share_y_label(figure: Figure, size: Size) -> None:
    """Label the y axis once: at the first column, or beside all rows, where a label might be longer than its panel."""
    label = figure.axes[0].get_ylabel()
    has_rows = not figure.axes[-1].get_subplotspec().is_first_row()  # type: ignore[union-attr]
    for axes in figure.axes[0 if has_rows else 1 :]:
        axes.set_ylabel("")
    if has_rows:
        figure.supylabel(label, fontsize=size.letters, color=INK)


def _draw_panel(axes: Axes, panel: Panel, colours: dict[str, str], heat: Normalize | None, size: Size) -> None:
    axes.set_title(panel.title)
    for mark in panel.marks:
        _draw_mark(axes, mark, colours, heat, size)
    _set_axis(axes, "x", panel.x, size)
    _set_axis(axes, "y", panel.y, size)
    for mark in panel.marks:
        if isinstance(mark, Rule) and mark.text:
            _label_rule(axes, mark, size)
    if any(isinstance(mark, Cells) for mark in panel.marks):
        axes.set_aspect("equal")
        axes.grid(False)
        axes.spines[:].set_visible(False)


def _draw_mark(axes: Axes, mark: Mark, colours: dict[str, str], heat: Normalize | None, size: Size) -> None:
    colour = INK if isinstance(mark, Rule) else colours[mark.series]
    if isinstance(mark, Line):
        axes.plot(mark.x, mark.y, LINES[mark.style], color=colour, zorder=3)
    elif isinstance(mark, Band):
        axes.fill_between(mark.x, mark.low, mark.high, color=colour, alpha=0.18, linewidth=0, zorder=2)
    elif isinstance(mark, Shape):
        axes.fill(mark.x, mark.y, facecolor=colour, edgecolor=colour, alpha=0.45, linewidth=0.8)
    elif isinstance(mark, Bars):
        axes.barh(mark.position, mark.length, mark.thickness, color=colour)
    elif isinstance(mark, Span):
        axes.plot(mark.x, mark.y, color=colour, alpha=0.5, zorder=2)
    elif isinstance(mark, Points):
        _draw_points(axes, mark, colour, size)
    elif isinstance(mark, Rule):
        axes.axline((0, mark.y), slope=mark.slope, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    elif heat is not None:
        _draw_cells(axes, mark, heat, size)


def _label_rule(axes: Axes, rule: Rule, size: Size) -> None:
    """Put a rule's text above its end, along a sloped one; beside it where little of that is in the panel."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    options: dict[str, Any] = {"fontsize": size.letters * 0.8, "color": FAINT, "textcoords": "offset points"}
    if rule.slope <= 0:
        axes.annotate(rule.text, (right, rule.y), (0, 2), ha="right", va="baseline", **options)
        return
    enters, leaves = (bottom - rule.y) / rule.slope, (top - rule.y) / rule.slope
    if leaves < (left + right) / 2 and not rule.at_start:
        axes.annotate(rule.text, (leaves, top), (size.letters, -2), ha="left", va="top", **options)
        return
    if enters > (left + right) / 2 and rule.at_start:
        axes.annotate(rule.text, (enters, bottom), (-size.letters, 2), ha="right", va="bottom", **options)
        return
    height = top - bottom
    x = min(right, leaves - TEXT_SHARE * height / rule.slope)
    if rule.at_start:
        x = max(left, enters) + 0.02 * (right - left)
    turned: dict[str, Any] = {"rotation_mode": "anchor", "transform_rotates_text": True, "va": "bottom"}
    turned |= {"rotation": math.degrees(math.atan(rule.slope)), "ha": "left" if rule.at_start else "right"}
    axes.text(
        x,
        rule.y + rule.slope * x + height / 60,
        rule.text,
        fontsize=options["fontsize"],
        color=FAINT,
        **turned,
    )


def _draw_points(axes: Axes, points: Points, colour: str, size: Size) -> None:
    if points.quiet:
        return
    many = points.kind == "dot" and len(points.x) > MANY
    is_mark = points.kind in ("best", "median", "worst")
    axes.scatter(
        points.x,
        points.y,
        marker=MARKERS[points.kind],
        s=size.dot * (0.6 if many else 4 if is_mark else 9 if points.kind == "ring" else 2),
        facecolor="white" if is_mark else colour,
        edgecolor=INK if is_mark else "none",
        alpha=0.25 if many else 1.0 if is_mark or points.kind == "ring" else 0.5,
        linewidth=size.letters / 11,
        zorder=4 if is_mark else 2.5,
        rasterized=many,
    )


def _draw_cells(axes: Axes, cells: Cells, heat: Normalize, size: Size) -> None:
    boxes = [Rectangle((c - 0.5, r - 0.5), 1, 1) for r, c in zip(cells.row, cells.column, strict=True)]
    shades = mpl.colormaps[HEAT](heat(np.nan_to_num(cells.value)))
    shades[cells.lost >= 1] = mpl.colors.to_rgba(LOST)
    axes.add_collection(PatchCollection(boxes, facecolor=shades, edgecolor="white", linewidth=0.4))
    some = cells.lost > 0
    axes.scatter(
        cells.column[some],
        cells.row[some],
        marker="x",
        s=size.dot * (1 + 5 * cells.lost[some]),
        color="#D55E00",
        linewidth=size.letters / 9,
    )


def _set_axis(axes: Axes, which: str, axis: Axis, size: Size) -> None:
    drawn = axes.xaxis if which == "x" else axes.yaxis
    drawn.set_label_text(axis.label)
    if axis.log:
        axes.set(**{f"{which}scale": "log"})
        drawn.set_minor_formatter(NullFormatter())
        low, high = axis.limits or drawn.get_view_interval()
        if high < 100 * low and not axis.ticks:
            ticks = _few(short_log_ticks(low, high), axes, size)
            drawn.set_major_locator(FixedLocator(ticks))
            drawn.set_major_formatter(FixedFormatter([_number(x) for x in ticks]))
    if axis.ticks:
        drawn.set_major_locator(FixedLocator([x for x, _ in axis.ticks]))
        drawn.set_major_formatter(FixedFormatter([text for _, text in axis.ticks]))
        drawn.set_minor_locator(NullLocator())
        drawn.set_minor_formatter(NullFormatter())
        drawn.grid(False)
    if axis.whole:
        drawn.set_major_locator(MaxNLocator("auto", integer=True))
    if axis.limits:
        axes.set(**{f"{which}lim": axis.limits})


def short_log_ticks(low: float, high: float) -> list[float]:
    """Return two to five round numbers on a logarithmic axis of less than two decades."""
    digits = (1, 3) if high > 20 * low else (1, 2, 5)
    decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
    ticks = [x for x in ticks if low <= x <= high]
    return ticks if len(ticks) > 1 else [low, high]


def _few(ticks: list[float], axes: Axes, size: Size) -> list[float]:
    """Leave ticks out until their labels fit beside each other."""
    inches = axes.get_position().width * axes.get_figure(root=True).get_figwidth()  # type: ignore[union-attr]
    label = max(len(_number(x)) for x in ticks) * size.letters * 0.8 / 72
    return ticks[:: max(1, math.ceil(len(ticks) * label / inches))]


def _number(x: float) -> str:
    """Write a number with three digits, and without an exponent as long as it is short."""
    return f"{float(f'{x:.3g}'):.0f}" if 1000 <= x < 1e6 else f"{x:.3g}"


def _heat_scale(chart: Chart) -> Normalize | None:
    """Return one scale for all heat maps of a chart, so that they can be compared; None if it has none."""
    cells = [mark for panel in chart.panels for mark in panel.marks if isinstance(mark, Cells)]
    known = np.concatenate([mark.value[mark.lost < 1] for mark in cells]) if cells else np.array([])
    return Normalize(0, float(known.max()) if len(known) else 1.0) if cells else None


def _add_legend(figure: Figure, chart: Chart, size: Size) -> None:
    """Put series and styles into one line, or below each other where that would be too long."""
    series: Entries = [] if chart.scale else [Patch(facecolor=s.colour, label=s.name) for s in chart.shown()]
    styles: Entries = [_sample(style, text, size) for text, style in chart.key]
    if len(series) + len(styles) < 2 and not styles:
        return
    rows = [series + styles] if _fits(series + styles, figure, size) else [row for row in (series, styles) if row]
    across = max(len(row) for row in rows)
    padded = [[*row, *[Line2D([], [], linestyle="", label=" ")] * (across - len(row))] for row in rows]
    entries = [row[i] for i in range(across) for row in padded]  # matplotlib fills columns first
    figure.legend(handles=entries, loc="outside upper center", ncols=across, frameon=False, handlelength=1.6)


def _fits(entries: Entries, figure: Figure, size: Size) -> bool:
    """Whether entries fit into a line: beside its text each has a sample and a gap, as wide as nine letters."""
    letters = sum(len(str(entry.get_label())) + 9 for entry in entries)
    return _inches(letters, size) < figure.get_figwidth()


def _sample(style: str, text: str, size: Size) -> Line2D:
    if style in LINES:
        return Line2D([], [], color=INK, linestyle=LINES[style], label=text)
    if style == "lost":
        return Line2D([], [], color="#D55E00", marker="x", linestyle="", label=text)
    sample = Line2D([], [], color=INK, marker=MARKERS[style], linestyle="", label=text)
    sample.set(markerfacecolor="white", markeredgecolor=INK, markersize=size.letters * 0.6)
    return sample
