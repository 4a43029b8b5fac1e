"""`mulex stats`: how robust each method is, in numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mulex.json_output import json_option, print_json

if TYPE_CHECKING:
    from analysis.statistics import Statistics

LONGEST_LINE = 1000
"""Characters of a line about a run that counts in no statistic."""


@click.command()
@click.argument("paths", metavar="DIR...", nargs=-1, required=True)
@json_option
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="The seed of the bootstrap.")
def stats(paths: Sequence[str], as_json: bool, seed: int) -> None:
    """Show measures of each method's scores with 95 % intervals, and which runs do not count."""
    import analysis
    from analysis.statistics import compute_statistics

    tables = analysis.load(*paths)
    statistics = compute_statistics(tables, seed)
    for warning in tables.warnings:
        click.echo(warning, err=True)
    if as_json:
        print_json(statistics.plain())
    else:
        _show(statistics)


def _show(statistics: "Statistics") -> None:
    from analysis.commands.terminal import plain_table, plain_text
    from analysis.statistics_tables import left_out, sections
    from sweeps.monitor.terminal import make_console

    console = make_console()
    for title, head, rows in sections(statistics):
        table = plain_table(head, rows, title=plain_text(title), title_justify="left")
        for column in table.columns[2:]:
            column.justify = "right"
        console.print(table, "")
    for line in left_out(statistics):
        console.print(plain_text(line, LONGEST_LINE), soft_wrap=True)
