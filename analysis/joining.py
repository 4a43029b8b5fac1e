"""Joins the runs of several sweeps: the same draw counts once, other draws and other worlds are kept apart."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.columns import NEEDED, OPTIONAL
from analysis.completeness import PlannedCounts, join_counts
from analysis.loading import Sweep
from mulex.errors import UserError

if TYPE_CHECKING:
    from sweeps.spec import Spec

KEYS = ["world", "method", "draw", "seed"]


def join_runs(sweeps: list[Sweep]) -> tuple[pd.DataFrame, PlannedCounts]:
    """Return the runs of all sweeps, one that several of them have once, and what they plan together.

    Draws of a method are the same if they have the same number and the same values. A draw of a later sweep with a
    number that another draw has gets a new number. Where two sweeps have different runs of one draw, seed and world,
    or different settings in a world of the same name, the worlds are named after their sweeps.
    """
    parts, moved = _with_own_draws([sweep.runs for sweep in sweeps])
    names = _world_names(sweeps, parts, any(moved))
    runs = pd.concat([_renamed(part, of_sweep) for part, of_sweep in zip(parts, names, strict=True)])
    return runs.drop_duplicates("run", ignore_index=True), _joined_plan(sweeps, names, moved)


def _with_own_draws(parts: list[pd.DataFrame]) -> tuple[list[pd.DataFrame], list[set[str]]]:
    """Return the runs of each sweep with numbers of draws that no other draw has, and the methods whose draws moved."""
    known: dict[tuple[str, int], tuple[Any, ...]] = {}
    number: dict[tuple[str, tuple[Any, ...]], int] = {}
    top: dict[str, int] = {}
    for part in parts:
        for method, highest in part.groupby("method")["draw"].max().items():
            top[str(method)] = max(top.get(str(method), 0), int(highest))
    renumbered, moved = [], []
    for part in parts:
        changes: dict[tuple[str, int], int] = {}
        for (method, draw), values in _values(part, parts).items():
            if known.setdefault((method, draw), values) == values:
                continue
            if (method, values) not in number:
                top[method] += 1
                number[method, values] = top[method]
            changes[method, draw] = number[method, values]
        moved.append({method for method, _ in changes})
        pairs = zip(part["method"], part["draw"], strict=True)
        renumbered.append(part.assign(draw=[changes.get((m, d), d) for m, d in pairs]) if changes else part)
    return renumbered, moved


def _values(part: pd.DataFrame, parts: list[pd.DataFrame]) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Return the values of each method's draws, None where a draw has no such hyperparameter."""
    names = sorted({name for one in parts for name in one.columns} - {*NEEDED, *OPTIONAL})
    first = part.drop_duplicates(["method", "draw"]).reindex(columns=["method", "draw", *names])
    plain = first[names].astype(object).where(first[names].notna(), None)
    rows = zip(first["method"], first["draw"], plain.itertuples(index=False, name=None), strict=True)
    return {(method, int(draw)): tuple(values) for method, draw, values in rows}


def _world_names(sweeps: list[Sweep], parts: list[pd.DataFrame], moved: bool) -> list[dict[str, str]]:
    """Return the label of each world by sweep: its name, with the sweep's before it where sweeps differ in a world."""
    every = pd.concat([part[["run", *KEYS]] for part in parts]).drop_duplicates("run")
    if not every.duplicated(KEYS).any() and not _differ(sweeps, moved):
        return [{} for _ in sweeps]
    names = [sweep.name for sweep in sweeps]
    if len(set(names)) < len(names):
        names = [sweep.folder.url for sweep in sweeps]
    worlds = [dict.fromkeys([*sweep.runs["world"], *[w for w, _ in sweep.plan]]) for sweep in sweeps]
    return [{w: f"{name}: {w}" for w in known} for name, known in zip(names, worlds, strict=True)]


def _differ(sweeps: list[Sweep], moved: bool) -> bool:
    """Return whether two sweeps have different settings in a world of the same name.

    Sweeps without a spec that have other draws differ if they have different names.
    """
    specs = [_spec(sweep) for sweep in sweeps] if len(sweeps) > 1 else []
    settings: dict[str, Any] = {}
    for spec in filter(None, specs):
        for name, world in spec.worlds.items():
            if settings.setdefault(name, (world, spec.training)) != (world, spec.training):
                return True
    return moved and None in specs and len({sweep.name for sweep in sweeps}) > 1


def _spec(sweep: Sweep) -> "Spec | None":
    from sweeps.spec import parse_frozen

    try:
        return parse_frozen(sweep.spec_text, "spec.yaml") if sweep.spec_text else None
    except UserError:
        return None


def _renamed(runs: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    return runs.assign(world=runs["world"].map(lambda world: names.get(world, world)))


def _joined_plan(sweeps: list[Sweep], names: list[dict[str, str]], moved: list[set[str]]) -> PlannedCounts:
    """Return what is planned: sweeps of the same draws plan some runs together, other draws are planned beside them."""
    together: list[PlannedCounts] = []
    beside: list[PlannedCounts] = []
    for sweep, of_sweep, others in zip(sweeps, names, moved, strict=True):
        plan = {(of_sweep.get(world, world), method): runs for (world, method), runs in sweep.plan.items()}
        together.append({key: runs for key, runs in plan.items() if key[1] not in others})
        beside.append({key: runs for key, runs in plan.items() if key[1] in others})
    joined = join_counts(together)
    for plan in beside:
        joined |= {key: joined[key].plus(runs) if key in joined else runs for key, runs in plan.items()}
    return joined
