"""`mulex status`: how a sweep stands, also one that nobody trains any more."""

import json
import time
from itertools import pairwise
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from mulex.errors import UserError
from mulex.folder import Folder, open_folder
from mulex.run_file import DamagedRunFile, read_run_file, run_name
from sweeps.board import Board, Pace, Standing
from sweeps.store import frozen_spec
from sweeps.view import LOOK_SECONDS, describe, failures, picture


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--watch", is_flag=True, help="Go on showing it until Ctrl-C or the end.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object, for other programs.")
@click.option("--run", "run_id", metavar="ID", help="One run: its hyperparameters and its curve.")
def status(out: str, watch: bool, as_json: bool, run_id: str | None) -> None:
    """Show done, running, failed and pending runs by method, best and median so far, and the time left."""
    folder, console = open_folder(out), Console()
    spec = frozen_spec(folder)
    board = Board(spec, folder)
    if run_id is not None:
        _show_run(board, folder, run_id, console)
    elif as_json:
        click.echo(json.dumps(_plain(spec.name, board.refresh()), indent=2))
    elif watch:
        _watch(board, spec.name, console)
    else:
        _show(board.refresh(), spec.name, console)


def _show(standing: Standing, name: str, console: Console) -> None:
    console.print(picture(standing, None, name))
    for line in [*failures(standing), *[f"damaged: {name}" for name in standing.damaged]]:
        console.print(line, highlight=False, soft_wrap=True)


def _watch(board: Board, name: str, console: Console) -> None:
    pace = Pace()
    with Live(console=console, auto_refresh=False) as live:
        while True:
            standing = board.refresh()
            live.update(picture(standing, pace.forecast(standing), name), refresh=True)
            if standing.count("done") + standing.count("failed") == standing.total:
                return
            time.sleep(LOOK_SECONDS)


def _plain(name: str, standing: Standing) -> dict[str, Any]:
    return {
        "sweep": name,
        "total": standing.total,
        "lines": [
            {key: getattr(line, key) for key in ("world", "method", "done", "running", "failed", "pending")}
            | {"best": line.best, "median": line.median}
            for line in standing.lines
        ],
        "packs": standing.packs,
        "failures": [
            {"run": run.run_id, "world": run.world, "method": run.method, "draw": run.draw, "seed": run.seed}
            | {"status": finished.status, "error": finished.error}
            for run, finished in standing.failures
        ],
        "damaged": standing.damaged,
    }


def _show_run(board: Board, folder: Folder, run_id: str, console: Console) -> None:
    matches = [run for run in board.runs.values() if run.run_id.startswith(run_id)]
    if len(matches) != 1:
        found = f"{len(matches)} runs begin so" if matches else "this sweep plans no such run"
        raise UserError(f"--run {run_id}: {found}; ids are in runs.parquet and in mulex status --json")
    run = matches[0]
    try:
        finished = read_run_file(folder, run_name(run.method, run.run_id))
    except FileNotFoundError:
        packs = [pack for pack in board.refresh().packs if run.run_id in pack["runs"]]
        where = (
            f"running, iteration {packs[0]['iteration']} of {packs[0]['iterations']}" if packs else "not trained yet"
        )
        console.print(f"{describe(run)}: {where}", highlight=False, soft_wrap=True)
        return
    except DamagedRunFile as error:
        raise UserError(str(error)) from None
    for key, value in finished.row.items():
        if value is not None:
            console.print(f"{key:20} {value}", highlight=False)
    console.print(_curve(finished.curve["eval_return"].to_pylist(), console.width))


def _curve(returns: list[float], width: int, height: int = 10) -> str:
    """Evaluation return by iteration, as rows of blocks."""
    if not returns:
        return "no curve"
    columns = min(len(returns), max(10, width - 12))
    edges = [round(i * len(returns) / columns) for i in range(columns + 1)]
    means = [sum(returns[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(0.0, *means), max(*means, 1e-9)
    rows = []
    for level in range(height, 0, -1):
        bound = low + (high - low) * (level - 0.5) / height
        label = f"{low + (high - low) * level / height:8.2f} |"
        rows.append(label + "".join("█" if mean >= bound else " " for mean in means))
    rows.append(f"{low:8.2f} +{'-' * columns}")
    return "\n".join([*rows, f"          1{f'iteration {len(returns)}':>{columns - 1}}"])
