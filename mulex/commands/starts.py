"""`mulex starts`: measure the kept policies of a sweep from every late start state."""

import click

from mulex.folder import open_folder
from mulex.starts import NAME, measure_starts


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--runs", type=click.IntRange(1), default=10, show_default=True, help="The best runs of each method.")
def starts(out: str, runs: int) -> None:
    """Write starts.parquet: steps to the exit from every state with all doors open and the extra reward held."""
    folder = open_folder(out)
    measured = measure_starts(folder, runs)
    click.echo(f"{measured} policies measured: {folder.url}/{NAME}")
