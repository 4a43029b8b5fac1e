"""Longer runs: a sweep whose `training.iterations` grows goes on from the checkpoints of its shorter runs.

A longer run has another id. Its random numbers stay those of the length that it was first planned with, which
`training.grown_from` remembers, so it has the bits of a run that was that long from the start.
"""

from collections.abc import Iterator

from mulex.store.checkpoints import begun_packs, kept_lengths
from mulex.store.folder import Folder
from mulex.store.layout import KEPT
from sweeps.inventory import frozen_spec_if_any
from sweeps.plan import Plan, PlannedPack, PlannedRun
from sweeps.spec import Spec


def with_growth(folder: Folder, spec: Spec) -> Spec:
    """Return a spec that remembers in each world how long runs were at first, if its folder has shorter ones."""
    frozen, worlds = frozen_spec_if_any(folder), dict(spec.worlds)
    if frozen is None:
        return spec
    for name in spec.worlds:
        if name in frozen.worlds and (first := _first_length(frozen, spec, name)) is not None:
            own = {**spec.worlds[name].training, "grown_from": first}
            worlds[name] = spec.worlds[name].model_copy(update={"training": own})
    return spec.model_copy(update={"worlds": worlds})


def _first_length(frozen: Spec, spec: Spec, world: str) -> int | None:
    """Return the length that runs in a world had at first, None if they have it still."""
    old, new = frozen.training_in(world), spec.training_in(world)
    if new.grown_from is not None or old.grown_from is not None:
        return new.grown_from if old.grown_from is None else old.grown_from
    return old.iterations if new.iterations > old.iterations else None


def shorter_packs(plan: Plan, folder: Folder) -> Iterator[PlannedPack]:
    """Yield packs of this plan whose runs left their state in a folder when they were shorter, the longest first."""
    if all(family.training.grown_from is None for family in plan.families.values()):
        return
    lengths = kept_lengths(folder)
    packs = {**begun_packs(folder, KEPT), **begun_packs(folder)}
    by_id = _by_shorter_id(plan, {*lengths.values()})
    for name in sorted(packs, key=lambda name: -lengths.get(name, 0)):
        runs = tuple(by_id[run_id] for run_id in packs[name] if run_id in by_id)
        if runs and len(runs) == len(packs[name]):
            yield PlannedPack(runs[0].world, runs[0].method, runs, name)


def _by_shorter_id(plan: Plan, lengths: set[int]) -> dict[str, PlannedRun]:
    """Return the planned runs by the ids that they had with these lengths, and with the one they had at first."""
    found = {}
    for run in plan.runs():
        family, values = plan.families[run.world, run.method], plan.values[run.method][run.draw]
        for earlier in family.earlier({*lengths, family.training.grown_from or 0}):
            found[earlier.run_id(values, run.seed)] = run
    return found
