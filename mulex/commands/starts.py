"""`mulex starts`: measure the kept policies of a sweep from every late start state."""

import click

from mulex.json_output import json_option, print_json
from mulex.learners.dqn.start_states import measure_starts
from mulex.store.folder import open_folder
from mulex.store.layout import STARTS_TABLE


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--runs", type=click.IntRange(1), default=10, show_default=True, help="The best runs of each method.")
@click.option("--trust", is_flag=True, help="Let policies import the modules of their Gymnasium environments.")
@json_option
def starts(out: str, runs: int, trust: bool, as_json: bool) -> None:
    """Write starts.parquet: steps to the exit from every state with all doors open and the extra reward held.

    Test runs of `mulex confirm` are measured as well, all of them.
    """
    folder = open_folder(out)
    measured, warnings = measure_starts(folder, runs, trust)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    table = f"{folder.url}/{STARTS_TABLE}"
    if as_json:
        print_json({"policies": measured, "table": table, "warnings": warnings})
    else:
        click.echo(f"{measured} policies measured: {table}")
