"""The page: what was run, how it came out, every figure, and the runs to look at, in one HTML file."""

import html
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from string import Template
from typing import Any

import pandas as pd

from analysis.best_draws import best_draws, shown_value
from analysis.chart import Chart
from analysis.figures.registry import make_charts
from analysis.labels import display_name
from analysis.loading import Sweep
from analysis.report_page.payload import payload
from analysis.statistics import UNSCORED, compute_statistics
from analysis.statistics_tables import sections
from analysis.tables import Tables
from mulex.messages import first_line
from mulex.store.roles import TEST

BEST = 3
"""Draws of each method in each world."""
MOST_FAILED = 200
SCRIPTS = ("state", "values", "scales", "marks", "panel", "pointer", "run_card", "page")
"""The page's scripts in the order in which they are joined."""
WHICH = ("run", "world", "method", "draw", "seed")


def report_page(tables: Tables) -> str:
    """Return the whole page."""
    charts, skipped = make_charts(tables)
    title = ", ".join(dict.fromkeys(sweep.name for sweep in tables.sweeps))
    data = json.dumps(payload(tables, charts), separators=(",", ":"), allow_nan=False)
    return Template(_asset("page.html")).substitute(
        css=_asset("chart.css") + _asset("page.css"),
        js="\n".join(_asset(f"script/{name}.js") for name in SCRIPTS),
        title=html.escape(title),
        note=_note(tables),
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        methods="".join(_toggle(name) for name in tables.methods),
        about="".join(_about(sweep) for sweep in tables.sweeps),
        statistics=_statistics(tables),
        figures="".join(_figure(chart) for chart in charts),
        skipped=_list(skipped),
        best=_best(tables),
        failed=_failed(tables),
        data=data.replace("<", "\\u003c"),
    )


def _asset(name: str) -> str:
    return (files("analysis.report_page") / name).read_text(encoding="utf-8")


def _note(tables: Tables) -> str:
    said = tables.complete.note() or f"all {tables.complete.total:,} runs"
    return html.escape(said + ("" if tables.complete.is_planned else ", no spec to compare with"))


def _toggle(method: str) -> str:
    name = html.escape(method)
    return (
        f'<button type="button" aria-pressed="true" data-method="{name}">{html.escape(display_name(method))}</button>'
    )


def _about(sweep: Sweep) -> str:
    runs = sweep.runs
    facts: dict[str, Any] = {"folder": sweep.folder.url, "runs": f"{len(runs):,}"}
    for name in ("package_version", "git_commit", "spec_hash", "engine", "host"):
        facts[name.replace("_", " ")] = _values(runs[name])
    facts["started"], facts["finished"] = _moment(runs["started_at"].min()), _moment(runs["finished_at"].max())
    facts["training time"] = f"{pd.to_numeric(runs['seconds']).sum() / 3600:,.1f} h of workers"
    facts["damaged files"] = ", ".join(sweep.damaged)
    facts["files of runs that the spec does not plan"] = ", ".join(sweep.strangers)
    rows = "".join(f"<dt>{key}</dt><dd>{html.escape(str(text))}</dd>" for key, text in facts.items() if text)
    spec = f"<details><summary>spec.yaml</summary><pre tabindex=0>{html.escape(sweep.spec_text)}</pre></details>"
    return f"<h3>{html.escape(sweep.name)}</h3><dl>{rows}</dl>{spec if sweep.spec_text else ''}"


def _values(column: pd.Series) -> str:
    values = [str(value) for value in column.dropna().unique()]
    return ", ".join(values[:5]) + (f" and {len(values) - 5} more" if len(values) > 5 else "")


def _moment(when: Any) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC" if pd.notna(when) else ""


def _statistics(tables: Tables) -> str:
    return "".join(_table(title, head, rows) for title, head, rows in sections(compute_statistics(tables)))


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of text, which is escaped, and of markup, which is not."""
    top = "".join(f"<th scope=col>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{_cell(text)}</td>" for text in row) + "</tr>" for row in rows)
    caption = f"<caption>{html.escape(title)}</caption>"
    return (
        f"<div class=wide tabindex=0><table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    return text if isinstance(text, Markup) else html.escape(text)


class Markup(str):
    """HTML of ours inside a cell, such as a button that shows a run."""

    __slots__ = ()


def _figure(chart: Chart) -> str:
    name = html.escape(chart.name)
    key = "".join(f'<li data-style="{html.escape(style)}">{html.escape(text)}</li>' for text, style in chart.key)
    wide = " class=many" if len(chart.panels) > 2 else ""
    note = f" <em>{html.escape(chart.note)}</em>" if chart.note else ""
    return (
        f'<figure id="{name}"{wide}><h3>{html.escape(chart.title)}</h3><ul class=key>{key}</ul><div class=panels></div>'
        f"<figcaption>{html.escape(chart.caption)}{note}</figcaption></figure>"
    )


def _list(lines: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<details><summary>Figures that do not apply here</summary><ul>{items}</ul></details>" if lines else ""


def _best(tables: Tables) -> str:
    """Return a table of the best draws for each world."""
    found: dict[str, list[list[str]]] = {}
    for one in best_draws(tables, BEST):
        ends = "" if math.isnan(one.low) else f" [{one.low:.3f}, {one.high:.3f}]"
        seeds = f"{one.seeds} {'test' if one.role == TEST else 'tuning'}"
        values = ", ".join(f"{display_name(name)} = {shown_value(value)}" for name, value in one.values.items())
        head = [display_name(one.method), str(one.rank), str(one.draw), f"{one.score:.3f}{ends}", seeds]
        wrapped = Markup(f'<span class="values">{html.escape(values)}</span>')
        found.setdefault(one.world, []).append([*head, wrapped, _folded("train it alone", one.command)])
    heads = ["method", "rank", "draw", "score", "seeds", "hyperparameters", "command"]
    return "".join(_table(world, heads, rows) for world, rows in found.items()) or "<p>No draw is finished.</p>"


def _folded(summary: str, text: str) -> "Markup":
    """Return a text that opens on demand."""
    if not text:
        return Markup("")
    opened = f"<summary>{html.escape(summary)}</summary><pre tabindex=0>{html.escape(text)}</pre>"
    return Markup(f"<details>{opened}</details>")


def _failed(tables: Tables) -> str:
    """Return a table of the runs that count in no statistic, and of the diverged ones, which do."""
    bad = tables.runs[tables.runs["outcome"].isin([*UNSCORED, "diverged"])]
    rows = [[*_which(row), row["outcome"], _error(row["error"])] for row in _records(bad.head(MOST_FAILED))]
    more = f" ({MOST_FAILED} of {len(bad):,})" if len(bad) > MOST_FAILED else ""
    empty = "<p>No run failed, diverged or stopped early.</p>"
    title = f"Runs that failed, diverged or stopped early{more}"
    return _table(title, [*WHICH, "outcome", "error"], rows) if rows else empty


def _error(error: Any) -> str:
    """Return the first line of an error, which opens to the whole traceback if there is more."""
    text = error.strip() if isinstance(error, str) else ""
    return _folded(first_line(text), text) if "\n" in text else text


def _records(runs: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in runs.reset_index().to_dict("records")]


def _which(row: dict[str, Any]) -> list[str]:
    """Return a run's cells, of which the first is a button that shows it."""
    button = Markup(f'<button type="button" class=run data-run="{row["index"]}">{html.escape(row["run"])}</button>')
    return [button, row["world"], display_name(row["method"]), str(row["draw"]), str(row["seed"])]
