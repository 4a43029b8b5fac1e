"""`mulex check`: try the contract of a learner on a short run, before it is swept."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Any

import click
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mulex.errors import UserError
from mulex.json_output import json_option, print_json
from mulex.learners.check import ITERATIONS, Point, Trial, check_learner
from mulex.learners.code import use_code
from mulex.learners.limits import Limits
from mulex.learners.names import LearnerName

_MARKS = {"passed": "passed ", "failed": "FAILED ", "skipped": "skipped"}


@click.command()
@click.argument("learner", required=False)
@click.option("--command", metavar="TEXT", help="A command in place of LEARNER, with its placeholders.")
@click.option("--world", default="CartPole-v1", show_default=True, metavar="ID", help="A Gymnasium environment.")
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE", help="A hyperparameter.")
@click.option("--iterations", type=click.IntRange(2, 1000), default=ITERATIONS, show_default=True, help="Rows a run.")
@click.option("--steps", type=click.IntRange(1), help="Training steps an iteration, for learners that ask for it.")
@click.option("--code", type=click.Path(path_type=Path), default=".", show_default=True, help="The folder of the code.")
@click.option("--timeout", type=float, help="Seconds that an iteration may take.")
@json_option
def check(
    learner: str | None,
    command: str | None,
    world: str,
    values: tuple[str, ...],
    iterations: int,
    steps: int | None,
    code: Path,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Try LEARNER (sb3:ALGORITHM or package.module:name) on short runs; exit code 1 if a point fails."""
    if (learner is None) == (command is None):
        raise UserError("check: name a LEARNER or a --command, and not both")
    if not code.is_dir():
        raise UserError(f"--code: {code} is not a folder")
    use_code(code)
    trial = Trial(
        learner=LearnerName.of(learner, shlex.split(command) if command else None),
        world={"id": world, "kwargs": {}},
        values=dict(_value(text) for text in values),
        training={"steps_per_iteration": steps} if steps else {},
        iterations=iterations,
        folder=code.resolve(),
        limits=Limits(iteration_timeout=timeout),
    )
    points = [point if as_json else _printed(point) for point in check_learner(trial)]
    if as_json:
        print_json([dataclasses.asdict(point) for point in points])
    sys.exit(1 if any(point.outcome == "failed" for point in points) else 0)


def _printed(point: Point) -> Point:
    first, *rest = point.text.splitlines() or [""]
    click.echo(f"{_MARKS[point.outcome]} {point.name}: {first}")
    for line in rest:
        click.echo(f"    {line}")
    return point


def _value(text: str) -> tuple[str, Any]:
    """A hyperparameter as a spec would have it: the value is YAML."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"--set: got {text!r}, needed is NAME=VALUE")
    try:
        return name, YAML(typ="safe", pure=True).load(value)
    except YAMLError:
        raise UserError(f"--set: {value!r} is not a value of YAML") from None
