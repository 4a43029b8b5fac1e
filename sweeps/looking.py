"""How many draws a sweep with `search.until` has next: it looks at its store, and doubles its draws while it must."""

import math

from mulex.store.folder import Folder
from mulex.store.roles import TUNE
from mulex.store.run_store import RunStore
from sweeps.inventory import frozen_spec_if_any
from sweeps.plan import Plan
from sweeps.search.until import Look, Scores, look, planned_looks
from sweeps.spec import Spec

_SCORED = ("done", "diverged")


def with_draws(folder: Folder, spec: Spec) -> Spec:
    """Return a spec with `until` that has at least the draws of its folder, and remembers how many it had at first."""
    until = spec.search.until
    if until is None:
        return spec
    frozen = (frozen_spec_if_any(folder) or spec).search
    known = frozen.until.first if frozen.until else None
    first = known or frozen.draws
    search = {"until": until.model_copy(update={"first": first}), "draws": max(spec.search.draws, frozen.draws)}
    return with_search(spec, search)


def with_search(spec: Spec, changes: dict[str, object]) -> Spec:
    """Return the same spec with other settings of its search."""
    return spec.model_copy(update={"search": spec.search.model_copy(update=changes)})


def next_draws(plan: Plan, store: RunStore) -> tuple[int | None, list[str]]:
    """Return how many draws are needed next, None if these are enough or all, and what to say about it."""
    search = plan.spec.search
    if search.until is None:
        return None, []
    first = search.until.first or search.draws
    found = look(_scores(plan, store), search.until, first, search.draws)
    if not found.intervals:
        return None, [f"until: no run has a score, so {search.draws} draws say nothing"]
    later = [draws for draws in planned_looks(first, search.until.max_draws) if draws > search.draws]
    if found.width <= search.until.width:
        return None, _said(plan, found, f"no interval is wider than {search.until.width:g}")
    if not later:
        return None, _said(plan, found, f"max_draws, {_widest(found)}, more than {search.until.width:g}")
    line = f"until: {search.draws} draws: {_widest(found)}, more than {search.until.width:g}; next: {later[0]} draws"
    return later[0], [line]


def _scores(plan: Plan, store: RunStore) -> Scores:
    """Return the scores of the tuning runs; a method without any has none in a world."""
    scores: dict[tuple[str, str], dict[int, list[float]]] = {}
    for entry in sorted(store.refresh().entries.values(), key=lambda entry: entry.key):
        is_scored = entry.status in _SCORED and entry.score is not None and math.isfinite(entry.score)
        if is_scored and plan.has(entry) and plan.role(entry) == TUNE:
            of_family = scores.setdefault((entry.world, entry.method), {})
            of_family.setdefault(entry.draw, []).append(entry.score or 0.0)
    return scores


def _widest(found: Look) -> str:
    world, method = found.widest
    return f"the widest interval, of {method} in {world}, is {found.width:.3g}"


def _said(plan: Plan, found: Look, why: str) -> list[str]:
    until = plan.spec.search.until
    assert until is not None
    looks = len(planned_looks(until.first or plan.spec.search.draws, until.max_draws))
    head = f"until: {found.draws} draws: {why}; {until.measure} with 95 % over all {looks} planned looks:"
    return [head, *(f"  {m} in {w}: [{low:.3f}, {high:.3f}]" for (w, m), (low, high) in found.intervals.items())]
