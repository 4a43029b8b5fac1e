"""A chart as a picture, by matplotlib."""

import io
import math
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

from analysis.chart import Axis, Band, Bars, Cells, Chart, Line, Mark, Panel, Points, Rule, Shape
from analysis.style import FAINT, HEAT, INK, LOST, Size, colours, settings, shown

LINES: dict[str, Any] = {"solid": "-", "dotted": ":", "dashed": "--"}
MARKERS = {"dot": "o", "ring": "o", "best": "^", "median": "D", "worst": "v"}
MANY = 300
Entries = list[Patch | Line2D]


def draw(chart: Chart, size: Size, kind: str, note: str = "") -> bytes:
    """The picture as a file's content: png, pdf or svg. The note is what must be known of the sweep."""
    with mpl.rc_context(settings(size)):
        figure = _figure(chart, size)
        palette = colours(chart.series)
        for axes, panel in zip(figure.axes, list(chart.panels), strict=True):
            _draw_panel(axes, panel, palette, _range(chart), size)
            if chart.same_y and not axes.get_subplotspec().is_first_col():  # type: ignore[union-attr]
                axes.set_ylabel("")
        _colour_bar(figure, chart)
        _legend(figure, chart, palette, size)
        if said := "; ".join(filter(None, [note, chart.note])):
            figure.supxlabel(said, x=0.99, ha="right", fontsize=size.letters * 0.85, color=FAINT, style="italic")
        file = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(file, format=kind, dpi=size.dpi, metadata=metadata)
        return file.getvalue()


def _figure(chart: Chart, size: Size) -> Figure:
    n = len(chart.panels)
    columns = size.columns(n, chart.columns)
    rows = math.ceil(n / columns)
    width = size.single if n == 1 else size.width
    ratio = 0.9 if chart.scale else 0.66 if n == 1 else 0.8
    height = width / columns * ratio * rows + size.letters / 72 * 4.5
    figure = Figure(figsize=(width, height), layout="constrained")
    first: Axes | None = None
    for i in range(n):
        axes = figure.add_subplot(rows, columns, i + 1, sharey=first if chart.same_y else None)
        first = first or axes
        axes.tick_params(labelleft=i % columns == 0 or not chart.same_y)
    return figure


def _draw_panel(axes: Axes, panel: Panel, palette: dict[str, str], heat: Normalize | None, size: Size) -> None:
    axes.set_title(panel.title)
    for mark in panel.marks:
        _draw_mark(axes, mark, palette, heat, size)
    _set_axis(axes, "x", panel.x)
    _set_axis(axes, "y", panel.y)
    if any(isinstance(mark, Cells) for mark in panel.marks):
        axes.set_aspect("equal")
        axes.grid(False)
        axes.spines[:].set_visible(False)


def _draw_mark(axes: Axes, mark: Mark, palette: dict[str, str], heat: Normalize | None, size: Size) -> None:
    colour = INK if isinstance(mark, Rule) else palette[mark.series]
    if isinstance(mark, Line):
        axes.plot(mark.x, mark.y, LINES[mark.style], color=colour, zorder=3)
    elif isinstance(mark, Band):
        axes.fill_between(mark.x, mark.low, mark.high, color=colour, alpha=0.18, linewidth=0, zorder=2)
    elif isinstance(mark, Shape):
        axes.fill(mark.x, mark.y, facecolor=colour, edgecolor=colour, alpha=0.45, linewidth=0.8)
    elif isinstance(mark, Bars):
        axes.barh(mark.position, mark.length, mark.thickness, color=colour)
    elif isinstance(mark, Points):
        _draw_points(axes, mark, colour, size)
    elif isinstance(mark, Rule):
        axes.axline((0, mark.y), slope=mark.slope, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        _rule_text(axes, mark, size)
    elif heat is not None:
        _draw_cells(axes, mark, heat, size)


def _rule_text(axes: Axes, rule: Rule, size: Size) -> None:
    if rule.text:
        axes.annotate(
            rule.text,
            xy=(1, rule.y),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right",
            fontsize=size.letters * 0.8,
            color=FAINT,
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


def _set_axis(axes: Axes, which: str, axis: Axis) -> None:
    place = axes.xaxis if which == "x" else axes.yaxis
    place.set_label_text(axis.label)
    if axis.log:
        axes.set(**{f"{which}scale": "log"})
        low, high = place.get_view_interval()
        if high > 100 * low:
            place.set_minor_formatter(NullFormatter())
    if axis.ticks:
        place.set_major_locator(FixedLocator([x for x, _ in axis.ticks]))
        place.set_major_formatter(FixedFormatter([text for _, text in axis.ticks]))
        place.set_minor_locator(NullLocator())
        place.set_minor_formatter(NullFormatter())
        place.grid(False)
    if axis.whole:
        place.set_major_locator(MaxNLocator("auto", integer=True))
    if axis.limits:
        axes.set(**{f"{which}lim": axis.limits})


def _range(chart: Chart) -> Normalize | None:
    """One scale for all heat maps of a chart, so that they can be compared."""
    cells = [mark for panel in chart.panels for mark in panel.marks if isinstance(mark, Cells)]
    known = np.concatenate([mark.value[mark.lost < 1] for mark in cells]) if cells else np.array([])
    return Normalize(0, float(known.max()) if len(known) else 1.0) if cells else None


def _colour_bar(figure: Figure, chart: Chart) -> None:
    heat = _range(chart)
    if heat is not None:
        figure.colorbar(ScalarMappable(heat, HEAT), ax=list(figure.axes), label=chart.scale, shrink=0.8, aspect=30)


def _legend(figure: Figure, chart: Chart, palette: dict[str, str], size: Size) -> None:
    """Series and styles in one line, or one below the other where that is too long."""
    series: Entries = [] if chart.scale else [_swatch(palette[name], shown(name)) for name in chart.shown()]
    styles: Entries = [_sample(style, text, size) for text, style in chart.key]
    if len(series) + len(styles) < 2 and not styles:
        return
    rows = [series + styles] if _fits(series + styles, figure, size) else [row for row in (series, styles) if row]
    across = max(len(row) for row in rows)
    padded = [[*row, *[_nothing()] * (across - len(row))] for row in rows]
    entries = [row[i] for i in range(across) for row in padded]  # matplotlib fills columns first
    figure.legend(handles=entries, loc="outside upper center", ncols=across, frameon=False, handlelength=1.6)


def _fits(entries: Entries, figure: Figure, size: Size) -> bool:
    letters = sum(len(str(entry.get_label())) + 6 for entry in entries)
    return letters * size.letters * 0.5 < figure.get_figwidth() * 72


def _nothing() -> Line2D:
    return Line2D([], [], linestyle="", label=" ")


def _swatch(colour: str, text: str) -> Patch:
    return Patch(facecolor=colour, label=text)


def _sample(style: str, text: str, size: Size) -> Line2D:
    if style in LINES:
        return Line2D([], [], color=INK, linestyle=LINES[style], label=text)
    if style == "lost":
        return Line2D([], [], color="#D55E00", marker="x", linestyle="", label=text)
    sample = Line2D([], [], color=INK, marker=MARKERS[style], linestyle="", label=text)
    sample.set(markerfacecolor="white", markeredgecolor=INK, markersize=size.letters * 0.6)
    return sample
