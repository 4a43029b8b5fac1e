"""`mulex play`: a world in the terminal, in a window, or in a picture file; by hand, or as a policy plays it."""

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
from mulex.commands.world_options import world_options
from mulex.errors import UserError
from mulex.worlds.render import map_picture
from mulex.worlds.world import World, build_world

_FPS = 8
_SEEDS = 2**32

_WORLD = ("layout", "room_size", "hard", "ghosts", "textured", "time_limit")

# what would do nothing while somebody plays by hand
_NEED_A_POLICY = ("gif", "episodes", "fps")
# options that do different things
_APART = [("map", other) for other in ("policy", "run", "gif", "window", "episodes", "fps", "seed", "time_limit")]
_APART += [("gif", "window"), ("run", "policy")]


@click.command()
@world_options
@click.option("--seed", type=click.IntRange(0), help="For ghosts and the random policy.  [default: a new one]")
@click.option("--policy", type=click.Choice(list(POLICIES)), help="Watch a policy. Optimal ignores ghosts.")
@click.option("--run", type=click.Path(path_type=Path), metavar="FILE", help="Watch a trained run, in its own world.")
@click.option("--episodes", type=click.IntRange(1), help="How many to watch.  [default: 1]")
@click.option("--fps", type=click.IntRange(1, 50), help=f"Steps a second of a policy.  [default: {_FPS}]")
@click.option("--window", is_flag=True, help="In a window in place of the terminal; needs mulex[human].")
@click.option("--gif", type=click.Path(path_type=Path), metavar="FILE", help="Write the policy's episodes as a GIF.")
@click.option("--map", type=click.Path(path_type=Path), metavar="FILE", help="Draw the map (png, jpg, pdf, webp).")
@click.pass_context
def play(context: click.Context, /, layout: str, **options: Any) -> None:
    """Play a world by hand, watch a policy in it, or draw its map.

    By hand: the arrow keys, wasd or hjkl move, r restarts, q quits.
    """
    _check_combination(options)
    if options["run"]:
        _show_run(context, options)
        return
    world = _build(layout, options)
    if options["map"]:
        _draw_map(world, options["map"])
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


def _build(layout: str, options: dict[str, Any]) -> World:
    try:
        return build_world(layout, **{name: options[name] for name in _WORLD if name != "layout"})
    except ValueError as error:
        raise UserError(f"the world cannot be built: {error}") from error


def _game(world: World, options: dict[str, Any]) -> tuple[Game, int]:
    seed = random.randrange(_SEEDS) if options["seed"] is None else options["seed"]
    return Game(world, seed), seed


def _draw_map(world: World, file: Path) -> None:
    check_file(file, PICTURES)
    write_picture(file, map_picture(world))
    click.echo(f"wrote {file}")


def _play_by_hand(world: World, options: dict[str, Any]) -> None:
    if not options["window"] and not _on_terminal():
        raise UserError("playing by hand needs a terminal; without one use --policy, --gif, --map or --window")
    game, _ = _game(world, options)
    with _screen(options) as screen:
        play_by_hand(game, screen)


def _show_run(context: click.Context, options: dict[str, Any]) -> None:
    """A run is shown in the world that it was trained in."""
    for name in _WORLD:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UserError(f"--run and {_flag(name)} do not go together: a run is shown in its own world")
    from mulex.commands.play_run import run_policy

    world, policy = run_policy(options["run"])
    _show_policy(world, lambda seed: policy, options)


def _show_policy(world: World, make_policy: Callable[[int], Policy], options: dict[str, Any]) -> None:
    game, seed = _game(world, options)
    for summary in _episodes(game, make_policy(seed), options):
        click.echo(summary)
    if options["gif"]:
        click.echo(f"wrote {options['gif']}")


def _episodes(game: Game, policy: Policy, options: dict[str, Any]) -> Iterable[str]:
    """Play, and give the summary of each episode that came to its end."""
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
