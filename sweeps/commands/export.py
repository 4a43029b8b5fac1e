"""`mulex export`: send the runs of a sweep to a tracker or to another program's files."""

from contextlib import suppress

import click

from mulex.errors import UserError
from mulex.json_output import json_option, print_json
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import SPEC
from mulex.store.run_store import has_run_files
from sweeps.inventory import frozen_spec
from sweeps.monitor.status import Board
from sweeps.plan import Plan, make_plan
from sweeps.trackers.exporter import Exporter
from sweeps.trackers.source import FolderSource, Source, TableSource
from sweeps.trackers.targets import check_installed, make_tracker, split_target

TARGETS = "tensorboard:DIR, mlflow:URI, wandb[:PROJECT or ./DIR], csv:DIR, json:DIR, optuna:URL or rliable:FILE"


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--to", "targets", metavar="TARGET", multiple=True, required=True, help=f"{TARGETS}; may be repeated.")
@json_option
def export(out: str, targets: tuple[str, ...], as_json: bool) -> None:
    """Send every run of a sweep to a tracker, as `execution.trackers` does while the sweep runs.

    A run is one entry with its hyperparameters, its whole curve and its status. What the target already has is not
    sent again, so the command can be repeated, also while the sweep runs.
    """
    check_installed(targets)
    folder = open_folder(out)
    source = _source(folder)
    sent: list[dict[str, str | int]] = []
    for target in targets:
        name, where = split_target(target)
        if not where and name != "wandb":
            raise UserError(f"--to {target}: say where; targets are {TARGETS}")
        tracker = make_tracker(target, source.name, folder, source.plan)
        try:
            count = Exporter(source, tracker).send_news()
        finally:
            tracker.close()
        sent.append({"target": target, "runs": count})
        if not as_json:
            click.echo(f"{target}: {count} runs sent" if count else f"{target}: up to date")
    if as_json:
        print_json(sent)


def _source(folder: Folder) -> Source:
    """Read run files where there are some, otherwise the tables."""
    if folder.exists(SPEC) and has_run_files(folder):
        return FolderSource(Board(frozen_spec(folder), folder))
    return TableSource(folder, _plan(folder))


def _plan(folder: Folder) -> Plan | None:
    with suppress(UserError):
        return make_plan(frozen_spec(folder), folder)
    return None
