"""`mulex claims`: which of the paper's claims hold in one's own sweeps."""

from collections.abc import Sequence

import click

from mulex.json_output import json_option, print_json


@click.command()
@click.argument("paths", metavar="DIR...", nargs=-1, required=True)
@click.option("--markdown", is_flag=True, help="As a table for a page.")
@json_option
def claims(paths: Sequence[str], markdown: bool, as_json: bool) -> None:
    """Check the paper's claims in sweeps that are named as its experiments are.

    A sweep called main-something is judged as main is. A claim is reproduced if the intervals of all its numbers are
    on its side, not reproduced if one is on the other side, and otherwise there are not enough runs to tell; then the
    number of draws is given that would be expected to decide it with power 0.8: simulated as by mulex plan where that
    is possible, binomial for shares of draws, otherwise by the square-root rule. Where runs are shorter than the
    paper's 800 iterations the verdict says so, and numbers that longer training could reverse do not count.
    """
    import analysis
    from analysis.study.claims import check_claims
    from analysis.study.claims_table import HEAD, claim_rows, markdown_table

    sweeps = [analysis.load(path) for path in paths]
    found = check_claims(sweeps)
    rows = claim_rows(found)
    if as_json:
        print_json([finding.plain() for finding in found])
    elif markdown:
        click.echo("\n".join(markdown_table(HEAD, rows)))
    else:
        from analysis.commands.terminal import plain_table
        from sweeps.monitor.terminal import make_console

        make_console().print(plain_table(HEAD, rows, padding=(0, 2, 1, 0)))
    for tables in sweeps:
        if note := tables.complete.note():
            click.echo(f"not complete: {tables.sweeps[0].name}: {note}", err=True)
