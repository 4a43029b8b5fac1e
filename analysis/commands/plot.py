"""`mulex plot`: figures of one or more sweeps."""

from collections.abc import Sequence

import click

from analysis.figures.registry import FIGURES

FORMATS = ("png", "pdf", "svg")


@click.command()
@click.argument("paths", metavar="DIR...", nargs=-1, required=True)
@click.option(
    "--figure", "figures", multiple=True, default=["all"], type=click.Choice([*FIGURES, "all"]), help="May repeat."
)
@click.option("--format", "formats", multiple=True, default=["png"], type=click.Choice(FORMATS), help="May repeat.")
@click.option(
    "--size", default="screen", type=click.Choice(["column", "screen"]), help="A paper's column, or a screen."
)
@click.option("--smooth", type=click.IntRange(1), metavar="N", help="Show curves as a moving average of N iterations.")
@click.option("--names", multiple=True, metavar="KEY=TEXT", help="Show a method or world as this text. May repeat.")
@click.option(
    "--colours", multiple=True, metavar="KEY=COLOUR", help="The colour of a method, such as #CC0000. May repeat."
)
@click.option("--title", metavar="TEXT", help="A title above each figure.")
@click.option("--out", metavar="DIR", help="The folder for the pictures.  [default: figures/ in the first DIR]")
def plot(
    paths: Sequence[str],
    figures: Sequence[str],
    formats: Sequence[str],
    size: str,
    smooth: int | None,
    names: Sequence[str],
    colours: Sequence[str],
    title: str | None,
    out: str | None,
) -> None:
    """Draw figures of one or more sweeps, also of one that is still running."""
    import analysis
    from analysis.errors import NotApplicableError
    from analysis.figures.registry import SMOOTHED
    from analysis.output import write_file

    shown, painted = _pairs("names", names), _pairs("colours", colours)
    tables = analysis.load(*paths)
    worlds = {key: text for key, text in shown.items() if key in tables.worlds}
    methods = {key: text for key, text in shown.items() if key not in worlds or key in tables.methods}
    folder = (out or f"{paths[0].rstrip('/')}/figures").rstrip("/")
    skipped = []
    for name in FIGURES if "all" in figures else dict.fromkeys(figures):
        window = smooth if name in SMOOTHED or "all" not in figures else None
        try:
            figure = analysis.plot(
                tables,
                name,
                methods=methods,
                worlds=worlds,
                colours=painted,
                title=title,
                size=size,  # type: ignore[arg-type]  # checked by click
                smooth=window,
            )
        except NotApplicableError as error:
            skipped.append(str(error))
            continue
        for kind in dict.fromkeys(formats):
            click.echo(write_file(f"{folder}/{name}.{kind}", figure.content(kind)))
    if skipped and "all" not in figures:
        raise NotApplicableError("; ".join(skipped))
    for reason in skipped:
        click.echo(f"skipped {reason}", err=True)
    for warning in tables.warnings:
        click.echo(warning, err=True)
    if note := tables.complete.note():
        click.echo(f"not complete: {note}", err=True)


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Read KEY=TEXT options; the text may have further equals signs."""
    from analysis.errors import AnalysisError

    for pair in given:
        if not pair.partition("=")[0] or not pair.partition("=")[2]:
            raise AnalysisError(f"--{option} {pair}: write KEY=TEXT, such as mulex=Ours")
    return {key: text for key, _, text in (pair.partition("=") for pair in given)}
