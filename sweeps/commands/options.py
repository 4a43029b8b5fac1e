"""Options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


def cluster_options(command: Command) -> Command:
    """Add the options that say where to train."""
    options = [
        click.option("--address", metavar="A", help="A Ray cluster (auto, or host:port).  [default: embedded Ray]"),
        click.option("--cpus", type=click.IntRange(1), help="Cores for the embedded Ray.  [default: all]"),
        click.option("--dashboard", is_flag=True, help="Start the embedded Ray's dashboard and print its address."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def override_option(command: Command) -> Command:
    """Add --set, which changes values of a spec."""
    option = click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="For example search.draws=8.")
    return option(command)
