"""`mulex report`: one page with everything there is to see of a sweep."""

from collections.abc import Sequence

import click


@click.command()
@click.argument("places", metavar="DIR...", nargs=-1, required=True)
@click.option("-o", "--out", metavar="FILE", help="Where to put it; report.html in the first DIR if not given.")
@click.option("--serve", is_flag=True, help="Keep it fresh at http://127.0.0.1:PORT/ until Ctrl-C instead.")
@click.option("--port", default=8333, show_default=True, type=click.IntRange(0, 65535), help="For --serve.")
def report(places: Sequence[str], out: str | None, serve: bool, port: int) -> None:
    """Write one self-contained page: statistics, interactive figures, slow and failed runs."""
    if serve:
        _serve(places, port)
        return
    from analysis.errors import AnalysisError
    from analysis.places import Place
    from analysis.report.page import report_page
    from analysis.tables import load_tables

    folder, _, name = (out or f"{places[0].rstrip('/')}/report.html").rpartition("/")
    if not name:
        raise AnalysisError(f"--out {out}: is a folder; name a file in it, such as {out}report.html")
    tables = load_tables(places)
    click.echo(Place(folder or ".").write(name, report_page(tables).encode()))
    if tables.complete.note():
        click.echo(f"not whole: {tables.complete.note()}", err=True)


def _serve(places: Sequence[str], port: int) -> None:
    from analysis.errors import AnalysisError
    from analysis.places import Place
    from analysis.report.live import HOST, make_server

    for place in places:
        if not Place(place).exists():
            raise AnalysisError(f"{place}: no such folder")
    try:
        server = make_server(places, port)
    except OSError as error:
        raise AnalysisError(f"--port {port}: {error.strerror}; another one may be free") from None
    click.echo(f"http://{HOST}:{server.server_port}/  (Ctrl-C ends it)")
    with server:
        server.serve_forever()
