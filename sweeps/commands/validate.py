"""`mulex validate`: check a spec, without torch and without Ray."""

from pathlib import Path

import click

from sweeps.commands.read_spec import read_spec
from sweeps.spec import Spec


@click.command()
@click.argument("spec_file", metavar="SPEC", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="For example search.draws=8.")
def validate(spec_file: Path, overrides: tuple[str, ...]) -> None:
    """Check SPEC and say what it plans; what is wrong with it is listed all at once, each line with its place."""
    click.echo(summary(read_spec(spec_file, overrides)))


def summary(spec: Spec) -> str:
    """One line: what is multiplied, and what it comes to."""
    search = spec.search
    counts = (_count(len(spec.methods), "method"), _count(search.draws, "draw"), _count(search.seeds, "seed"))
    return f"{spec.name}: {' x '.join(counts)} in {_count(len(spec.worlds), 'world')} = {_count(spec.run_count, 'run')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
