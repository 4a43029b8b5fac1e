"""`mulex plot`: the paper's figures from a sweep's tables."""

from collections.abc import Sequence

import click

NAMES = (
    *("curves", "violins", "rooms", "starts", "acting", "response", "profiles", "budget", "importance"),
    "sensitivity",
)
FORMATS = ("png", "pdf", "svg")


@click.command()
@click.argument("places", metavar="DIR...", nargs=-1, required=True)
@click.option(
    "--figure", "figures", multiple=True, default=["all"], type=click.Choice([*NAMES, "all"]), help="Which; may repeat."
)
@click.option("--format", "formats", multiple=True, default=["png"], type=click.Choice(FORMATS), help="May repeat.")
@click.option("--size", default="screen", type=click.Choice(["column", "screen"]), help="A paper's column, a screen.")
@click.option("--out", metavar="DIR", help="Where to put them; figures/ in the first DIR if not given.")
def plot(places: Sequence[str], figures: Sequence[str], formats: Sequence[str], size: str, out: str | None) -> None:
    """Draw figures of one or more sweeps, also of one that is still going on."""
    from analysis.draw import draw
    from analysis.errors import NotApplicableError
    from analysis.figures.registry import make_charts
    from analysis.places import Place
    from analysis.style import SIZES
    from analysis.tables import load_tables

    tables = load_tables(places)
    names = list(NAMES) if "all" in figures else list(dict.fromkeys(figures))
    charts, skipped = make_charts(tables, names)
    target = Place(out or f"{places[0].rstrip('/')}/figures")
    for chart in charts:
        for kind in dict.fromkeys(formats):
            picture = draw(chart, SIZES[size], kind, tables.complete.note())
            click.echo(target.write(f"{chart.name}.{kind}", picture))
    if skipped and "all" not in figures:
        raise NotApplicableError("; ".join(skipped))
    for reason in skipped:
        click.echo(f"skipped {reason}", err=True)
    if tables.complete.note():
        click.echo(f"not whole: {tables.complete.note()}", err=True)
