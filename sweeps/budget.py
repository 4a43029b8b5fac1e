"""Budgets of a sweep: when a launch stops by itself, and what is left then.

Core-hours are worker time: the seconds that workers spent on iterations, from the runs in the store and the progress of
running packs, times the cores of a worker. What a pack did since its last progress, or after a checkpoint that it went
back to, is not in it.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from mulex.errors import UserError
from mulex.store.progress import read_progress
from mulex.store.run_store import RunStore
from sweeps.monitor.status import Status
from sweeps.plan import Plan
from sweeps.spec import Spec
from sweeps.spec.execution import Budget

LOOK_SECONDS = 5.0
"""The least time between two looks at the store."""
SHARE = 0.05
"""The largest share of the time that looking at the store may take."""


class BudgetWatch:
    """Says when the budget of a sweep is used up."""

    def __init__(self, plan: Plan, store: RunStore, clock: Callable[[], float] = time.time) -> None:
        self.budget, self.plan, self.store = plan.spec.execution.budget or Budget(), plan, store
        self.spent = ""
        """Why the launch is to stop; empty while it is not."""
        self._clock, self._next = clock, 0.0

    def is_spent(self) -> bool:
        """Whether the launch is to stop; the store is looked at now and then."""
        if not self.spent and self.budget.moment is not None and self._clock() >= self.budget.moment.timestamp():
            self.spent = f"it is past {self.budget.until}"
        if not self.spent and self.budget.core_hours is not None and self._clock() >= self._next:
            began = time.perf_counter()
            used = used_core_hours(self.plan, self.store.refresh())
            self._next = self._clock() + max(LOOK_SECONDS, (time.perf_counter() - began) / SHARE)
            if used >= self.budget.core_hours:
                self.spent = f"{used:.3g} of {self.budget.core_hours:g} core-hours of worker time are used"
        return bool(self.spent)


def used_core_hours(plan: Plan, store: RunStore) -> float:
    """Return the worker time that a sweep has used, in finished runs and in running packs."""
    done = [entry for entry in store.entries.values() if plan.has(entry)]
    finished = {entry.run for entry in done if not entry.needs_training}
    seconds = sum(entry.seconds for entry in done)
    for pack in read_progress(store.folder):
        running = [run for run in pack["runs"] if run not in finished]
        seconds += pack["seconds"] * len(running) / max(1, len(pack["runs"]))
    return seconds * plan.spec.execution.cpus_per_pack / 3600


def check_budget(spec: Spec) -> None:
    """Raise UserError for a budget whose end is in the past."""
    budget = spec.execution.budget
    if budget is not None and budget.moment is not None and budget.moment <= datetime.now(UTC):
        raise UserError(
            f"execution.budget.until: {budget.until} is in the past, it is now {datetime.now(UTC):%Y-%m-%dT%H:%M} UTC; "
            "use a later moment, or none: --set execution.budget.until=null"
        )


def check_core_hours(plan: Plan, store: RunStore) -> None:
    """Raise UserError if a sweep has used its core-hours already."""
    budget = plan.spec.execution.budget
    if budget is None or budget.core_hours is None:
        return
    used = used_core_hours(plan, store.refresh())
    if used >= budget.core_hours:
        url = store.folder.url
        raise UserError(
            f"execution.budget.core_hours: {budget.core_hours:g} is used up, the sweep has used {used:.3g} of worker "
            f"time; go on with: mulex sweep {url}/spec.yaml --out {url} --set execution.budget.core_hours=MORE"
        )


def what_is_left(status: Status, cpus: float) -> str:
    """Say how many runs are missing, and what they would cost at the mean cost of the latest runs."""
    known = [line.seconds_a_run for line in status.lines if line.seconds_a_run is not None]
    missing = sum(line.pending + line.running for line in status.lines)
    if not known:
        return f"{missing:,} runs are left, whose cost is not known yet"
    usual = sum(known) / len(known)
    seconds = sum(
        (line.pending + line.running - line.partly) * (usual if line.seconds_a_run is None else line.seconds_a_run)
        for line in status.lines
    )
    hours = f"{seconds * cpus / 3600:.3g} core-hours"
    return f"{missing:,} runs are left, about {hours} at the mean cost of the latest runs"
