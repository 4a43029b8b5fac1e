"""The options that describe a grid world, shared by commands."""

from collections.abc import Callable
from typing import Any

import click

from mulex.errors import UserError
from mulex.worlds.maps import MAPS

DEFAULT_MAP = "montezuminha"


def world_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a grid world to a command. `layout` is the earlier name of `map`; see `map_name`."""
    options = [
        click.option("--map", metavar="NAME", help=f"The map: {', '.join(MAPS)}.  [default: {DEFAULT_MAP}]"),
        click.option("--layout", type=click.Choice(list(MAPS)), hidden=True),
        click.option("--room-size", type=int, default=5, show_default=True, help="Cells along a room, 3 to 50."),
        click.option("--hard", is_flag=True, help="Walls teleport to a parallel world."),
        click.option("--ghosts", type=int, default=0, show_default=True, help="Number of ghosts, 0 to 16."),
        click.option("--textured", is_flag=True, help="The agent sees 8 x 8 textures instead of grey cells."),
        click.option("--time-limit", type=int, help="Steps until an episode ends.  [default: 100 x room size]"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def map_name(map: str | None, layout: str | None) -> str:
    """Return the name of the map that the options `--map` and `--layout` ask for."""
    name = map or layout or DEFAULT_MAP
    if name not in MAPS:
        raise UserError(f"--map: {name!r} is not one of {', '.join(MAPS)}")
    return name
