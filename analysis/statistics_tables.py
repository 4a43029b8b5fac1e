"""The statistics as tables of text, for the terminal and for the report."""

import math
from typing import NamedTuple

from analysis.bootstrap import LEVEL
from analysis.estimates import Estimate
from analysis.labels import display_name
from analysis.statistics import MethodStatistics, Statistics
from mulex.messages import first_line

SHOWN = ("iqm", "median", "worst_decile", "best", "worst")
"""The measures that fit into a line of the terminal; --json has all of them."""
MOST_NAMED = 20
"""Runs that are named one by one in the terminal."""
HEADS = {"iqm": "IQM", "worst_decile": "worst decile"}


class Section(NamedTuple):
    """One table: a title, the names of its columns, and its rows."""

    title: str
    head: list[str]
    rows: list[list[str]]


def sections(statistics: Statistics) -> list[Section]:
    """Return the tables that have rows: scores, spread, comparisons of methods, and counts of runs."""
    tables = [_scores(statistics), _confirmed(statistics), _spreads(statistics), _comparisons(statistics)]
    tables.append(_across(statistics))
    tables.append(_counts(statistics))
    return [table for table in tables if table.rows]


def _scores(statistics: Statistics) -> Section:
    looks = round((1 - LEVEL) / (1 - statistics.level))
    title = f"{statistics.score}, 95 % intervals of a bootstrap over draws, seed {statistics.seed}"
    if looks > 1:
        title += f" (each with level {100 * statistics.level:.2f} %: search.until plans {looks} looks at the draws)"
    head = ["world", "method", "runs", *[HEADS.get(name, name) for name in SHOWN]]
    rows = [
        [m.world, display_name(m.method), f"{m.runs:,}", *[_interval(m.measures[name]) for name in SHOWN]]
        for m in statistics.methods
    ]
    return Section(title, head, rows)


def _confirmed(statistics: Statistics) -> Section:
    title = "The best draws with test seeds, which no tuning saw; the bias is the tuned score less the confirmed one"
    head = ["world", "method", "draw", "tuned", "confirmed", "bias", "test seeds"]
    rows = []
    for one in statistics.confirmed:
        place = [one.world, display_name(one.method)]
        for draw in one.draws:
            numbers = [f"{draw.tuned:.3f}", _interval(draw.confirmed), _interval(draw.bias), str(len(draw.scores))]
            rows.append([*place, str(draw.draw), *numbers])
        if len(one.draws) > 1:
            rows.append([*place, f"all {len(one.draws)}", "", "", _interval(one.bias), ""])
    return Section(title, head, rows)


def _spreads(statistics: Statistics) -> Section:
    title = (
        "Where the spread comes from, and how soon the best runs reach the ideal return: the test runs of the best "
        "draw, or else the best 10 tuning runs"
    )
    head = ["world", "method", "sd of draws", "sd of seeds", "draws' share", "iterations to ideal (best runs)"]
    rows = [[m.world, display_name(m.method), *_spread(m), _iterations(m)] for m in statistics.methods]
    return Section(title, head, rows)


def _comparisons(statistics: Statistics) -> Section:
    title = "A random draw of one method against one of another"
    rows = [
        [pair.world, f"{display_name(pair.method)} beats {display_name(pair.other)}", _interval(pair.probability)]
        for pair in statistics.comparisons
    ]
    return Section(title, ["world", "pair", "probability"], rows)


def _across(statistics: Statistics) -> Section:
    title = "One setting for all worlds, chosen by scores that are normalised by rank among all runs of a world"
    head = ["method", "draw", "score by rank", "lowest in a world", "must be tuned by world", "values"]
    rows = []
    for one in statistics.across:
        ends = "-" if math.isnan(one.low) else f"{one.low:.3f}, {one.high:.3f}"
        values = ", ".join(f"{n} {v:.3g}" if isinstance(v, float) else f"{n} {v}" for n, v in one.values.items())
        tuned = "-" if one.dimension is None else f"{one.dimension} of {one.hyperparameters}"
        lowest = f"{min(one.by_world.values()):.3f}"
        rows.append([display_name(one.method), str(one.draw), f"{one.score:.3f} [{ends}]", lowest, tuned, values])
    return Section(title, head, rows)


def _counts(statistics: Statistics) -> Section:
    counts = statistics.counts
    names = [name for name in counts.columns if name not in ("world", "method")]
    if not counts["perhaps"].any():
        names.remove("perhaps")
    rows = [
        [row["world"], display_name(row["method"]), *[f"{row[name]:,}" for name in names]]
        for row in counts.to_dict("records")
    ]
    return Section("Runs", ["world", "method", *names], rows)


def _interval(estimate: Estimate) -> str:
    ends = "-" if math.isnan(estimate.low) else f"{estimate.low:.3f}, {estimate.high:.3f}"
    return f"{estimate.value:.3f} [{ends}]"


def _spread(method: MethodStatistics) -> list[str]:
    draws, seeds = method.variance_draws, method.variance_seeds
    if draws is None or seeds is None:
        return ["-", "-", "-"]
    share = f"{draws / (draws + seeds):.0%}" if draws + seeds > 0 else "-"
    return [f"{math.sqrt(draws):.3f}", f"{math.sqrt(seeds):.3f}", share]


def _iterations(method: MethodStatistics) -> str:
    estimate = method.iterations_to_ideal
    if estimate is None:
        return "-"
    low, value, high = (
        f"{x:.0f}" if math.isfinite(x) else f">{method.iterations}"
        for x in (estimate.low, estimate.value, estimate.high)
    )
    return f"{value} [-]" if math.isnan(estimate.low) else f"{value} [{low}, {high}]"


def left_out(statistics: Statistics) -> list[str]:
    """Return a line for each run that counts in no statistic, and for those that are missing."""
    lines = [
        f"{run['outcome']}: {run['world']} {run['method']} draw {run['draw']} seed {run['seed']} ({run['run']})"
        + (f": {first_line(run['error'])}" if run["error"] else "")
        for run in statistics.unscored[:MOST_NAMED]
    ]
    if len(statistics.unscored) > MOST_NAMED:
        lines.append(f"and {len(statistics.unscored) - MOST_NAMED} more; --json lists them all")
    missing, perhaps = (int(statistics.counts[name].sum()) for name in ("missing", "perhaps"))
    if missing:
        lines.append(f"missing: {missing:,} planned runs are not there yet")
    if perhaps:
        lines.append(f"perhaps missing: up to {perhaps:,} more, unless their draws repeat others and are trained once")
    return lines
