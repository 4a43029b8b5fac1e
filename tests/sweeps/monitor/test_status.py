"""The board: what it counts, and the time that is left."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mulex.methods import METHODS
from mulex.store.folder import Folder, open_folder
from sweeps.inventory import freeze_spec
from sweeps.monitor.pace import Forecast, forecast
from sweeps.monitor.status import Board
from sweeps.plan import PlannedRun
from tests.support.sweeps import ROOT, as_spec, begin_pack, mulex, tiny
from tests.sweeps.test_inventory import leave, planned


def say(
    folder: Folder,
    runs: list[PlannedRun],
    seconds_ago: float = 0.0,
    iteration: int = 2,
    iterations: int = 4,
    seconds: float | None = None,
) -> None:
    """What a worker says of a pack it trains."""
    moment = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    said = {
        "pack": runs[0].run_id,
        "runs": [run.run_id for run in runs],
        "iteration": iteration,
        "iterations": iterations,
        "seconds": iteration * len(runs) / 2 if seconds is None else seconds,
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
    status = board.refresh()
    assert status.total == 8
    assert [(run.run_id, finished.error) for run, finished in status.failures] == [
        (eps[1].run_id, "it broke"),
        (mulex[1].run_id, None),
    ]
    assert (status.lines[0].best, status.lines[0].median) == (0.25, 0.25)
    assert len(status.packs) == 1


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


def test_the_time_left_comes_from_the_cost_of_runs(tmp_path: Path) -> None:
    """Four runs of 2 s are done and a pack of two is half done: the last six halves of 2 s, by one worker."""
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    board = Board(as_spec(tiny()), folder)
    for run in runs[:4]:
        leave(folder, run, seconds=2.0)
    assert forecast(board.refresh()) is None  # nobody trains: after Ctrl-C there is no time left to tell
    pack = [run for run in runs[4:] if run.method == runs[4].method]
    say(folder, pack, iteration=2)  # half a second an iteration of each run
    ahead = forecast(board.refresh())
    assert ahead == Forecast(pytest.approx(1800), pytest.approx(6.0), is_least=False)
    other = [run for run in runs[4:] if run.method != runs[4].method]
    say(folder, other, iteration=2)
    ahead = forecast(board.refresh())
    assert ahead is not None
    assert ahead.seconds_left == pytest.approx(2.0)  # two workers, each with half of two runs to do


def test_the_time_left_knows_that_some_runs_cost_more(tmp_path: Path) -> None:
    """One method takes 2 s a run, the other one 20 s, once that is known."""
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    quick, slow = ([run for run in runs if run.method == method] for method in dict.fromkeys(r.method for r in runs))
    board = Board(as_spec(tiny()), folder)
    for run in quick[:3]:
        leave(folder, run, seconds=2.0)
    say(folder, quick[3:], iteration=2)
    guess = forecast(board.refresh())
    assert guess is not None
    assert (guess.seconds_left, guess.is_least) == (pytest.approx(9.0), True)
    for run in slow[:2]:
        leave(folder, run, seconds=20.0)
    known = forecast(board.refresh())
    assert known is not None
    assert (known.seconds_left, known.is_least) == (pytest.approx(41.0), False)


def test_the_time_left_follows_the_newest_launch(tmp_path: Path) -> None:
    """Twenty runs took 300 s each on a busy machine; those of this launch take 100 s. The twenty count as three."""
    folder = open_folder(tmp_path)
    plain = tiny(methods={"epsilon_greedy": {"epsilon": {"uniform": [0.05, 0.3]}}}, search={"draws": 40, "seeds": 1})
    _, runs = planned(folder, plain)
    board = Board(as_spec(plain), folder)
    for run in runs[:20]:
        leave(folder, run, launch=1, seconds=300.0)
    say(folder, runs[-1:], iteration=0, seconds=0.0)
    before = forecast(board.refresh())
    for run in runs[20:32]:
        leave(folder, run, launch=2, seconds=100.0)
    after = forecast(board.refresh())
    assert before is not None and after is not None
    assert before.seconds_left == pytest.approx(20 * 300)
    assert after.seconds_left == pytest.approx(8 * (12 * 100 + 3 * 300) / 15)


def test_a_machine_that_was_suspended_does_not_lengthen_the_time_left(tmp_path: Path) -> None:
    """One of five earlier runs took most of an hour, because the machine slept; the others took 100 s."""
    folder = open_folder(tmp_path)
    plain = tiny(methods={"epsilon_greedy": {"epsilon": {"uniform": [0.05, 0.3]}}}, search={"draws": 10, "seeds": 1})
    _, runs = planned(folder, plain)
    for run, seconds in zip(runs, (100.0, 100.0, 2800.0, 100.0, 100.0), strict=False):
        leave(folder, run, launch=1, seconds=seconds)
    leave(folder, runs[5], launch=2, seconds=100.0)
    say(folder, runs[-1:], iteration=0, seconds=0.0)
    ahead = forecast(Board(as_spec(plain), folder).refresh())
    assert ahead is not None
    assert ahead.seconds_left == pytest.approx(4 * 100)


def test_the_first_moments_promise_nothing(tmp_path: Path) -> None:
    """A worker that has trained for two seconds would promise hours for what takes minutes."""
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    say(folder, runs[:2], iteration=2)
    assert forecast(Board(as_spec(tiny()), folder).refresh()) is None


def test_a_slow_start_of_one_method_does_not_promise_hours(tmp_path: Path) -> None:
    """On a busy machine a pack takes a minute for its first iterations of thousands; earlier runs took four seconds."""
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    first, second = ([run for run in runs if run.method == method] for method in dict.fromkeys(r.method for r in runs))
    for run in first:
        leave(folder, run, seconds=4.0)
    say(folder, second[:2], iteration=15, iterations=3000, seconds=60.0)  # alone: 6,000 s a run
    board = Board(as_spec(tiny()), folder)
    ahead = forecast(board.refresh())
    assert ahead is not None
    assert ahead.seconds_left < 700 * len(second)
    say(folder, second[:2], iteration=300, iterations=3000, seconds=60.0)  # a fifth of a run is trusted
    ahead = forecast(board.refresh())
    assert ahead is not None
    assert ahead.seconds_left == pytest.approx(300 * (len(second) - 0.2))


def test_a_few_iterations_of_thousands_promise_nothing(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    _, runs = planned(folder)
    say(folder, runs[:1], iteration=15, iterations=3000, seconds=60.0)
    board = Board(as_spec(tiny()), folder)
    assert forecast(board.refresh()) is None
    say(folder, runs[:1], iteration=45, iterations=3000, seconds=60.0)
    assert forecast(board.refresh()) is not None


def test_a_stopped_pack_is_paused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    folder = open_folder(out)
    spec = as_spec(tiny())
    freeze_spec(folder, spec)
    plan, runs = planned(folder)
    begin_pack(plan, runs[:2], folder, 3)
    text = mulex("status", str(out)).text
    assert f"({runs[0].run_id}) and 1 more: paused, checkpoint of iteration 3" in text
    assert "paused, checkpoint of iteration 3" in mulex("status", str(out), "--run", runs[1].run_id).text
    assert "not trained yet" in mulex("status", str(out), "--run", runs[2].run_id).text
    one = json.loads(mulex("status", str(out), "--run", runs[1].run_id, "--json").text)
    assert (one["run"], one["status"], one["iteration"]) == (runs[1].run_id, "paused", 3)
    plain = json.loads(mulex("status", str(out), "--json").text)
    assert plain["paused"] == [{"runs": [run.run_id for run in runs[:2]], "iteration": 3}]
    assert (plain["seconds_left"], plain["runs_an_hour"]) == (None, None)
    for run in runs[:2]:
        leave(folder, run)
    one = json.loads(mulex("status", str(out), "--run", runs[1].run_id, "--json").text)
    assert (one["run"], one["status"]) == (runs[1].run_id, "done")
    assert [row["iteration"] for row in one["curve"]] == list(range(1, len(one["curve"]) + 1))
    assert "paused" not in mulex("status", str(out)).text


def test_names_are_whole_where_nobody_has_a_terminal(tmp_path: Path) -> None:
    long = "a_method_with_a_name_that_is_longer_than_most_of_its_readers_would_like"
    methods = {long: {"recipe": METHODS["mulex"].model_dump(mode="json")}}
    folder = open_folder(tmp_path / "out")
    freeze_spec(folder, as_spec(tiny(methods=methods)))
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "cluster.cli", "status", str(tmp_path / "out")]
    answer = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, check=True)
    assert long in answer.stdout


def test_a_failure_is_told_with_its_traceback(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "out")
    freeze_spec(folder, as_spec(tiny()))
    _, runs = planned(folder)
    leave(folder, runs[0], "failed", error='ValueError: no\nTraceback:\n  File "mine.py", line 3, in step')
    brief = mulex("status", str(tmp_path / "out")).text
    assert "ValueError: no\n" in brief
    assert "mine.py" not in brief
    assert '  File "mine.py", line 3, in step\n' in mulex("status", str(tmp_path / "out"), "--run", runs[0].run_id).text
