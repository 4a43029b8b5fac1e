"""`mulex collect`, `mulex verify` and `mulex unpack`: make the tables; check every file; make run files of tables."""

import sys

import click

from mulex.errors import UserError
from mulex.messages import printable
from mulex.store.collecting import collect_tables
from mulex.store.folder import open_folder
from mulex.store.folding import mend, set_aside
from mulex.store.layout import SPEC
from mulex.store.run_store import RunStore
from mulex.store.tables import damaged_tables
from sweeps.inventory import frozen_spec, take_stock
from sweeps.monitor.terminal import describe
from sweeps.plan import make_plan
from sweeps.unpacking import unpack as unpack_tables


@click.command()
@click.argument("out", metavar="DIR")
def collect(out: str) -> None:
    """Make runs.parquet and curves.parquet from the runs that are there."""
    folder = open_folder(out)
    store = RunStore(folder).refresh()
    if not store.entries and not store.damaged:
        raise UserError(f"{folder.url}: there are no runs here to make tables from")
    for problem in store.problems:
        click.echo(f"{folder.url}/{problem}")
    plan = make_plan(frozen_spec(folder), folder) if folder.exists(SPEC) else None
    collected = collect_tables(folder, plan.has if plan else None, store)
    strangers = [name for name in collected.strangers if plan is None or not plan.had(store.entries[name])]
    click.echo(f"{collected.runs} runs, {collected.rows} rows of curves")
    for name in collected.damaged:
        click.echo(f"left out, damaged: {printable(name)}; mulex resume trains it again")
    for name in strangers:
        click.echo(f"left out, not of this spec: {printable(name)}")
    if collected.damaged or strangers:
        sys.exit(1)


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--quick", is_flag=True, help="Read the indexes of folded runs instead of the runs, and no tables.")
@click.option("--repair", is_flag=True, help="Take damaged runs out of their segments, so that resume trains them.")
def verify(out: str, quick: bool, repair: bool) -> None:
    """Check every run file against its checksum and the spec; exit code 1 if anything is missing or damaged."""
    folder = open_folder(out)
    plan, store = make_plan(frozen_spec(folder), folder), RunStore(folder).refresh()
    for problem in store.problems:
        click.echo(f"{folder.url}/{printable(problem)}")
    rotten = [] if quick else [name for name, run in store.read_many(store.folded_names()) if run is None]
    if repair:
        set_aside(store, rotten)
        mend(store)
    stock = take_stock(store, plan)
    stock.damaged += rotten
    way_out = "mulex resume trains it again" if repair else "mulex verify --repair takes it out, so that it is trained"
    for name in stock.damaged:
        click.echo(f"damaged: {printable(name)}" + (f"; {way_out}" if name in rotten else ""))
    tables = [] if quick else damaged_tables(folder)
    for name in tables:
        click.echo(f"damaged: {name}; mulex collect makes it again")
    for name in stock.strangers:
        click.echo(f"not of this spec: {printable(name)}")
    for run in stock.missing:
        click.echo(f"missing: {describe(run)}")
    for run in stock.failed:
        click.echo(f"failed: {describe(run)}")
    if unasked := plan.unasked():
        click.echo(f"missing: {unasked} runs that the search has not asked for yet")
    counts = f"{len(stock.done)} done, {len(stock.diverged)} diverged, {len(stock.failed)} failed"
    click.echo(f"{counts}, {len(stock.missing) + unasked} missing, {len(stock.damaged)} damaged")
    if store.problems or tables or stock.missing or unasked or stock.damaged or stock.failed or stock.strangers:
        sys.exit(1)


@click.command()
@click.argument("source", metavar="DIR")
@click.option("--out", required=True, metavar="NEW", help="The folder for the runs: a path or a URL.")
def unpack(source: str, out: str) -> None:
    """Make the run files again of a sweep of which only spec.yaml and the two tables are left.

    NEW can then be continued and extended like the original: `mulex sweep SPEC --out NEW` trains what it lacks.
    """
    folder = open_folder(out)
    count = unpack_tables(open_folder(source), folder)
    click.echo(f"{count} runs unpacked to {folder.url}; extend it with: mulex sweep SPEC --out {folder.url}")
