"""`mulex checklist`: what a paper should say about its hyperparameters."""

import click

from mulex.json_output import json_option, print_json


@click.command()
@click.argument("path", metavar="DIR")
@json_option
def checklist(path: str, as_json: bool) -> None:
    """Answer the reporting questions of Eimer et al. (2023) from a sweep's spec and store, as Markdown."""
    import analysis
    from analysis.reporting_checklist import checklist as make_checklist
    from analysis.reporting_checklist import sections

    tables = analysis.load(path)
    if as_json:
        print_json(sections(tables))
    else:
        click.echo(make_checklist(tables), nl=False)
