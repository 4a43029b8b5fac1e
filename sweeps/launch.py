"""Launch a sweep: what the spec plans, minus what the store has, packed and handed to a fresh Tuner.

Resuming after any loss, adding draws or seeds, and trying failures again are all this one call.
"""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from mulex.folder import Folder
from mulex.run_file import collect_tables, tables_are_of
from mulex.snapshot import begun_packs, remove_snapshots
from sweeps.cluster_choice import Cluster
from sweeps.draws import draw_values, draws_name
from sweeps.engine_choice import check_engines
from sweeps.lease import Lease
from sweeps.packs import FixedPacks, Packs
from sweeps.plan import Plan, PlannedPack, PlannedRun
from sweeps.spec import Spec
from sweeps.store import freeze_spec, has_result, move_aside, record_failure, take_stock


def make_plan(spec: Spec, folder: Folder) -> Plan:
    """Every run of a spec; of an adaptive search, every run that was asked for so far."""
    search = spec.search
    if search.algorithm == "tpe":
        from sweeps.adaptive import read_ledger

        return Plan(spec, read_ledger(folder, spec))
    return Plan(
        spec,
        {
            method: draw_values(search.algorithm, search.seed, method, spec.space(method), search.draws)
            for method in spec.methods
        },
    )


class Interruption:
    """Ctrl-C once asks for snapshots and a stop; twice ends at once."""

    def __init__(self) -> None:
        self.asked = False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    @contextmanager
    def listening(self) -> Iterator["Interruption"]:
        before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass(frozen=True)
class Ended:
    """How a launch ended; what came of its runs is in the store."""

    interrupted: bool
    storage_error: str | None


class Launch:
    """One launch of a sweep: from what is missing to the tables. The caller holds the lease and shows the progress."""

    def __init__(
        self, spec: Spec, folder: Folder, cluster: Cluster, interruption: Interruption, lease: Lease | None = None
    ) -> None:
        self.spec, self.folder, self.cluster, self.interruption = spec, folder, cluster, interruption
        self.lease = lease
        self.plan = make_plan(spec, folder)
        self.spec_hash = spec.outcome_hash()
        self.storage_error: str | None = None

    def run(self) -> Ended:
        """Train what is missing, and what failed once more."""
        stock = take_stock(self.folder, self.plan)
        move_aside(self.folder, stock.damaged)
        wanted = [*stock.missing, *stock.failed]
        something = bool(wanted) or self._asks_for_more()
        if something:
            self._train(wanted)
        else:
            self._keep_spec()
        self._check_lease()
        nothing_new = not something and not stock.strangers and tables_are_of(self.folder, stock.seals)
        if self.storage_error is None and not nothing_new:
            collect_tables(self.folder)
        if self.storage_error is None:
            self._tidy()
        return Ended(self.interruption.asked, self.storage_error)

    def _asks_for_more(self) -> bool:
        return any(len(values) < self.spec.search.draws for values in self.plan.values.values())

    def _train(self, wanted: list[PlannedRun]) -> None:
        """All packs; those that fail as a whole once more run by run, so that only the guilty runs are lost.

        The spec is kept when nothing is left that could refuse it: a mistake leaves no folder that belongs to it.
        """
        from sweeps.shared_storage import check_shared
        from sweeps.tune_extras import make_callbacks
        from sweeps.tuning import connected

        if not self.cluster.address:  # elsewhere workers may have what is missing here
            check_engines(self.spec)
        with connected(self.cluster):
            check_shared(self._place())
            make_callbacks(self.spec.execution.callbacks, self.spec.name)
            self._keep_spec()
            packs, failed = self._first_round(wanted)
            self._check_lease()
            self._record(packs, failed)
            alone = [
                PlannedPack(pack.world, pack.method, (run,))
                for pack in packs
                if pack.name in failed and len(pack.runs) > 1
                for run in pack.runs
                if not has_result(self.folder, run)
            ]
            if alone and not self._stops():
                for pack in packs:
                    if pack.name in failed and len(pack.runs) > 1:
                        remove_snapshots(self.folder, pack.name)
                self._record(alone, self._fit(FixedPacks([self._config(pack) for pack in alone])))

    def _keep_spec(self) -> None:
        """And the draws of a space of few values, so that whoever reads the tables knows which repeat each other."""
        freeze_spec(self.folder, self.spec)
        for method, drawn in self.plan.values.items():
            finite = all(distribution.is_finite for distribution in self.spec.space(method).values())
            if finite and self.spec.search.algorithm != "tpe":
                self.folder.write(draws_name(method), json.dumps(drawn).encode())

    def _first_round(self, wanted: list[PlannedRun]) -> tuple[list[PlannedPack], dict[str, str]]:
        if self.spec.search.algorithm == "tpe":
            from sweeps.adaptive import AdaptivePacks

            adaptive = AdaptivePacks(self.plan, self.folder, self._config)
            failed = self._fit(adaptive)
            return list(adaptive.packs.values()), failed
        packs = self._packs(wanted)
        return packs, self._fit(FixedPacks([self._config(pack) for pack in packs]))

    def _packs(self, wanted: list[PlannedRun]) -> list[PlannedPack]:
        """Packs that were begun go on as they are, also if some of their runs are there; the rest is packed anew."""
        planned = {run.run_id: run for run in self.plan.runs()}
        missing = {run.run_id for run in wanted}
        packs: list[PlannedPack] = []
        taken: set[str] = set()
        for ids in begun_packs(self.folder).values():
            if missing.intersection(ids) and planned.keys() >= set(ids) and not taken.intersection(ids):
                runs = tuple(planned[run_id] for run_id in ids)
                packs.append(PlannedPack(runs[0].world, runs[0].method, runs))
                taken.update(ids)
        rest = [run for run in wanted if run.run_id not in taken]
        return packs + self.plan.packs(rest, self.spec.execution.draws_per_pack)

    def _tidy(self) -> None:
        """Snapshots of packs whose runs are all there are of no use any more."""
        if begun := begun_packs(self.folder):
            planned = {run.run_id: run for run in self.plan.runs()}
            for pack, ids in begun.items():
                if planned.keys() >= set(ids) and all(has_result(self.folder, planned[run_id]) for run_id in ids):
                    remove_snapshots(self.folder, pack)

    def _record(self, packs: list[PlannedPack], failed: dict[str, str]) -> None:
        """Write down the failure of runs that were alone; but a worker may die with its result already written."""
        for pack in packs:
            if pack.name in failed and len(pack.runs) == 1 and not has_result(self.folder, pack.runs[0]):
                record_failure(self.folder, self.plan, pack.runs[0], failed[pack.name], self.spec_hash)

    def _stops(self) -> bool:
        lost = self.lease is not None and self.lease.lost.is_set()
        return self.interruption.asked or self.storage_error is not None or lost

    def _check_lease(self) -> None:
        if self.lease is not None:
            self.lease.check()

    def _fit(self, packs: Packs) -> dict[str, str]:
        """Hand packs to a fresh Tuner: gives the names of those that failed, and why."""
        from sweeps.tuning import fit

        ended = fit(packs, self.spec, f"{self._place()}/logs", self._stops)
        self.storage_error = self.storage_error or ended.storage_error
        return ended.failed

    def _place(self) -> str:
        """The folder as workers find it."""
        return self.folder.url if "://" in self.folder.url else str(Path(self.folder.url).resolve())

    def _config(self, pack: PlannedPack) -> dict[str, Any]:
        """What a trial is given."""
        execution = self.spec.execution
        resources = {"CPU": execution.cpus_per_pack, "GPU": execution.gpus_per_pack, **execution.resources}
        return {
            "name": pack.name,
            "pack": self.plan.payload(pack),
            "sweep": self.spec.name,
            "spec_hash": self.spec_hash,
            "folder": self._place(),
            "engine": execution.engine,
            "device": execution.device,
            "keep_policies": execution.keep_policies,
            "checkpoint_every": execution.checkpoint_every,
            "resources": {name: amount for name, amount in resources.items() if amount},
            "placement": execution.placement,
        }
