"""`mulex validate`: check a spec without Ray, and without torch unless something in it needs torch."""

from pathlib import Path

import click

from mulex.json_output import json_option, print_json
from sweeps.commands.options import override_option
from sweeps.preflight import find_problems, report
from sweeps.spec.loading import read_source
from sweeps.spec.reader import read_tree
from sweeps.spec.summary import counts, summary


@click.command()
@click.argument("spec_file", metavar="SPEC", type=click.Path(path_type=Path))
@override_option
@json_option
def validate(spec_file: Path, overrides: tuple[str, ...], as_json: bool) -> None:
    """Check SPEC and say what it plans; every mistake in it is listed, each with its line.

    Worlds and learners are tried on this machine, too: whatever a launch here would refuse is listed.
    """
    tree = read_source(spec_file, overrides)
    spec = read_tree(tree)
    report(find_problems(spec), tree)
    if as_json:
        print_json(counts(spec))
    else:
        click.echo(summary(spec))
