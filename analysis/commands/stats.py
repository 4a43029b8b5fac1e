"""`mulex stats`: how robust each method is, in numbers."""

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from analysis.statistics import Estimate, MethodStatistics, Statistics

MOST_NAMED = 20


@click.command()
@click.argument("places", metavar="DIR...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="As one JSON object, for other programs.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the bootstrap.")
def stats(places: Sequence[str], as_json: bool, seed: int) -> None:
    """Show what each method's scores come to, with 95 % intervals, and which runs do not count."""
    from analysis.statistics import compute_statistics
    from analysis.tables import load_tables

    statistics = compute_statistics(load_tables(places), seed)
    if as_json:
        click.echo(json.dumps(statistics.plain(), indent=2))
    else:
        _show(statistics)


def _show(statistics: "Statistics") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for title, head, rows in sections(statistics):
        table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
        for i, name in enumerate(head):
            table.add_column(name, justify="left" if i < 2 else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table, "")
    for line in left_out(statistics):
        console.print(line, highlight=False, soft_wrap=True)


def sections(statistics: "Statistics") -> list[tuple[str, list[str], list[list[str]]]]:
    """The tables to show: title, head and rows."""
    from analysis.measures import MEASURES
    from analysis.style import shown

    words = {"iqm": "IQM", "worst_decile": "worst decile"}
    head = ["world", "method", "runs", *[words.get(name, name) for name in MEASURES]]
    scores = [
        [m.world, shown(m.method), f"{m.runs:,}", *[_range(m.measures[name]) for name in MEASURES]]
        for m in statistics.methods
    ]
    spread_head = ["world", "method", "sd of draws", "sd of seeds", "draws' share", "iterations to ideal (best 10)"]
    spread = [[m.world, shown(m.method), *_spread(m), _ideal(m)] for m in statistics.methods]
    pairs = [
        [pair.world, f"{shown(pair.method)} beats {shown(pair.other)}", _range(pair.probability)]
        for pair in statistics.comparisons
    ]
    unneeded = ("world", "method", *(() if statistics.counts["perhaps"].any() else ("perhaps",)))
    counts_head = ["world", "method", *[name for name in statistics.counts.columns if name not in unneeded]]
    counts = [
        [row["world"], shown(row["method"]), *[f"{row[name]:,}" for name in counts_head[2:]]]
        for row in statistics.counts.to_dict("records")
    ]
    found = [
        (f"{statistics.score}, 95 % intervals of a two-level bootstrap, seed {statistics.seed}", head, scores),
        ("Where the spread comes from, and how soon the best are there", spread_head, spread),
        ("A random draw of one method against one of another", ["world", "pair", "probability"], pairs),
        ("Runs", counts_head, counts),
    ]
    return [(title, names, rows) for title, names, rows in found if rows]


def _range(estimate: "Estimate") -> str:
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _spread(method: "MethodStatistics") -> list[str]:
    draws, seeds = method.variance_draws, method.variance_seeds
    if draws is None or seeds is None:
        return ["-", "-", "-"]
    share = f"{draws / (draws + seeds):.0%}" if draws + seeds > 0 else "-"
    return [f"{math.sqrt(draws):.3f}", f"{math.sqrt(seeds):.3f}", share]


def _ideal(method: "MethodStatistics") -> str:
    estimate = method.iterations_to_ideal
    if estimate is None:
        return "-"
    low, value, high = (
        f"{x:.0f}" if math.isfinite(x) else f">{method.iterations}"
        for x in (estimate.low, estimate.value, estimate.high)
    )
    return f"{value} [{low}, {high}]"


def left_out(statistics: "Statistics") -> list[str]:
    """A line for each run that counts in no statistic, and for those that are not there."""
    lines = [
        f"{run['outcome']}: {run['world']} {run['method']} draw {run['draw']} seed {run['seed']} ({run['run']})"
        + (f": {run['error']}" if run["error"] else "")
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
