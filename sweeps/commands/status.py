"""`mulex status`: how a sweep stands, whether it is being trained or not."""

import time
from itertools import pairwise
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from mulex.errors import UserError
from mulex.json_output import json_option, print_json
from mulex.messages import first_line, printable
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import run_name
from mulex.store.run_file import DamagedRunFile
from mulex.store.run_store import read_run
from sweeps.inventory import frozen_spec
from sweeps.monitor.pace import forecast
from sweeps.monitor.paused import find_paused
from sweeps.monitor.status import Board
from sweeps.monitor.terminal import LOOK_SECONDS, describe, failures, make_console, paused_lines, picture, say
from sweeps.plan import PlannedRun

CURVE_WIDTH = 100  # characters of a curve where the output is no terminal


@click.command()
@click.argument("out", metavar="DIR")
@click.option("--watch", is_flag=True, help="Keep showing it until Ctrl-C or the end.")
@json_option
@click.option("--run", "run_id", metavar="ID", help="One run: its hyperparameters and its curve.")
def status(out: str, watch: bool, as_json: bool, run_id: str | None) -> None:
    """Show done, running, failed and pending runs by method, best and median so far, and the time left."""
    folder, console = open_folder(out), make_console()
    board = Board(frozen_spec(folder), folder)
    if run_id is not None:
        _show_run(board, folder, run_id, console, as_json)
    elif as_json:
        print_json(_plain(board))
    elif watch:
        _watch(board, console)
    else:
        _show(board, console)


def _show(board: Board, console: Console) -> None:
    status = board.refresh()
    console.print(picture(status, forecast(status)))
    damaged = [f"damaged: {name}" for name in status.damaged]
    for line in [*paused_lines(find_paused(board, status)), *failures(status), *damaged]:
        say(console, line)


def _watch(board: Board, console: Console) -> None:
    with Live(console=console, auto_refresh=False) as live:
        while True:
            status = board.refresh()
            live.update(picture(status, forecast(status)), refresh=True)
            if status.count("done") + status.count("failed") == status.total:
                return
            time.sleep(LOOK_SECONDS)


def _plain(board: Board) -> dict[str, Any]:
    status = board.refresh()
    ahead = forecast(status)
    return {
        "sweep": status.name,
        "total": status.total,
        "lines": [
            {key: getattr(line, key) for key in ("world", "method", "done", "running", "failed", "pending")}
            | {"best": line.best, "median": line.median}
            for line in status.lines
        ],
        "runs_an_hour": ahead.runs_an_hour if ahead else None,
        "seconds_left": ahead.seconds_left if ahead else None,
        "at_least": ahead.is_least if ahead else False,
        "packs": [{key: value for key, value in pack.items() if key != "rows"} for pack in status.packs],
        "paused": [
            {"runs": [run.run_id for run in pack.runs], "iteration": pack.iteration}
            for pack in find_paused(board, status)
        ],
        "failures": [
            run.plain() | {"status": finished.status, "error": finished.error} for run, finished in status.failures
        ],
        "damaged": status.damaged,
    }


def _show_run(board: Board, folder: Folder, run_id: str, console: Console, as_json: bool) -> None:
    matches = [run for run in board.runs.values() if run.run_id.startswith(run_id)]
    if len(matches) != 1:
        found = f"{len(matches)} runs begin so" if matches else "this sweep plans no such run"
        raise UserError(f"--run {run_id}: {found}; ids are in runs.parquet and in mulex status --json")
    run = matches[0]
    try:
        finished = read_run(folder, run_name(run.method, run.run_id))
    except FileNotFoundError:
        if as_json:
            print_json(run.plain() | {"role": run.role, **_state(board, run), "curve": []})
        else:
            say(console, f"{describe(run)}: {_where(board, run)}")
        return
    except DamagedRunFile as error:
        raise UserError(str(error)) from None
    if as_json:
        print_json({**finished.row, "curve": finished.curve.to_pylist()})
        return
    for key, value in finished.row.items():
        if value is not None:
            say(console, f"{key:20} {first_line(str(value), 1000)}")
    for line in str(finished.row.get("error") or "").strip().splitlines()[1:]:  # the traceback
        say(console, printable(line))
    width = console.width if console.is_terminal else CURVE_WIDTH
    console.print(_curve([x or 0.0 for x in finished.curve["eval_return"].to_pylist()], width))


def _where(board: Board, run: PlannedRun) -> str:
    """Say how far a run is that has no result."""
    state = _state(board, run)
    if state["status"] == "running":
        return f"running, iteration {state['iteration']} of {state['iterations']}"
    return f"paused, checkpoint of iteration {state['iteration']}" if state["iteration"] else "not trained yet"


def _state(board: Board, run: PlannedRun) -> dict[str, Any]:
    """The status of a run that has no result, and the iteration that it has reached."""
    status = board.refresh()
    for pack in status.packs:
        if run.run_id in pack["runs"]:
            return {"status": "running", "iteration": pack["iteration"], "iterations": pack["iterations"]}
    for paused in find_paused(board, status):
        if run in paused.runs:
            return {"status": "paused", "iteration": paused.iteration}
    return {"status": "pending", "iteration": 0}


def _curve(returns: list[float], width: int, height: int = 10) -> str:
    """Draw the evaluation return by iteration as rows of blocks."""
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
