"""What `mulex sweep` says at its end, and its exit code, for every way in which it can end."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mulex.store.entry import entry_of_row
from sweeps.api import Outcome
from sweeps.commands.sweep import next_steps
from sweeps.monitor.status import Status
from sweeps.plan import PlannedRun

RUN = PlannedRun("0123456789abcdef", "small", "mulex", 3, 1)
ROW = {"run": RUN.run_id, "world": "small", "method": "mulex", "draw": 3, "seed": 1, "finished_at": datetime.now(UTC)}
FAILED = entry_of_row("runs/mulex/x.parquet", ROW | {"status": "failed", "error": "ValueError: no"}, 1, "")
DONE = Outcome("out/x", 8, 0, 0, 0, False, None, (), Status("x", [], [], [], []))
WITH_FAILURE = replace(DONE, done=7, failed=1, status=replace(DONE.status, failures=[(RUN, FAILED)]))


def test_after_a_finished_sweep_come_pictures_and_statistics() -> None:
    *_, last = next_steps(DONE)
    assert all(f"mulex {command} out/x" in last for command in ("plot", "stats", "report"))
    assert DONE.exit_code == 0


def test_after_a_failure_comes_a_look_at_it() -> None:
    *_, last = next_steps(WITH_FAILURE)
    assert "mulex status out/x --run 0123456789abcdef" in last
    assert "mulex resume out/x" in last
    assert WITH_FAILURE.exit_code == 1


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (replace(DONE, done=3, missing=5, interrupted=True), 130),
        (replace(DONE, done=3, missing=5, storage_error="out/x: cannot be written (no space)"), 1),
        (replace(DONE, done=3, missing=5), 1),
        (replace(DONE, interrupted=True), 130),
    ],
)
def test_after_a_stop_comes_the_way_to_continue(outcome: Outcome, code: int) -> None:
    assert next_steps(outcome) == ["continue with: mulex resume out/x"]
    assert outcome.exit_code == code


@pytest.mark.parametrize("change", [{"diverged": 1}, {"strangers": ("runs/mulex/other.parquet",)}])
def test_what_is_not_as_it_should_be_costs_exit_code_1(change: dict[str, object]) -> None:
    assert replace(DONE, **change).exit_code == 1  # type: ignore[arg-type]
