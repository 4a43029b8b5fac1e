"""`mulex checklist`: what a paper should say about its hyperparameters."""

import click


@click.command()
@click.argument("path", metavar="DIR")
def checklist(path: str) -> None:
    """Answer the reporting questions of Eimer et al. (2023) from a sweep's spec and store, as Markdown."""
    import analysis
    from analysis.reporting_checklist import checklist as make_checklist

    click.echo(make_checklist(analysis.load(path)), nl=False)
