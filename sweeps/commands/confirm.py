"""`mulex confirm`: train the best draws of a sweep again, with seeds that no tuning saw."""

from typing import Any

import click

from mulex.json_output import json_option, print_json
from mulex.store.folder import open_folder
from sweeps.api import confirm_in
from sweeps.commands.options import cluster_options
from sweeps.commands.sweep import run_launch
from sweeps.confirmation import FIRST_TEST_SEED, MOST_TEST_SEEDS
from sweeps.execution.cluster import Cluster
from sweeps.inventory import frozen_spec
from sweeps.monitor.terminal import make_console


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--top", default=3, show_default=True, type=click.IntRange(1), help="Draws of each method in each world.")
@click.option(
    "--seeds",
    default=30,
    show_default=True,
    type=click.IntRange(1, MOST_TEST_SEEDS),
    help=f"Test seeds of each of them, from {FIRST_TEST_SEED:,} on.",
)
@click.option("--dry-run", is_flag=True, help="Say which draws would be trained and what it would cost; train nothing.")
@json_option
@cluster_options
def confirm(out: str, top: int, seeds: int, dry_run: bool, as_json: bool, **cluster: Any) -> None:
    """Train the best draws of a sweep again in its folder, with seeds that no tuning saw.

    A draw that was chosen by its score was partly lucky, so the score is too high: this says by how much. The choice
    is kept in DIR. The same command, or `mulex resume DIR`, continues from what is there; more draws or more seeds are
    added to it.
    """
    folder, where = open_folder(out), Cluster(**cluster)
    spec = frozen_spec(folder)
    if dry_run:
        from sweeps.choosing import choose_draws, chosen_lines
        from sweeps.estimate import estimate
        from sweeps.plan import make_plan

        chosen = choose_draws(make_plan(spec, folder), folder, top, seeds)
        found = estimate(spec, folder, where, chosen)
        if as_json:
            print_json({"chosen": chosen.draws, "test_seeds": chosen.seeds} | found.plain())
            return
        for line in chosen_lines(chosen):
            click.echo(line)
        found.show(make_console())
        return
    run_launch(spec, folder, where, as_json, lambda console: confirm_in(folder, top, seeds, where, console))
