"""How a sweep stands in numbers, as the list of sweeps and the head of a sweep's page show it."""

import math
import time
from typing import Any

from analysis.labels import USUAL, display_name
from analysis.live.view import View
from analysis.live.watch import Watched
from analysis.style import page_colour
from mulex.messages import first_line
from sweeps.monitor.status import Line

COUNTS = ("done", "running", "failed", "pending")
MOST_FAILURES = 50


def summary(sweep: Watched) -> dict[str, Any]:
    """Describe a sweep in one line of the list."""
    about: dict[str, Any] = {
        "key": sweep.key,
        "folder": sweep.folder.url,
        "name": sweep.view.name if sweep.view else sweep.key,
        "problem": sweep.problem,
        "reading": not sweep.read_at,
        "read": max(0.0, time.time() - sweep.read_at) if sweep.read_at else None,
    }
    return about | (_progress(sweep.view, sweep.is_active) if sweep.view else {})


def _progress(view: View, is_active: bool) -> dict[str, Any]:
    forecast = view.forecast if is_active else None
    scores = [line.best for line in view.lines if line.best is not None and math.isfinite(line.best)]
    return {
        **{name: view.count(name) for name in COUNTS},
        "total": view.count("total"),
        "ended": view.ended,
        "active": is_active,
        "partly": sum(line.partly for line in view.lines) + _paused_share(view),
        "paused": _paused(view),
        "rate": forecast.runs_an_hour if forecast else None,
        "left": forecast.seconds_left if forecast else None,
        "least": forecast.is_least if forecast else False,
        "best": max(scores, default=None),
        "methods": list(dict.fromkeys(line.method for line in view.lines)),
        "worlds": list(dict.fromkeys(line.world for line in view.lines)),
    }


def _paused_share(view: View) -> float:
    """What packs that wait with a checkpoint have done, as a number of runs."""
    paused = view.runs[view.runs["status"] == "paused"]
    return float((paused["iteration"] / paused["iterations"]).sum())


def _paused(view: View) -> dict[str, int] | None:
    """How many packs wait with a checkpoint, and the iterations of those that are furthest and least far."""
    if not view.paused:
        return None
    return {"packs": len(view.paused), "first": view.paused[-1].iteration, "last": view.paused[0].iteration}


def sweep_page(sweep: Watched) -> dict[str, Any]:
    """Describe a sweep for its own page: progress by method and world, and what went wrong."""
    if sweep.view is None:
        return summary(sweep)
    view = sweep.view
    series = USUAL.series(list(dict.fromkeys(line.method for line in view.lines)))
    return {
        **summary(sweep),
        "lines": [_line(line) for line in view.lines],
        "series": {item.key: {"name": item.name, "colour": page_colour(item.colour)} for item in series},
        "packs": len(view.packs),
        "hosts": len({pack.get("host") for pack in view.packs}),
        "failures": _failures(view),
        "damaged": view.damaged[:MOST_FAILURES],
    }


def _line(line: Line) -> dict[str, Any]:
    counts = {name: getattr(line, name) for name in (*COUNTS, "total", "partly")}
    return {
        "world": line.world,
        "method": line.method,
        "title": display_name(line.method),
        **counts,
        "best": _finite(line.best),
        "median": _finite(line.median),
    }


def _failures(view: View) -> list[dict[str, Any]]:
    """The failures by the first line of their error, most frequent first, each with one of its runs."""
    bad = view.runs[view.runs["status"].isin(["failed", "diverged"])]
    last = bad["error"].fillna("").map(lambda text: first_line(str(text)) or "no message")
    kinds = bad.groupby([bad["status"], last.rename("reason")], sort=False)["run"].agg(["size", "first"])
    kinds = kinds.sort_values("size", ascending=False).head(MOST_FAILURES).reset_index()
    return [
        {"status": row["status"], "reason": row["reason"], "runs": int(row["size"]), "run": row["first"]}
        for row in kinds.to_dict("records")
    ]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
