"""`--json`: the answer of a command for other programs."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import click

json_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for other programs."
)
"""Add --json to a command, which gets it as `as_json`."""


def print_json(answer: object) -> None:
    """Print an answer as JSON; a number that is not finite is null, since JSON has none."""
    click.echo(json.dumps(_strict(answer), indent=2, default=str, allow_nan=False))


def _strict(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _strict(inner) for name, inner in value.items()}
    return [_strict(inner) for inner in value] if isinstance(value, list | tuple) else value
