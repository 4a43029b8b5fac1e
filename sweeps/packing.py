"""Which packs a launch trains: those that were begun go on as they are, the rest is packed anew."""

from collections.abc import Iterator, Sequence
from itertools import chain

from mulex.store.checkpoints import begun_packs, remove_checkpoints
from mulex.store.folder import Folder
from mulex.store.roles import TEST
from mulex.store.run_store import RunStore
from sweeps.growth import shorter_packs
from sweeps.inventory import Stock, has_result
from sweeps.plan import Plan, PlannedPack, PlannedRun


def choose_packs(plan: Plan, folder: Folder, stock: Stock, tests_alone: bool = False) -> Iterator[PlannedPack]:
    """Pack the wanted runs. A pack with checkpoints is kept whole, even if some of its runs are done.

    The checkpoints may be those of the same runs when they were shorter.
    """
    done = {entry.run for entry in stock.entries if not entry.needs_training}
    taken: set[str] = set()
    for pack in chain(_begun(plan, folder), shorter_packs(plan, folder)):
        ids = {run.run_id for run in pack.runs}
        if not ids <= done and not ids & taken and (pack.role == TEST or not tests_alone):
            yield pack
            taken |= ids
    rest = (run for run in stock.wanted(tests_alone) if run.run_id not in taken)
    yield from plan.pack_by_pack(rest, plan.spec.execution.draws_per_pack)


def split(packs: Sequence[PlannedPack], store: RunStore) -> list[PlannedPack]:
    """Pack every unfinished run of some packs alone, without their checkpoints, to find out which run is to blame."""
    alone = []
    for pack in packs:
        remove_checkpoints(store.folder, pack.name)
        unfinished = [run for run in pack.runs if not has_result(store, run)]
        alone += [PlannedPack(pack.world, pack.method, (run,)) for run in unfinished]
    return alone


def remove_finished_checkpoints(plan: Plan, store: RunStore) -> None:
    """Remove the checkpoints of packs whose runs are all done."""
    for pack in list(_begun(plan, store.folder)):
        if all(has_result(store, run) for run in pack.runs):
            remove_checkpoints(store.folder, pack.name)


def _begun(plan: Plan, folder: Folder) -> Iterator[PlannedPack]:
    """The packs of this plan that have left checkpoints."""
    if not (begun := begun_packs(folder)):
        return
    wanted = {run_id for ids in begun.values() for run_id in ids}
    planned: dict[str, PlannedRun] = {}
    for run in plan.runs():
        if run.run_id in wanted:
            planned[run.run_id] = run
            if len(planned) == len(wanted):
                break
    for ids in begun.values():
        if planned.keys() >= set(ids):
            runs = tuple(planned[run_id] for run_id in ids)
            yield PlannedPack(runs[0].world, runs[0].method, runs)
