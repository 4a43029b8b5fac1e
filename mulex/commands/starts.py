"""`mulex starts`: measure the kept policies of a sweep from every late start state."""

import click

from mulex.learners.dqn.start_states import measure_starts
from mulex.store.folder import open_folder
from mulex.store.layout import STARTS_TABLE


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--runs", type=click.IntRange(1), default=10, show_default=True, help="The best runs of each method.")
@click.option("--trust", is_flag=True, help="Let policies import the modules of their Gymnasium environments.")
def starts(out: str, runs: int, trust: bool) -> None:
    """Write starts.parquet: steps to the exit from every state with all doors open and the extra reward held."""
    folder = open_folder(out)
    measured, warnings = measure_starts(folder, runs, trust)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(f"{measured} policies measured: {folder.url}/{STARTS_TABLE}")
