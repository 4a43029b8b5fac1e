"""`mulex sweep` and `mulex resume`: launch a spec, or go on with a folder's own."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mulex.errors import UserError
from mulex.folder import Folder, open_folder
from sweeps.board import Board
from sweeps.cluster_choice import Cluster
from sweeps.commands.read_spec import read_spec
from sweeps.engine_choice import engine_lines
from sweeps.launch import Ended, Interruption, Launch
from sweeps.lease import Lease
from sweeps.spec import Spec
from sweeps.store import additions, frozen_spec
from sweeps.view import LiveView, failures, picture


def cluster_options(command: Any) -> Any:
    """Where to train."""
    options = [
        click.option("--address", metavar="A", help="A Ray cluster (auto, or host:port).  [default: embedded Ray]"),
        click.option("--cpus", type=click.IntRange(1), help="Cores for the embedded Ray.  [default: all]"),
        click.option("--dashboard", is_flag=True, help="Start the embedded Ray's dashboard and print its address."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("spec_file", metavar="SPEC", type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="DIR", help="The sweep's folder: a path, or a URL such as s3://bucket/x.")
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="For example search.draws=8.")
@click.option("--dry-run", is_flag=True, help="Say what would be trained and what it would cost; train nothing.")
@cluster_options
def sweep(spec_file: Path, out: str, overrides: tuple[str, ...], dry_run: bool, **cluster: Any) -> None:
    """Launch a sweep, or continue it: every run of SPEC that DIR does not have is trained.

    Ctrl-C once leaves snapshots and stops; the same command, or `mulex resume DIR`, goes on from there.
    """
    spec, folder = read_spec(spec_file, overrides), open_folder(out)
    if dry_run:
        from sweeps.estimate import print_estimate

        print_estimate(spec, folder, Cluster(**cluster), Console())
        return
    launch(spec, folder, Cluster(**cluster))


@click.command()
@click.argument("out", metavar="DIR")
@cluster_options
def resume(out: str, **cluster: Any) -> None:
    """Continue a sweep from the spec in its own folder."""
    folder = open_folder(out)
    launch(frozen_spec(folder), folder, Cluster(**cluster))


def launch(spec: Spec, folder: Folder, cluster: Cluster) -> None:
    """Train what is missing, show it, and end with the exit code that fits."""
    console = Console()
    if not cluster.address:  # elsewhere the workers choose, and may be built otherwise
        for line in engine_lines(spec):
            console.print(line, highlight=False, soft_wrap=True)
    try:
        with Lease(folder) as lease, Interruption().listening() as interruption:
            for added in additions(folder, spec):
                console.print(f"added: {added}", highlight=False, soft_wrap=True)
            launched = Launch(spec, folder, cluster, interruption, lease)
            board = Board(spec, folder)
            with LiveView(board, console, lambda: interruption.asked):
                ended = launched.run()
    except OSError as error:
        again = f"when it can be, go on with: mulex resume {folder.url}"
        raise UserError(f"{folder.url}: cannot be written: {error}\n{again}") from None
    _conclude(ended, board, folder, console)


def _conclude(ended: Ended, board: Board, folder: Folder, console: Console) -> None:
    standing = board.refresh()
    console.print(picture(standing, None, board.spec.name))
    for line in failures(standing):
        console.print(line, highlight=False, soft_wrap=True)
    if ended.storage_error:
        console.print(f"stopped: {ended.storage_error}", highlight=False, soft_wrap=True)
    if ended.storage_error or ended.interrupted:
        console.print(f"go on with: mulex resume {folder.url}", highlight=False, soft_wrap=True)
    else:
        console.print(f"tables: {folder.url}/runs.parquet, curves.parquet", highlight=False, soft_wrap=True)
    if ended.interrupted:
        sys.exit(130)
    if standing.failures or ended.storage_error or standing.count("pending"):
        sys.exit(1)
