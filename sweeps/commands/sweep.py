"""`mulex sweep` and `mulex resume`: launch a spec, or continue the spec of a folder."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mulex.errors import UserError
from mulex.json_output import json_option, print_json
from mulex.store.folder import Folder, StorageError, open_folder
from mulex.store.layout import CURVES_TABLE, RUNS_TABLE
from sweeps.api import Outcome, launch_in
from sweeps.commands.options import cluster_options, override_option
from sweeps.engine_check import engine_lines
from sweeps.execution.cluster import Cluster
from sweeps.inventory import frozen_spec
from sweeps.monitor.terminal import failures, make_console, picture, say
from sweeps.preflight import RefusedHere, report
from sweeps.spec import Spec
from sweeps.spec.loading import read_source
from sweeps.spec.reader import read_tree


@click.command()
@click.argument("spec_file", metavar="SPEC", type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="DIR", help="The sweep's folder: a path, or a URL such as s3://bucket/x.")
@override_option
@click.option("--dry-run", is_flag=True, help="Say what would be trained and what it would cost; train nothing.")
@json_option
@cluster_options
def sweep(spec_file: Path, out: str, overrides: tuple[str, ...], dry_run: bool, as_json: bool, **cluster: Any) -> None:
    """Launch a sweep, or continue it: every run of SPEC that DIR does not have is trained.

    Ctrl-C once leaves checkpoints and stops; the same command, or `mulex resume DIR`, continues from there.
    """
    tree, folder = read_source(spec_file, overrides), open_folder(out)
    spec = read_tree(tree)
    try:
        if dry_run:
            _show_estimate(spec, folder, Cluster(**cluster), as_json)
        else:
            _launch(spec, folder, Cluster(**cluster), as_json)
    except RefusedHere as refused:
        report(refused.findings, tree)


@click.command()
@click.argument("out", metavar="DIR")
@json_option
@cluster_options
def resume(out: str, as_json: bool, **cluster: Any) -> None:
    """Continue a sweep from the spec in its own folder."""
    folder = open_folder(out)
    _launch(frozen_spec(folder), folder, Cluster(**cluster), as_json)


def _show_estimate(spec: Spec, folder: Folder, cluster: Cluster, as_json: bool) -> None:
    from sweeps.estimate import estimate, refuse_as_launch

    refuse_as_launch(spec, folder, cluster)
    found = estimate(spec, folder, cluster)
    if as_json:
        print_json(found.plain())
    else:
        found.show(make_console())


def _launch(spec: Spec, folder: Folder, cluster: Cluster, as_json: bool) -> None:
    run_launch(spec, folder, cluster, as_json, lambda console: launch_in(spec, folder, cluster, console))


def run_launch(
    spec: Spec, folder: Folder, cluster: Cluster, as_json: bool, launch: Callable[[Console], Outcome]
) -> None:
    """Launch with progress in the terminal, and end with the exit code that fits.

    With `as_json` the progress goes to stderr and stdout gets the outcome alone.
    """
    console = make_console(stderr=as_json)
    if not cluster.address:  # workers elsewhere choose for themselves, and may be built otherwise
        for line in engine_lines(spec):
            say(console, line)
    try:
        outcome = launch(console)
    except StorageError as error:
        raise UserError(f"{error}\nonce that is mended, continue with: mulex resume {folder.url}") from None
    _print_outcome(outcome, console)
    if as_json:
        print_json(_plain(outcome))
    sys.exit(outcome.exit_code)


def _print_outcome(outcome: Outcome, console: Console) -> None:
    console.print(picture(outcome.status))
    lines = failures(outcome.status)
    lines += [f"not of this spec, left out of the tables: {name}" for name in outcome.strangers]
    lines += [f"stopped: {outcome.storage_error}"] if outcome.storage_error else []
    lines += [f"stopped by the budget: {outcome.budget}"] if outcome.budget else []
    for line in [*lines, *next_steps(outcome)]:
        say(console, line)


def _plain(outcome: Outcome) -> dict[str, Any]:
    names = ("folder", "done", "failed", "diverged", "missing", "interrupted", "storage_error", "strangers", "budget")
    return {name: getattr(outcome, name) for name in names} | {"exit_code": outcome.exit_code}


def next_steps(outcome: Outcome) -> list[str]:
    """Say what to do after a launch."""
    folder = outcome.folder
    if outcome.storage_error or outcome.interrupted or outcome.missing:
        return [f"continue with: mulex resume {folder}"]
    lines = [f"tables: {folder}/{RUNS_TABLE}, {CURVES_TABLE}"]
    if outcome.failed:
        run, _ = next(pair for pair in outcome.status.failures if pair[1].status == "failed")
        lines.append(f"look at a failure: mulex status {folder} --run {run.run_id}; try again: mulex resume {folder}")
    elif outcome.done:
        lines.append(f"next: mulex plot {folder} --figure all, mulex stats {folder}, or mulex report {folder}")
    return lines
