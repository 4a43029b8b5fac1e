"""`mulex best`: the best draws of each method, and how to train them alone."""

import math
from collections.abc import Sequence

import click

from mulex.json_output import json_option, print_json


@click.command()
@click.argument("paths", metavar="DIR...", nargs=-1, required=True)
@click.option("--top", default=3, show_default=True, type=click.IntRange(1), help="How many draws of each method.")
@json_option
def best(paths: Sequence[str], top: int, as_json: bool) -> None:
    """Print the best draws of each method with 95 % intervals over seeds, their values, and the command for each.

    Draws that `mulex confirm` trained with test seeds have the score of these. Of others the score is that of the runs
    by which they are chosen, so it is likely to be too high.
    """
    import analysis
    from analysis.best_draws import best_draws, shown_value
    from analysis.labels import display_name
    from mulex.messages import printable

    tables = analysis.load(*paths)
    found = best_draws(tables, top)
    if as_json:
        print_json([one.plain() for one in found])
    for one in [] if as_json else found:
        ends = "" if math.isnan(one.low) else f" [{one.low:.3f}, {one.high:.3f}]"
        values = ", ".join(f"{name} = {shown_value(value)}" for name, value in one.values.items())
        head = f"{one.world}  {display_name(one.method)}  #{one.rank}  draw {one.draw}  {one.score:.3f}{ends}"
        many = "seed" if one.seeds == 1 else "seeds"
        seeds = f"{one.seeds} test {many}, tuned {one.tuned:.3f}" if one.role == "test" else f"{one.seeds} {many}"
        click.echo(printable(f"{head}  ({seeds})  {values}", 2000))
        if one.command:
            click.echo(f"  {printable(one.command, 10_000)}")
    for warning in tables.warnings:
        click.echo(warning, err=True)
    if note := tables.complete.note():
        click.echo(f"not complete: {note}", err=True)
