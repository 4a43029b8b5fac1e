"""The two tables of one or more sweeps: read, checked, joined, with each run's curve as a row of a matrix."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.columns import CURVES_NEEDED, HEAD_RETURN, NEEDED, OPTIONAL, check_columns, check_version
from analysis.completeness import SCORED, Completeness, completeness, outcome
from analysis.errors import AnalysisError
from analysis.places import Place
from analysis.planned import Plan, join_plans, read_plan
from analysis.run_files import Cache, is_made_of, read_run_files

AUC, NORMALISED, EITHER = "AUC", "Normalised AUC", "Score"
METHOD_ORDER = ("epsilon_greedy", "additive", "mulex", "two_task_heads")


@dataclass
class Sweep:
    """One folder: its tables as they are there, and its spec."""

    place: Place
    runs: pd.DataFrame
    curves: pa.Table
    plan: Plan = field(default_factory=dict)
    spec_text: str = ""
    damaged: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As its runs call it, or else its folder."""
        names = self.runs["sweep"].dropna().unique()
        return str(names[0]) if len(names) == 1 else self.place.url.rpartition("/")[2]


@dataclass
class Tables:
    """R runs of all sweeps, and by column of `curves` a matrix (R, T), not a number where a run has no such row."""

    runs: pd.DataFrame
    curves: dict[str, np.ndarray]
    complete: Completeness
    sweeps: list[Sweep]
    score_names: dict[str, str]
    """By world, what a score is there."""

    @property
    def score_name(self) -> str:
        """In every world with a score; where worlds differ in it, a word for both."""
        names = {self.score_names[world] for world in self.scored["world"].unique()}
        return names.pop() if len(names) == 1 else EITHER

    @property
    def has_one_score(self) -> bool:
        """Whether a score is the same thing in every world."""
        return self.score_name != EITHER

    @property
    def iterations(self) -> int:
        """Of the longest run that counts; where worlds differ in that, of the one where it is shortest."""
        known = np.isfinite(self.curves["eval_return"])
        rows = self.scored.groupby("world").groups.values()
        return min((int(known[of_world].any(axis=0).sum()) for of_world in rows), default=0)

    @property
    def worlds(self) -> list[str]:
        """In the order of the spec, or else of the table."""
        return list(dict.fromkeys([*self.complete.counts["world"], *self.runs["world"]]))

    @property
    def methods(self) -> list[str]:
        """Those with runs, the paper's first."""
        there = set(self.runs["method"])
        return [m for m in METHOD_ORDER if m in there] + sorted(there - set(METHOD_ORDER))

    @property
    def scored(self) -> pd.DataFrame:
        """The runs that figures and statistics are made of."""
        return self.runs[self.runs["outcome"].isin(SCORED)]

    def only(self, worlds: Collection[str]) -> "Tables":
        """These worlds, as if there were no others."""
        here = self.runs["world"].isin(worlds)
        runs = self.runs[here].reset_index(drop=True)
        curves = {name: matrix[here] for name, matrix in self.curves.items()}
        return replace(self, runs=runs, curves=curves, complete=self.complete.only(worlds))

    def groups(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """The scored runs by world and method, in their orders, where there are any."""
        found = dict(list(self.scored.groupby(["world", "method"])))
        for world in self.worlds:
            for method in self.methods:
                if (world, method) in found:
                    yield world, method, found[world, method]

    def ideal(self, world: str) -> float | None:
        """The return that counts as 1 in a world, where some run earned anything."""
        rows = self.runs.index[self.runs["world"] == world]
        earned, share = self.curves["eval_return"][rows], self.curves["normalised_return"][rows]
        known = np.isfinite(share) & (np.abs(share) > 1e-9)
        return float(np.median(earned[known] / share[known])) if known.any() else None


def load_tables(places: Sequence[str], cache: Cache | None = None) -> Tables:
    """Read sweeps' folders; a cache of run files makes reading a live sweep again cheap."""
    sweeps = [read_sweep(place, cache if cache is not None else {}) for place in dict.fromkeys(places)]
    worlds = _world_names(sweeps)
    runs = pd.concat([_labelled(sweep.runs, names) for sweep, names in zip(sweeps, worlds, strict=True)])
    runs = runs.drop_duplicates("run", ignore_index=True)
    if runs.empty:
        raise AnalysisError(f"{', '.join(places)}: no runs yet; mulex status shows what is under way")
    score_names = {str(world): _score_name(of_world) for world, of_world in runs.groupby("world")}
    auc, normalised = (pd.to_numeric(runs[name]) for name in ("auc", "normalised_auc"))
    runs["score"] = auc.where(runs["world"].map(score_names) == AUC, normalised).replace([np.inf, -np.inf], np.nan)
    runs["outcome"] = outcome(runs)
    plan = join_plans(_labelled_plan(sweep.plan, names) for sweep, names in zip(sweeps, worlds, strict=True))
    curves = _matrices(runs, [sweep.curves for sweep in sweeps])
    return Tables(runs, curves, completeness(runs, plan), sweeps, score_names)


def _score_name(runs: pd.DataFrame) -> str:
    """Of the runs of one world: the plain AUC only where no ideal return is known."""
    return AUC if runs["normalised_auc"].isna().all() and runs["auc"].notna().any() else NORMALISED


def read_sweep(where: str, cache: Cache) -> Sweep:
    """One folder: its tables, or its run files where the tables were made of others."""
    place = Place(where)
    if not place.exists():
        raise AnalysisError(f"{where}: no such folder")
    plan, text = read_plan(place)
    runs, curves, damaged = _read_tables(place, cache)
    if runs.num_columns == 0:
        return Sweep(place, pd.DataFrame(columns=[*NEEDED, *OPTIONAL]), curves, plan, text, damaged)
    check_columns(runs.schema, NEEDED, OPTIONAL, f"{where}: runs")
    check_columns(curves.schema, CURVES_NEEDED if curves.num_rows else {}, {}, f"{where}: curves")
    frame = runs.to_pandas().astype({"run": "str"})
    for name in OPTIONAL:
        if name not in frame:
            frame[name] = None
    check_version(frame, where)
    return Sweep(place, frame, curves, plan, text, damaged)


def _read_tables(place: Place, cache: Cache) -> tuple[pa.Table, pa.Table, list[str]]:
    files = place.list("runs")
    has_tables = place.exists("runs.parquet")
    if has_tables and not place.exists("curves.parquet"):
        raise AnalysisError(f"{place}: has runs.parquet but no curves.parquet; make both with mulex collect {place}")
    runs = place.table("runs.parquet") if has_tables else None
    if files and (runs is None or not is_made_of(runs, place, files)):
        return read_run_files(place, files, cache)
    if runs is None:
        raise AnalysisError(f"{place}: not a sweep's folder: no runs.parquet and no run files in runs/")
    return runs, place.table("curves.parquet", _is_curve_column), []


def _is_curve_column(name: str) -> bool:
    return name in CURVES_NEEDED or name.startswith(HEAD_RETURN)


def _world_names(sweeps: list[Sweep]) -> list[dict[str, str]]:
    """By sweep the label of each world: with the sweep's name before it where two sweeps trained other runs there."""
    keys = ["world", "method", "draw", "seed"]
    every = pd.concat([sweep.runs[["run", *keys]] for sweep in sweeps]).drop_duplicates("run")
    if not every.duplicated(keys).any():
        return [{} for _ in sweeps]
    names = [sweep.name for sweep in sweeps]
    if len(set(names)) < len(names):
        names = [sweep.place.url for sweep in sweeps]
    worlds = [dict.fromkeys([*sweep.runs["world"], *[w for w, _ in sweep.plan]]) for sweep in sweeps]
    return [{w: f"{name}: {w}" for w in known} for name, known in zip(names, worlds, strict=True)]


def _labelled(runs: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    return runs.assign(world=runs["world"].map(lambda world: names.get(world, world)))


def _labelled_plan(plan: Plan, names: dict[str, str]) -> Plan:
    return {(names.get(world, world), method): runs for (world, method), runs in plan.items()}


def _matrices(runs: pd.DataFrame, tables: list[pa.Table]) -> dict[str, np.ndarray]:
    """Every curve as a row in the order of `runs`; T is the longest run's length."""
    tables = [table for table in tables if table.num_rows]
    last = max((int(table["iteration"].to_numpy().max()) for table in tables), default=0)
    names = {name for table in tables for name in table.schema.names if name.startswith(HEAD_RETURN)}
    curves = {name: np.full((len(runs), last), np.nan) for name in ["eval_return", "normalised_return", *sorted(names)]}
    for table in tables:
        row, column = _places(runs, table)
        known = row >= 0
        for name, matrix in curves.items():
            if name in table.schema.names:
                matrix[row[known], column[known]] = table[name].to_numpy()[known]
    return curves


def _places(runs: pd.DataFrame, table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """For each row of `curves` its run's row, -1 where there is none, and its column."""
    coded = table["run"].combine_chunks()
    coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
    coded = coded.unify_dictionaries().combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    row_of = runs.reset_index().set_index("run")["index"]
    rows = row_of.reindex(coded.dictionary.to_pylist(), fill_value=-1).to_numpy()
    column = table["iteration"].to_numpy() - 1
    if (column < 0).any():
        raise AnalysisError("curves: an iteration below 1; make the tables again with mulex collect")
    return rows[coded.indices.to_numpy()], column
