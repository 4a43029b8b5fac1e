"""`mulex serve`: a page that shows sweeps while they run and afterwards."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from aiohttp import web

HOST, PORT = "127.0.0.1", 8333


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 is any free one.")
@click.option(
    "--host",
    default=HOST,
    show_default=True,
    metavar="ADDRESS",
    help="The interface; others than loopback need a token.",
)
def serve(paths: Sequence[str], port: int, host: str) -> None:
    """Show sweeps in a browser: progress, every run and its curve so far, failures, figures.

    PATH is a sweep, or a folder or bucket prefix that holds sweeps. Only files in these folders are read, so this works
    while a sweep runs, after its cluster is gone, and from any machine that reaches the storage.
    """
    serve_paths(paths, port, host)


def serve_paths(paths: Sequence[str], port: int, host: str = HOST) -> None:
    """Serve the page until Ctrl-C.

    Raises:
        AnalysisError: A path without sweeps, an interface without a token, or a port that cannot be used.
    """
    import asyncio

    token = _token(host)
    with asyncio.Runner() as runner:
        runner.run(_serve(paths, port, host, token))


def _token(host: str) -> str | None:
    """The page's token if the interface needs one."""
    from analysis.errors import AnalysisError
    from analysis.live.security import is_loopback, page_token
    from sweeps.token_file import stored_token

    if is_loopback(host):
        return None
    stored = stored_token()
    if stored is None:
        raise AnalysisError(
            f"--host {host}: other machines can reach this interface, so it needs a token and there is none; "
            "make one with mulex token"
        )
    return page_token(stored)


async def _serve(paths: Sequence[str], port: int, host: str, token: str | None) -> None:
    import asyncio

    from aiohttp import web

    from analysis.live.server import make_app

    runner = web.AppRunner(make_app(paths, token), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await _listen(runner, host, port)
        link = f"http://{_shown(host)}:{runner.addresses[0][1]}/"
        click.echo(f"{link}{f'?token={token}' if token else ''}  (Ctrl-C ends it)")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


async def _listen(runner: "web.AppRunner", host: str, port: int) -> None:
    from aiohttp import web

    from analysis.errors import AnalysisError

    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        reason = error.strerror or str(error)
        raise AnalysisError(f"--host {host} --port {port}: {reason}; another port may be free (--port 0)") from None


def _shown(host: str) -> str:
    """The host as a link has it: this machine's name where all interfaces are meant."""
    import socket

    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
