"""`mulex plan`: how many draws and seeds a claim needs, and what they cost."""

from typing import TYPE_CHECKING

import click

from mulex.json_output import json_option, print_json

if TYPE_CHECKING:
    from analysis.planning import Power


@click.command()
@click.argument("path", metavar="DIR|SPEC")
@click.option("--claim", required=True, metavar="TEXT", help="Such as 'mulex > additive'.")
@click.option("--measure", default="median", show_default=True, metavar="NAME", help="median, mean, best_of_10 or iqr.")
@click.option("--power", default=0.8, show_default=True, metavar="P", help="The probability to decide a true claim.")
@click.option("--world", metavar="NAME", help="The world of the pilot.  [default: the first with both methods]")
@click.option("--effect", type=float, metavar="X", help="The difference to be found.  [default: the pilot's]")
@click.option("--sd-draws", type=float, metavar="X", help="Standard deviation between draws.  [default: the pilot's]")
@click.option("--sd-seeds", type=float, metavar="X", help="The same between seeds of a draw.  [default: the pilot's]")
@click.option("--seconds", type=float, metavar="X", help="Core-seconds of a run.  [default: the pilot's mean]")
@click.option(
    "--seeds", multiple=True, type=int, metavar="N", help="A number of seeds; may repeat.  [default: 1 2 3 5]"
)
@click.option("--figure", metavar="FILE", help="Draw power against draws into this file (png, pdf or svg).")
@json_option
def plan(
    path: str,
    claim: str,
    measure: str,
    power: float,
    world: str | None,
    effect: float | None,
    sd_draws: float | None,
    sd_seeds: float | None,
    seconds: float | None,
    seeds: tuple[int, ...],
    figure: str | None,
    as_json: bool,
) -> None:
    """Say how many draws and seeds a claim about two methods needs, from a pilot sweep or from stated guesses."""
    import analysis
    from analysis.errors import AnalysisError
    from analysis.output import write_file

    kind = (figure or "x.png").rpartition(".")[2]
    if kind not in ("png", "pdf", "svg"):
        raise AnalysisError(f"figure: {figure}: name a file that ends in .png, .pdf or .svg")
    found = analysis.power(
        path,
        claim,
        measure=measure,
        power=power,
        world=world,
        effect=effect,
        sd_draws=sd_draws,
        sd_seeds=sd_seeds,
        seconds=seconds,
        seeds=seeds or None,
    )
    if as_json:
        print_json(found.plain())
    else:
        _show(found)
    if figure:
        click.echo(write_file(figure, found.plot().content(kind)), err=as_json)


def _show(found: "Power") -> None:
    from analysis.commands.terminal import plain_table, plain_text
    from sweeps.monitor.terminal import make_console

    console = make_console()
    where = f" in {found.world}" if found.world else ""
    what = f"{found.measure} of {found.claim.better} - {found.claim.worse}{where}: {found.effect:.3f}"
    console.print(plain_text(f"{what}, to be found with power {found.power:g}"), soft_wrap=True)
    rows = [
        [
            str(row["seeds"]),
            "more than 10,000" if row["draws"] is None else f"{row['draws']:,}",
            "-" if row["runs"] is None else f"{row['runs']:,}",
            "-" if row["core_hours"] is None else f"{row['core_hours']:,.1f}",
        ]
        for row in found.plain()["needed"]
    ]
    console.print(plain_table(["seeds", "draws of each method", "runs of both", "core-hours"], rows))
    for note in found.notes:
        console.print(plain_text(note, 300), soft_wrap=True)
