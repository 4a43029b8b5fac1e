"""What packs scored at a scheduler's rungs: those in training, and those that earlier launches finished or stopped."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mulex.store.layout import run_name
from mulex.store.roles import TUNE
from mulex.store.run_store import RunStore
from sweeps.plan import Plan, PlannedPack

AT_ONCE = 64
"""Packs whose run files are read together."""


class RungScores(NamedTuple):
    """The scores of one pack by rung, and all rungs of its world."""

    world: str
    method: str
    pack: str
    rungs: tuple[int, ...]
    scores: dict[int, float]


def score_after(returns: Sequence[Sequence[Any]], iterations: int) -> float:
    """Return the mean return of a pack's runs over so many iterations; an unknown return counts as 0."""
    return statistics.fmean(statistics.fmean(float(x or 0.0) for x in of_run[:iterations]) for of_run in returns)


def scores_at(returns: Sequence[Sequence[Any]], rungs: Sequence[int], until: int) -> dict[int, float]:
    """Return a pack's scores at the rungs that its runs had passed after so many iterations."""
    return {rung: score_after(returns, rung) for rung in rungs if rung <= until}


def stored_scores(plan: Plan, store: RunStore) -> Iterator[RungScores]:
    """Yield what the packs of tuning runs in a store scored at the rungs of the spec's scheduler.

    Runs with a result are packed as the plan packs them, which is how an equal spec had packed them. If seeds or
    `draws_per_pack` have changed since, a pack counts with the runs that it would have now.
    """
    settings = plan.spec.execution.scheduling
    entries = store.refresh().entries.values()
    done = {entry.run for entry in entries if not entry.needs_training and plan.has(entry)}
    if settings is None or not done:
        return
    runs = (run for run in plan.runs() if run.run_id in done and run.role == TUNE)
    waiting: list[PlannedPack] = []
    for pack in plan.pack_by_pack(runs, plan.spec.execution.draws_per_pack):
        waiting.append(pack)
        if len(waiting) == AT_ONCE:
            yield from _read(plan, store, waiting)
            waiting = []
    yield from _read(plan, store, waiting)


def _read(plan: Plan, store: RunStore, packs: list[PlannedPack]) -> Iterator[RungScores]:
    settings = plan.spec.execution.scheduling
    assert settings is not None
    files = dict(store.read_many([run_name(run.method, run.run_id) for pack in packs for run in pack.runs]))
    for pack in packs:
        found = [files.get(run_name(run.method, run.run_id)) for run in pack.runs]
        returns = [file.curve.column("eval_return").to_pylist() for file in found if file is not None]
        rungs = settings.rungs_of(plan.families[pack.world, pack.method].training.iterations)
        if returns and len(returns) == len(pack.runs):
            scores = scores_at(returns, rungs, min(map(len, returns)))
            yield RungScores(pack.world, pack.method, pack.name, rungs, scores)
