"""The options that say which grid world it is."""

from collections.abc import Callable
from typing import Any

import click

from mulex.worlds.layout import MAPS


def world_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add them to a command."""
    options = [
        click.option("--layout", type=click.Choice(list(MAPS)), default="montezuminha", show_default=True, help="Map."),
        click.option("--room-size", type=int, default=5, show_default=True, help="Cells along a room, 3 to 50."),
        click.option("--hard", is_flag=True, help="Walls teleport to a parallel world."),
        click.option("--ghosts", type=int, default=0, show_default=True, help="Number of ghosts, 0 to 16."),
        click.option("--textured", is_flag=True, help="The agent sees 8 x 8 textures in place of grey cells."),
        click.option("--time-limit", type=int, help="Steps until an episode ends.  [default: 100 x room size]"),
    ]
    for option in reversed(options):
        command = option(command)
    return command
