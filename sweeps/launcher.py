"""Launch a sweep: what the spec plans, minus what the store has, packed and handed to a fresh Tuner.

Resuming after any loss, adding draws or seeds, and trying failures again are all this one call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mulex.errors import UserError
from mulex.store.background import BackgroundFolding
from mulex.store.collecting import collect_tables
from mulex.store.folder import Folder
from mulex.store.folding import set_aside
from mulex.store.layout import PROGRESS, SPEC
from mulex.store.lease import Lease
from mulex.store.leftovers import sweep_leftovers
from mulex.store.progress import remove_progress
from mulex.store.run_store import RunStore
from mulex.store.tables import tables_are_of
from sweeps.budget import BudgetWatch, check_core_hours
from sweeps.confirmation import Confirmation, write_confirmation
from sweeps.engine_check import check_engines
from sweeps.execution.cluster import Cluster, connected
from sweeps.interruption import Interruption
from sweeps.inventory import Stock, freeze_spec, has_result, record_failure, take_stock
from sweeps.learner_code import use_shipped_code
from sweeps.packing import choose_packs, remove_finished_checkpoints, split
from sweeps.packs import AdaptivePacks, FixedPacks, Packs
from sweeps.plan import PlannedPack, PlannedRun, make_plan
from sweeps.rung_scores import stored_scores
from sweeps.spec import Spec

if TYPE_CHECKING:
    from sweeps.execution.tuner import Executor


@dataclass(frozen=True)
class Ended:
    """How a launch ended. What came of its runs is in the store."""

    interrupted: bool
    storage_error: str | None
    strangers: tuple[str, ...] = ()
    """Run files of no planned run, which are not in the tables."""
    spent: str = ""
    """Why the budget ended the launch; empty if it did not."""


class Launch:
    """One launch of a sweep, from what is missing to the tables. The caller holds the lease and shows the progress."""

    def __init__(
        self,
        spec: Spec,
        folder: Folder,
        cluster: Cluster,
        interruption: Interruption,
        lease: Lease,
        say: Callable[[str], None] = lambda line: None,
        confirmation: Confirmation | None = None,
    ) -> None:
        """With a confirmation only its test runs are trained."""
        self.spec, self.folder, self.cluster = spec, folder, cluster
        self.interruption, self.lease, self.say = interruption, lease, say
        self.plan = make_plan(spec, folder)
        self.confirmation = confirmation
        if confirmation is not None:
            self.plan.confirmation = confirmation
        self.store = RunStore(folder)
        self.budget = BudgetWatch(self.plan, self.store)
        self.spec_hash = self.plan.spec_hash
        self.storage_error: str | None = None

    def run(self) -> Ended:
        """Train what is missing, try once more what failed, then make the tables of what is there."""
        self._forget_progress()
        stock = take_stock(self.store, self.plan)
        for problem in self.store.problems:
            self.say(f"{self.folder.url}/{problem}")
        set_aside(self.store, stock.damaged, self.lease.check)
        tests_alone = self.confirmation is not None
        wants = next(stock.wanted(tests_alone), None) is not None
        trains = wants or (not tests_alone and self.plan.unasked() > 0)
        if trains:
            check_core_hours(self.plan, self.store)
            self._train(stock)
        else:
            self._freeze()
        if self.storage_error is None:
            self.lease.check()
            self._forget_progress()
            self._collect(stock, anew=trains)
            remove_finished_checkpoints(self.plan, self.store)
            if not self.interruption.asked:
                sweep_leftovers(self.folder)
        strangers = tuple(stock.strangers)
        return Ended(self.interruption.asked, self.storage_error, strangers, self.budget.spent)

    def _train(self, stock: Stock) -> None:
        """Train on the cluster. The spec is frozen only when nothing is left that could refuse it."""
        if not self.cluster.address and self.folder.exists(SPEC):  # a first launch was checked before it began
            use_shipped_code(self.folder, self.spec)
            check_engines(self.spec)
        try:
            with connected(self.cluster) as dashboard:
                if dashboard:
                    self.say(f"Ray dashboard: {dashboard} (its token: mulex token --show)")
                self._train_connected(stock)
        except UserError:
            if not self.interruption.asked:
                raise
            self._freeze()  # a signal that reaches the whole process group ends a Ray that is starting, too

    def _train_connected(self, stock: Stock) -> None:
        executor = self._executor()
        self._freeze()
        for line in self._unstoppable():
            self.say(line)
        if self._stops():  # somebody interrupted the start of Ray
            return
        with BackgroundFolding(self.store, self.lease.check):
            failed = self._first_round(executor, stock)
            alone = split(failed, self.store) if failed and not self._stops() else []
            if alone:
                self._fit(executor, FixedPacks(alone, len(alone)))

    def _unstoppable(self) -> list[str]:
        from sweeps.execution.schedulers import unstoppable

        return unstoppable(self.spec)

    def _executor(self) -> "Executor":
        """Check everything that workers need, then return what trains packs."""
        from sweeps.execution.shared_storage import check_shared
        from sweeps.execution.task import make_task
        from sweeps.execution.tuner import Executor

        url = self.folder.url if "://" in self.folder.url else str(Path(self.folder.url).resolve())
        check_shared(url)
        return Executor(
            self.spec,
            lambda pack: make_task(self.plan, pack, url, self.spec_hash, self.lease.number),
            self._stops,
            self.say,
            has_metrics=bool(self.cluster.address or self.cluster.dashboard),
            stored=lambda: stored_scores(self.plan, self.store),
        )

    def _freeze(self) -> None:
        """Freeze the spec and the choice of draws to confirm; for finite spaces also write draws/<method>.json."""
        freeze_spec(self.folder, self.spec)
        self.plan.search.record(self.folder, self.plan.values)
        if self.confirmation is not None:
            write_confirmation(self.folder, self.confirmation)

    def _first_round(self, executor: "Executor", stock: Stock) -> list[PlannedPack]:
        """Train all packs; returns those of several runs that failed as a whole."""
        failed: list[PlannedPack] = []
        tests_alone = self.confirmation is not None
        if self.plan.search.adaptive and not tests_alone:
            failed = self._fit(executor, AdaptivePacks(self.plan, self.folder))
            tests_alone = True
        if self._stops() or next(stock.wanted(tests_alone), None) is None:
            return failed
        most = sum(self.plan.counts().values())
        packs = FixedPacks(choose_packs(self.plan, self.folder, stock, tests_alone), most)
        return failed + self._fit(executor, packs)

    def _fit(self, executor: "Executor", queue: Packs) -> list[PlannedPack]:
        """Train a queue of packs and record what failed; returns failed packs whose runs can be tried alone."""
        fitted = executor.fit(queue)
        self.storage_error = self.storage_error or fitted.storage_error
        if self.storage_error is not None:
            return []
        self.lease.check()
        shared = []
        for pack in queue.packs.values():
            if pack.name in fitted.failed:
                if len(pack.runs) > 1:
                    shared.append(pack)
                elif not has_result(self.store, pack.runs[0]):  # a worker may die with its result already written
                    self._record_failure(pack.runs[0], fitted.failed[pack.name])
                remove_progress(self.folder, pack.name)
        return shared

    def _record_failure(self, run: PlannedRun, error: str) -> None:
        record_failure(self.folder, self.plan, run, error, self.spec_hash, self.lease.number)

    def _collect(self, stock: Stock, anew: bool) -> None:
        """Make the tables, unless they are already made of exactly these run files."""
        if anew or not tables_are_of(self.folder, stock.checksums):
            collect_tables(self.folder, self.plan.has, self.store, self.lease.check)

    def _forget_progress(self) -> None:
        """Remove what workers of this sweep said last: before and after a launch, none of them is alive."""
        self.folder.remove_many(self.folder.list(PROGRESS))

    def _stops(self) -> bool:
        if self.interruption.asked or self.storage_error is not None or self.lease.is_lost:
            return True
        return self.budget.is_spent()
