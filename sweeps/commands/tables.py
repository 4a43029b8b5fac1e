"""`mulex collect` and `mulex unpack`: make the tables of the runs, and the runs of the tables."""

import sys

import click

from mulex.errors import UserError
from mulex.json_output import json_option, print_json
from mulex.messages import printable
from mulex.store.collecting import collect_tables
from mulex.store.folder import open_folder
from mulex.store.layout import SPEC
from mulex.store.run_store import RunStore
from sweeps.inventory import frozen_spec
from sweeps.plan import make_plan
from sweeps.unpacking import unpack as unpack_tables


@click.command()
@click.argument("out", metavar="DIR")
@json_option
def collect(out: str, as_json: bool) -> None:
    """Make runs.parquet and curves.parquet from the runs that are there."""
    folder = open_folder(out)
    store = RunStore(folder).refresh()
    if not store.entries and not store.damaged:
        raise UserError(f"{folder.url}: there are no runs here to make tables from")
    problems = [f"{folder.url}/{problem}" for problem in store.problems]
    plan = make_plan(frozen_spec(folder), folder) if folder.exists(SPEC) else None
    collected = collect_tables(folder, plan.has if plan else None, store)
    strangers = [name for name in collected.strangers if plan is None or not plan.had(store.entries[name])]
    if as_json:
        counts = {"runs": collected.runs, "rows": collected.rows}
        print_json({**counts, "problems": problems, "damaged": collected.damaged, "strangers": strangers})
    else:
        lines = [*problems, f"{collected.runs} runs, {collected.rows} rows of curves"]
        lines += [f"left out, damaged: {name}; mulex resume trains it again" for name in collected.damaged]
        lines += [f"left out, not of this spec: {name}" for name in strangers]
        for line in lines:
            click.echo(printable(line))
    if collected.damaged or strangers:
        sys.exit(1)


@click.command()
@click.argument("source", metavar="DIR")
@click.option("--out", required=True, metavar="NEW", help="The folder for the runs: a path or a URL.")
@json_option
def unpack(source: str, out: str, as_json: bool) -> None:
    """Make the run files again of a sweep of which only spec.yaml and the two tables are left.

    NEW can then be continued and extended like the original: `mulex sweep SPEC --out NEW` trains what it lacks.
    """
    folder = open_folder(out)
    count = unpack_tables(open_folder(source), folder)
    if as_json:
        print_json({"runs": count, "folder": folder.url})
        return
    click.echo(f"{count} runs unpacked to {folder.url}; extend it with: mulex sweep SPEC --out {folder.url}")
