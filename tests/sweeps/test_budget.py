"""Budgets: a launch stops by itself with checkpoints, and says what is left."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import sweeps.budget
from mulex.store.folder import open_folder
from mulex.store.run_store import RunStore
from sweeps.budget import BudgetWatch, used_core_hours, what_is_left
from sweeps.inventory import freeze_spec
from sweeps.monitor.status import Board
from sweeps.plan import make_plan
from tests.support.sweeps import RAY_MARKS, as_spec, assert_same_tables, files, launch, mulex, tiny, train_alone
from tests.sweeps.test_inventory import leave

pytest_plugins = ["tests.support.ray_plugin"]


def budgeted(**budget: Any) -> dict[str, Any]:
    """A small spec with a budget."""
    return tiny(execution={"budget": budget, "cpus_per_pack": 2})


def test_core_hours_are_the_worker_time_of_the_runs_times_the_cores(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    plan = make_plan(as_spec(budgeted(core_hours=1)), folder)
    for run in list(plan.runs())[:3]:
        leave(folder, run, seconds=600.0)
    watch = BudgetWatch(plan, RunStore(folder))
    assert used_core_hours(plan, RunStore(folder).refresh()) == pytest.approx(1.0)
    assert watch.is_spent()
    assert watch.spent == "1 of 1 core-hours of worker time are used"


def test_the_end_of_a_budget_is_utc_unless_it_says_otherwise(tmp_path: Path) -> None:
    folder, now = open_folder(tmp_path), datetime(2026, 12, 1, 8, tzinfo=UTC).timestamp()
    for until in ("2026-12-01T08:00", "2026-12-01T09:00+01:00"):
        plan = make_plan(as_spec(budgeted(until=until)), folder)
        assert not BudgetWatch(plan, RunStore(folder), lambda: now - 1).is_spent()
        assert BudgetWatch(plan, RunStore(folder), lambda: now).is_spent()


def test_a_sweep_without_a_budget_never_stops(tmp_path: Path) -> None:
    plan = make_plan(as_spec(tiny()), open_folder(tmp_path))
    assert not BudgetWatch(plan, RunStore(open_folder(tmp_path)), lambda: 1e12).is_spent()


def test_what_is_left_costs_what_the_runs_of_its_kind_cost(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    plan = make_plan(as_spec(tiny()), folder)
    for run in plan.runs():
        if run.draw == 0:
            leave(folder, run, seconds=3600.0 if run.method == "mulex" else 1800.0)
    status = Board(plan.spec, folder).refresh(store_alone=True)
    assert what_is_left(status, 2.0).startswith("4 runs are left, about 6 core-hours")


def test_a_budget_in_the_past_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    answer = launch(budgeted(until="2020-01-01T00:00"), tmp_path / "out")
    assert answer.code == 2
    assert "execution.budget.until: 2020-01-01T00:00 is in the past" in answer.text
    assert files(tmp_path / "out") == {}


@pytest.mark.parametrize("budget", [{"core_hours": 0}, {"until": "soon"}, {"until": 5}, {"hours": 3}])
def test_budgets_that_cannot_be_read_are_refused(budget: Any, tmp_path: Path) -> None:
    answer = launch(budgeted(**budget), tmp_path / "out")
    assert answer.code == 2
    assert "budget" in answer.text


def test_a_budget_that_is_used_up_is_refused_with_what_to_do(tmp_path: Path) -> None:
    folder, spec = open_folder(tmp_path), as_spec(budgeted(core_hours=0.1))
    freeze_spec(folder, spec)
    leave(folder, next(iter(make_plan(spec, folder).runs())), seconds=600.0)
    before = files(tmp_path)
    answer = mulex("resume", str(tmp_path))
    assert answer.code == 2
    assert "0.1 is used up, the sweep has used 0.333 of worker time" in answer.text
    assert "--set execution.budget.core_hours=MORE" in answer.text
    assert files(tmp_path) == before


class TestSweeps:
    """With a real Ray."""

    pytestmark = RAY_MARKS

    def test_a_launch_stops_and_a_larger_budget_goes_on(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sweeps.budget, "LOOK_SECONDS", 0.0)
        monkeypatch.setattr(sweeps.budget, "SHARE", 1e9)
        out, plain = tmp_path / "out", tiny(execution={"budget": {"core_hours": 1e-6}})
        answer = launch(plain, out)
        assert answer.code == 1, answer.text
        assert "stopped by the budget:" in answer.text
        assert "core-hours at the mean cost of the latest runs" in answer.text
        assert f"continue with: mulex resume {out}" in answer.text
        assert launch(tiny(execution={"budget": {"core_hours": 100}}), out).code == 0
        train_alone(tiny(), tmp_path / "alone")
        assert_same_tables(out, tmp_path / "alone")
