"""The page: what was run, how it came out, every figure, and the runs to look at, in one HTML file."""

import html
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from string import Template
from typing import Any

import pandas as pd

from analysis.chart import Chart
from analysis.commands.stats import sections
from analysis.figures.registry import FIGURES, make_charts
from analysis.report.payload import payload
from analysis.statistics import UNSCORED, compute_statistics
from analysis.style import shown
from analysis.tables import Sweep, Tables

SLOWEST = 10
MOST_FAILED = 200
WHICH = ("run", "world", "method", "draw", "seed")


def report_page(tables: Tables, version: str = "") -> str:
    """The whole page; with a version it looks for a newer one at the server that it came from."""
    charts, skipped = make_charts(tables, list(FIGURES))
    parts = {name: _asset(f"page.{name}") for name in ("css", "js")}
    title = ", ".join(dict.fromkeys(sweep.name for sweep in tables.sweeps))
    data = json.dumps(payload(tables, charts), separators=(",", ":"), allow_nan=False)
    return Template(_asset("page.html")).substitute(
        parts,
        title=html.escape(title),
        note=_note(tables),
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=html.escape(version),
        connect="'self'" if version else "'none'",
        methods="".join(_toggle(name) for name in tables.methods),
        about="".join(_about(sweep) for sweep in tables.sweeps),
        statistics=_statistics(tables),
        figures="".join(_figure(chart) for chart in charts),
        skipped=_list(skipped),
        slowest=_slowest(tables.runs),
        failed=_failed(tables),
        data=data.replace("<", "\\u003c"),
    )


def _asset(name: str) -> str:
    return (files("analysis.report") / name).read_text(encoding="utf-8")


def _note(tables: Tables) -> str:
    said = tables.complete.note() or f"all {tables.complete.total:,} runs"
    return html.escape(said + ("" if tables.complete.is_planned else ", no spec to compare with"))


def _toggle(method: str) -> str:
    name = html.escape(method)
    return f'<button type="button" aria-pressed="true" data-method="{name}">{html.escape(shown(method))}</button>'


def _about(sweep: Sweep) -> str:
    runs = sweep.runs
    facts: dict[str, Any] = {"folder": sweep.place.url, "runs": f"{len(runs):,}"}
    for name in ("package_version", "git_commit", "spec_hash", "engine", "host"):
        facts[name.replace("_", " ")] = _values(runs[name])
    facts["started"], facts["finished"] = _moment(runs["started_at"].min()), _moment(runs["finished_at"].max())
    facts["training time"] = f"{pd.to_numeric(runs['seconds']).sum() / 3600:,.1f} h of workers"
    facts["damaged files"] = ", ".join(sweep.damaged)
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
    """Of text, which is escaped, and buttons, which are not."""
    top = "".join(f"<th scope=col>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{_cell(text)}</td>" for text in row) + "</tr>" for row in rows)
    caption = f"<caption>{html.escape(title)}</caption>"
    return (
        f"<div class=wide tabindex=0><table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    return text if isinstance(text, Button) else html.escape(text)


class Button(str):
    """HTML of a button that shows a run."""

    __slots__ = ()


def _figure(chart: Chart) -> str:
    name = html.escape(chart.name)
    key = "".join(f'<li data-style="{html.escape(style)}">{html.escape(text)}</li>' for text, style in chart.key)
    note = f" <em>{html.escape(chart.note)}</em>" if chart.note else ""
    return (
        f'<figure id="{name}"><h3>{html.escape(chart.title)}</h3><ul class=key>{key}</ul><div class=panels></div>'
        f"<figcaption>{html.escape(chart.caption)}{note}</figcaption></figure>"
    )


def _list(lines: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<details><summary>Figures that do not apply here</summary><ul>{items}</ul></details>" if lines else ""


def _slowest(runs: pd.DataFrame) -> str:
    slow = runs.assign(seconds=pd.to_numeric(runs["seconds"])).nlargest(SLOWEST, "seconds")
    rows = [[*_which(row), f"{row['seconds']:,.1f}"] for row in _records(slow)]
    return _table("The slowest runs", [*WHICH, "seconds"], rows) if rows else ""


def _failed(tables: Tables) -> str:
    """Those that count in no statistic, and the diverged ones, which do."""
    bad = tables.runs[tables.runs["outcome"].isin([*UNSCORED, "diverged"])]
    rows = [
        [*_which(row), row["outcome"], row["error"] if isinstance(row["error"], str) else ""]
        for row in _records(bad.head(MOST_FAILED))
    ]
    more = f" ({MOST_FAILED} of {len(bad):,})" if len(bad) > MOST_FAILED else ""
    empty = "<p>No run failed, diverged or stopped early.</p>"
    title = f"Runs that failed, diverged or stopped early{more}"
    return _table(title, [*WHICH, "outcome", "error"], rows) if rows else empty


def _records(runs: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in runs.reset_index().to_dict("records")]


def _which(row: dict[str, Any]) -> list[str]:
    """A run's cells, the first of which shows it."""
    button = Button(f'<button type="button" class=run data-run="{row["index"]}">{html.escape(row["run"])}</button>')
    return [button, row["world"], shown(row["method"]), str(row["draw"]), str(row["seed"])]
