"""`mulex submit`: the same sweep as a job on a Ray cluster."""

import sys
import tempfile
from pathlib import Path

import click

from cluster.job import fill, job_request
from cluster.job_client import INTERRUPTED, JobClient
from mulex.errors import UserError
from sweeps.commands.options import override_option
from sweeps.spec.loading import load_spec
from sweeps.spec.summary import summary


@click.command()
@click.argument("spec_file", metavar="SPEC", type=click.Path(path_type=Path))
@click.option("--address", required=True, metavar="URL", help="The head's dashboard, such as http://head:8265.")
@click.option(
    "--storage", required=True, metavar="URI", help="The sweep's folder as every node of the cluster sees it."
)
@override_option
@click.option("--follow", is_flag=True, help="Show the job's log until it ends, and end with its exit code.")
@click.option(
    "--code",
    type=click.Choice(["upload", "image"]),
    default="upload",
    show_default=True,
    help="Send this installation's code to the nodes, or use what is installed on them.",
)
def submit(spec_file: Path, address: str, storage: str, overrides: tuple[str, ...], follow: bool, code: str) -> None:
    """Train SPEC as a job on a Ray cluster; it continues when this terminal is closed.

    The job is `mulex sweep` on the head, so submitting again continues the sweep.
    """
    spec = load_spec(spec_file, overrides)
    _check_storage(storage)
    client = JobClient(address)
    with tempfile.TemporaryDirectory(prefix="mulex-job-") as folder:
        with_code = code == "upload"
        fill(Path(folder), spec, with_code)
        job = client.submit(job_request(spec, storage, Path(folder), with_code))
    click.echo(f"submitted {job}: {summary(spec)}")
    click.echo(f"how it stands: mulex status {storage}")
    click.echo(f"its log:       RAY_AUTH_MODE=token ray job logs --follow --address {address} {job}")
    click.echo(f"to stop it:    RAY_AUTH_MODE=token ray job stop --address {address} {job}")
    if follow:
        sys.exit(_follow(client, job))


def _follow(client: JobClient, job: str) -> int:
    try:
        return client.follow(job)
    except KeyboardInterrupt:
        click.echo(f"no longer following {job}, which continues", err=True)
        return INTERRUPTED


def _check_storage(storage: str) -> None:
    if "://" not in storage and not Path(storage).is_absolute():
        raise UserError(
            f"--storage {storage}: a relative path means nothing on a cluster; give the absolute path of a folder that "
            "every node sees, or a URL such as s3://bucket/sweep"
        )
