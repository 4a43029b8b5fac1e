"""`mulex collect` and `mulex verify`: make the tables; check every file."""

import sys

import click

from mulex.errors import UserError
from mulex.folder import open_folder
from mulex.run_file import collect_tables
from sweeps.launch import make_plan
from sweeps.store import frozen_spec, take_stock
from sweeps.view import describe


@click.command()
@click.argument("out", metavar="DIR")
def collect(out: str) -> None:
    """Make runs.parquet and curves.parquet from the runs that are there."""
    folder = open_folder(out)
    if not folder.list("runs"):
        raise UserError(f"{folder.url}: there are no runs here to make tables from")
    collected = collect_tables(folder)
    click.echo(f"{collected.runs} runs, {collected.rows} rows of curves")
    for name in collected.damaged:
        click.echo(f"left out, damaged: {name}; mulex resume trains it again")
    if collected.damaged:
        sys.exit(1)


@click.command()
@click.argument("out", metavar="DIR")
def verify(out: str) -> None:
    """Check every run file against its checksum and the spec; exit code 1 if anything is missing or damaged."""
    folder = open_folder(out)
    spec = frozen_spec(folder)
    plan = make_plan(spec, folder)
    stock = take_stock(folder, plan)
    for name in stock.damaged:
        click.echo(f"damaged: {name}")
    for name in stock.strangers:
        click.echo(f"not of this spec: {name}")
    for run in stock.missing:
        click.echo(f"missing: {describe(run)}")
    for run in stock.failed:
        click.echo(f"failed: {describe(run)}")
    if unasked := plan.unasked():
        click.echo(f"missing: {unasked} runs that the search has not asked for yet")
    counts = f"{len(stock.done)} done, {len(stock.diverged)} diverged, {len(stock.failed)} failed"
    click.echo(f"{counts}, {len(stock.missing) + unasked} missing, {len(stock.damaged)} damaged")
    if stock.missing or unasked or stock.damaged or stock.failed or stock.strangers:
        sys.exit(1)
