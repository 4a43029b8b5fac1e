"""`mulex token`: the secret that a cluster and its clients share."""

import click

from sweeps.execution.token import make_token, token_path


@click.command()
@click.option("--show", is_flag=True, help="Print the token itself, for the dashboard's login.")
def token(show: bool) -> None:
    """Make the Ray token if there is none, keep it to its owner, and say where it is.

    Every node of a cluster and every client needs the same token, at the same path.
    """
    path = make_token()
    click.echo(token_path().read_text().strip() if show else path)
