"""The board: what it counts, and the time that is left."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mulex.folder import Folder, open_folder
from sweeps.board import Board, Forecast, Pace
from sweeps.plan import PlannedRun
from tests.sweep_helpers import as_spec, tiny
from tests.test_store import leave, planned


def say(folder: Folder, runs: list[PlannedRun], seconds_ago: float = 0.0, iteration: int = 2) -> None:
    """What a worker says of a pack it trains."""
    moment = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    said = {
        "pack": runs[0].run_id,
        "runs": [run.run_id for run in runs],
        "iteration": iteration,
        "iterations": 4,
        "seconds": iteration * len(runs) / 2,
        "pid": os.getpid(),
        "updated_at": moment.isoformat(),
    }
    folder.write(f"progress/{runs[0].run_id}.json", json.dumps(said).encode())


def counts(board: Board) -> dict[str, tuple[int, int, int, int]]:
    """Done, running, failed and pending, by method."""
    return {line.method: (line.done, line.running, line.failed, line.pending) for line in board.refresh().lines}


def test_the_board_counts_every_run_once(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    board = Board(as_spec(tiny()), folder)
    assert counts(board) == {"epsilon_greedy": (0, 0, 0, 4), "mulex": (0, 0, 0, 4)}
    eps, mulex = ([run for run in runs if run.method == method] for method in ("epsilon_greedy", "mulex"))
    leave(folder, eps[0], normalised_auc=0.25)
    leave(folder, eps[1], "failed", error="it broke")
    say(folder, eps[2:])
    leave(folder, mulex[0], "stopped")
    leave(folder, mulex[1], "diverged")
    say(folder, mulex[2:], seconds_ago=1000)
    assert counts(board) == {"epsilon_greedy": (1, 2, 1, 0), "mulex": (1, 0, 1, 2)}
    standing = board.refresh()
    assert standing.total == 8
    assert [(run.run_id, finished.error) for run, finished in standing.failures] == [
        (eps[1].run_id, "it broke"),
        (mulex[1].run_id, None),
    ]
    assert (standing.lines[0].best, standing.lines[0].median) == (0.25, 0.25)
    assert len(standing.packs) == 1


def test_the_board_sees_that_a_failed_run_was_done_after_all(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    board = Board(as_spec(tiny()), folder)
    leave(folder, runs[0], "failed", error="it broke")
    assert counts(board)["epsilon_greedy"] == (0, 0, 1, 3)
    leave(folder, runs[0])
    assert counts(board)["epsilon_greedy"] == (1, 0, 0, 3)
    assert board.refresh().failures == []


def test_the_board_sees_that_a_damaged_run_was_done_again(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    board = Board(as_spec(tiny()), folder)
    name = leave(folder, runs[0])
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[:-1])
    assert board.refresh().damaged == [name]
    assert counts(board)["epsilon_greedy"] == (0, 0, 0, 4)
    (tmp_path / name).write_bytes(content)
    assert board.refresh().damaged == []
    assert counts(board)["epsilon_greedy"] == (1, 0, 0, 3)


def test_the_board_counts_a_repeated_draw_once(tmp_path: Path) -> None:
    """Else a finished sweep would say for ever that runs are pending."""
    folder = open_folder(tmp_path)
    methods = {"epsilon_greedy": {"learning_rate": {"choice": [1e-3, 1e-4]}, "epsilon": 0.1}}
    plain = tiny(methods=methods, search={"draws": 6, "seeds": 2})
    _, runs = planned(folder, plain)
    for run in runs:
        leave(folder, run)
    assert counts(Board(as_spec(plain), folder)) == {"epsilon_greedy": (4, 0, 0, 0)}


def test_the_board_counts_what_an_adaptive_search_has_not_asked_for(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    plain = tiny(search={"algorithm": "tpe", "draws": 3, "seeds": 2})
    board = Board(as_spec(plain), folder)
    assert counts(board)["mulex"] == (0, 0, 0, 6)
    values = {"learning_rate": 1e-4, "epsilon": 0.01, "p_task": 0.6, "gamma_steps": 0.9}
    folder.write("draws/mulex.json", json.dumps([values]).encode())
    _, runs = planned(folder, plain)
    leave(folder, runs[0])
    assert counts(board)["mulex"] == (1, 0, 0, 5)


def test_a_failed_run_that_is_tried_again_is_running(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    board = Board(as_spec(tiny()), folder)
    for run in runs[:2]:
        leave(folder, run, "failed", error="x")
    assert counts(board)[runs[0].method] == (0, 0, 2, 2)
    say(folder, runs[:2])
    assert counts(board)[runs[0].method] == (0, 2, 0, 2)
    leave(folder, runs[0])
    assert counts(board)[runs[0].method] == (1, 1, 0, 2)


def test_rubbish_in_the_folder_does_not_stop_the_board(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    folder.write("progress/x.json", b"{")
    folder.write("runs/mulex/notes.txt", b"mine")
    assert counts(Board(as_spec(tiny()), folder))["mulex"] == (0, 0, 0, 4)


def test_the_time_left_comes_from_what_was_seen_to_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a run a second, counting the parts of runs: 3 of 8 are left after 10 s."""
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    clock = [100.0]
    monkeypatch.setattr("sweeps.board.time.monotonic", lambda: clock[0])
    board, pace = Board(as_spec(tiny()), folder), Pace()
    assert pace.forecast(board.refresh()) is None
    clock[0] += 10
    for run in runs[:4]:
        leave(folder, run)
    say(folder, runs[4:6], iteration=2)
    assert pace.forecast(board.refresh()) == Forecast(pytest.approx(0.5 * 3600), pytest.approx(6), is_least=False)


def test_the_time_left_knows_that_some_runs_cost_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One method takes 2 s a run, then the other turns out to take 20 s; two workers."""
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    quick, slow = ([run for run in runs if run.method == method] for method in dict.fromkeys(r.method for r in runs))
    clock = [100.0]
    monkeypatch.setattr("sweeps.board.time.monotonic", lambda: clock[0])
    board, pace = Board(as_spec(tiny()), folder), Pace()
    pace.forecast(board.refresh())
    clock[0] += 4
    for run in quick:
        leave(folder, run)
    guess = pace.forecast(board.refresh())
    assert guess is not None
    assert (guess.seconds_left, guess.is_least) == (pytest.approx(4), True)
    clock[0] += 20
    for run in slow[:2]:
        leave(folder, run, seconds=20.0)
    known = pace.forecast(board.refresh())
    assert known is not None
    assert (known.seconds_left, known.is_least) == (pytest.approx(20), False)
