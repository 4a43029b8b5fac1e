"""`mulex play`: show a world in the terminal, in a window or in a picture file, played by hand or by a policy."""

import random
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mulex.commands.play_files import GIF, PICTURES, check_file, write_gif, write_picture
from mulex.commands.play_session import POLICIES, Game, Policy, Screen, play_by_hand, run, watch
from mulex.commands.world_options import map_name, world_options
from mulex.errors import UserError
from mulex.worlds.interface import GridWorlds
from mulex.worlds.pictures.render import map_picture
from mulex.worlds.world import World, build_world

_FPS = 8
_SEEDS = 2**32

_WORLD = ("map", "layout", "room_size", "hard", "ghosts", "textured", "time_limit")

# Options that have no effect while somebody plays by hand.
_NEED_A_POLICY = ("gif", "episodes", "fps")
# Pairs of options that exclude each other.
_APART = [
    ("map_picture", other) for other in ("policy", "run", "gif", "window", "episodes", "fps", "seed", "time_limit")
]
_APART += [("gif", "window"), ("run", "policy")]


@click.command()
@world_options
@click.option("--seed", type=click.IntRange(0), help="Seed of the ghosts and the random policy.  [default: a new one]")
@click.option("--policy", type=click.Choice(list(POLICIES)), help="Watch a policy. Optimal ignores ghosts.")
@click.option("--run", type=click.Path(path_type=Path), metavar="FILE", help="Watch a trained run in its own world.")
@click.option("--trust", is_flag=True, help="Let --run import the module of its Gymnasium environment.")
@click.option("--episodes", type=click.IntRange(1), help="Number of episodes to watch.  [default: 1]")
@click.option("--fps", type=click.IntRange(1, 50), help=f"Steps per second of a policy.  [default: {_FPS}]")
@click.option("--window", is_flag=True, help="Use a window instead of the terminal; needs mulex[human].")
@click.option("--gif", type=click.Path(path_type=Path), metavar="FILE", help="Write the policy's episodes as a GIF.")
@click.option(
    "--map-picture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the map to a file: png, jpg, pdf, webp.",
)
@click.pass_context
def play(context: click.Context, /, **options: Any) -> None:
    """Play a world by hand, watch a policy in it, or draw its map.

    By hand: the arrow keys, wasd or hjkl move, r restarts, q quits.
    """
    if Path(options["map"] or "").suffix:  # no map has a suffix: `--map FILE.png` used to draw the map
        options |= {"map": None, "map_picture": options["map_picture"] or Path(options["map"])}
    _check_combination(options)
    if options["run"]:
        _show_run(context, options)
        return
    world = _build(options)
    if options["map_picture"]:
        _draw_map(world, options["map_picture"])
    elif options["policy"]:
        _show_policy(world, lambda seed: POLICIES[options["policy"]](world, seed), options)
    else:
        _play_by_hand(world, options)


def _check_combination(options: dict[str, Any]) -> None:
    for option in _NEED_A_POLICY:
        if options[option] and not (options["policy"] or options["run"]):
            raise UserError(f"{_flag(option)} needs --policy or --run")
    for option, other in _APART:
        if options[option] and _given(options[other]):
            raise UserError(f"{_flag(option)} and {_flag(other)} do not go together")


def _given(value: object) -> bool:
    return value is not None and value is not False


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _build(options: dict[str, Any]) -> World:
    name = map_name(options["map"], options["layout"])
    try:
        return build_world(name, **{key: options[key] for key in _WORLD[2:]})
    except ValueError as error:
        raise UserError(f"the world cannot be built: {error}") from error


def _seed(options: dict[str, Any]) -> int:
    return random.randrange(_SEEDS) if options["seed"] is None else int(options["seed"])


def _draw_map(world: World, file: Path) -> None:
    check_file(file, PICTURES)
    write_picture(file, map_picture(world))
    click.echo(f"wrote {file}")


def _play_by_hand(world: World, options: dict[str, Any]) -> None:
    if not options["window"] and not _on_terminal():
        raise UserError("playing by hand needs a terminal; without one use --policy, --gif, --map-picture or --window")
    with _screen(options) as screen:
        play_by_hand(Game(world, _seed(options)), screen)


def _show_run(context: click.Context, options: dict[str, Any]) -> None:
    """Show a run in the grid world that it was trained in; in a Gymnasium environment only its returns are printed."""
    for name in _WORLD:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UserError(f"--run and {_flag(name)} do not go together: a run is shown in its own world")
    from mulex.commands.play_run import grid_policy, gymnasium_episodes, trained_policy

    trained, warning = trained_policy(options["run"], options["trust"])
    if warning:
        click.echo(f"warning: {warning}", err=True)
    if isinstance(trained.worlds, GridWorlds):
        _show_policy(trained.worlds.world, lambda seed: grid_policy(trained), options)
        return
    for name in ("gif", "window", "fps"):
        if _given(options[name]):
            raise UserError(f"{_flag(name)}: this run was trained in a Gymnasium environment, which cannot be shown")
    for summary in gymnasium_episodes(trained, _seed(options), options["episodes"] or 1):
        click.echo(summary)


def _show_policy(world: World, make_policy: Callable[[int], Policy], options: dict[str, Any]) -> None:
    seed = _seed(options)
    for summary in _episodes(Game(world, seed), make_policy(seed), options):
        click.echo(summary)
    if options["gif"]:
        click.echo(f"wrote {options['gif']}")


def _episodes(game: Game, policy: Policy, options: dict[str, Any]) -> Iterable[str]:
    """Play episodes; yields the summary of each one that ended."""
    episodes, fps = options["episodes"] or 1, options["fps"] or _FPS
    if options["gif"]:
        check_file(options["gif"], GIF)
        return write_gif(options["gif"], game, policy, episodes, fps)
    if options["window"] or _on_terminal():
        with _screen(options) as screen:
            return watch(game, policy, screen, episodes, fps)
    return run(game, policy, episodes)


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _screen(options: dict[str, Any]) -> AbstractContextManager[Screen]:
    if options["window"]:
        from mulex.commands.play_window import WindowScreen

        return WindowScreen()
    from mulex.commands.play_terminal import Terminal

    return Terminal()
