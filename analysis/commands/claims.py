"""`mulex claims`: which of the paper's claims hold in one's own sweeps."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from analysis.claims import Finding
    from analysis.evidence import Evidence

HEAD = ("sweep", "draws x seeds", "the paper says", "measured, with its 95 % interval", "verdict")


@click.command()
@click.argument("places", metavar="DIR...", nargs=-1, required=True)
@click.option("--markdown", is_flag=True, help="As a table for a page.")
def claims(places: Sequence[str], markdown: bool) -> None:
    """Hold the paper's claims against sweeps, each against those named as its experiment is.

    A sweep called main-something is judged as main is. A claim is reproduced if the intervals of all its numbers are
    on its side, not reproduced if one is on the other side, and otherwise there are not enough runs to tell. Where runs
    are shorter than the paper's 800 iterations the verdict says so, and no number counts that longer ones may turn.
    """
    from analysis.claims import CLAIMS, findings
    from analysis.errors import AnalysisError
    from analysis.tables import load_tables

    loaded = [load_tables([place]) for place in places]
    names = [tables.sweeps[0].name for tables in loaded]
    if twice := {name for name in names if names.count(name) > 1}:
        raise AnalysisError(f"{', '.join(sorted(twice))}: several sweeps have this name, by which claims know them")
    found = list(findings(dict(zip(names, loaded, strict=True))))
    if not found:
        known = ", ".join(dict.fromkeys(claim.experiment for claim in CLAIMS))
        about = f"they are about {known}, in worlds with an ideal return"
        raise AnalysisError(f"no claim of the paper is about {', '.join(names)}; {about}")
    rows = [_row(finding) for finding in found]
    if markdown:
        click.echo("\n".join(markdown_table(HEAD, rows)))
    else:
        _show(rows)
    for name, tables in zip(names, loaded, strict=True):
        if tables.complete.note():
            click.echo(f"not whole: {name}: {tables.complete.note()}", err=True)


def _row(finding: "Finding") -> list[str]:
    parts = [f"{one.what}: {_number(one)}" for one in finding.evidence]
    return [finding.sweep, finding.runs, finding.claim.says, "; ".join(parts), finding.verdict + finding.scope]


def _number(evidence: "Evidence") -> str:
    found = evidence.estimate
    if math.isnan(found.value):
        return "-"
    value, low, high = (f"{x:.2f}" if math.isfinite(x) else "∞" for x in (found.value, found.low, found.high))
    side = "above" if evidence.above else "below"
    later = f", may {evidence.may_yet} in longer runs" if evidence.may_yet else ""
    return f"{value} [{low}, {high}], claimed {side} {evidence.boundary:g}{later}"


def markdown_table(head: Sequence[str], rows: list[list[str]]) -> list[str]:
    """Its lines."""
    return ["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows]]


def _show(rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 1, 0))
    for name in HEAD:
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
