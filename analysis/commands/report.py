"""`mulex report`: one page with everything there is to see of a sweep."""

from collections.abc import Sequence

import click


@click.command()
@click.argument("paths", metavar="DIR...", nargs=-1, required=True)
@click.option("-o", "--out", metavar="FILE", help="The file to write.  [default: report.html in the first DIR]")
@click.option("--serve", is_flag=True, help="Show a page that stays fresh until Ctrl-C, as mulex serve does.")
@click.option("--port", default=8333, show_default=True, type=click.IntRange(0, 65535), help="For --serve.")
def report(paths: Sequence[str], out: str | None, serve: bool, port: int) -> None:
    """Write one self-contained page: statistics, best draws, interactive figures, and failures with tracebacks."""
    if serve:
        from analysis.commands.serve import serve_paths

        serve_paths(paths, port)
        return
    import analysis
    from mulex.store.layout import REPORT

    tables = analysis.load(*paths)
    click.echo(analysis.report(tables, out or f"{paths[0].rstrip('/')}/{REPORT}"))
    for warning in tables.warnings:
        click.echo(warning, err=True)
    if note := tables.complete.note():
        click.echo(f"not complete: {note}", err=True)
