"""The two tables of one or more sweeps: read, checked, joined, with each run's curve as a row of a matrix."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.columns import HEAD_RETURN, hyperparameters
from analysis.completeness import SCORED, Completeness, completeness, outcome
from analysis.curves_frame import join_curves
from analysis.errors import AnalysisError
from analysis.joining import join_runs
from analysis.loading import Cache, Sweep, read_sweep
from analysis.sampling import Sampling, sample_draws
from mulex.store.roles import TEST, TUNE
from mulex.store.score import SCORE, SCORE_NAME, SCORE_VALUE, score_column, score_name
from sweeps.search.intervals import LEVEL

METHOD_ORDER = ("epsilon_greedy", "additive", "mulex", "two_task_heads")


@dataclass
class Tables:
    """R runs of all sweeps and their curves.

    `matrices` has by column of the curves a matrix (R, T), NaN where a run has no such iteration; the figures compute
    with these. `curves` has all columns as a DataFrame.
    """

    runs: pd.DataFrame
    matrices: dict[str, np.ndarray]
    complete: Completeness
    sweeps: list[Sweep]
    score_names: dict[str, str]
    """By world, what its score is called."""
    sampling: Sampling | None = None
    """Which runs these are, where there are too many to take them all."""

    @cached_property
    def curves(self) -> pd.DataFrame:
        """One row for each run and iteration, with every column of the sweeps' curves; it is read when first used."""
        known = set(self.runs["run"])
        return join_curves(self.runs, [table for sweep in self.sweeps for table in sweep.all_curves(known)])

    @cached_property
    def hyperparameters(self) -> list[str]:
        """The columns of `runs` that hold hyperparameters: those of the specs; all numbers where there is none."""
        found = {name for sweep in self.sweeps for name in hyperparameters(sweep.runs, sweep.named)}
        return [name for name in self.runs.columns if name in found]

    @property
    def score_name(self) -> str:
        """What the score is called in all worlds, or a word for both where worlds differ."""
        names = {self.score_names[world] for world in self.scored["world"].unique()}
        return names.pop() if len(names) == 1 else SCORE

    @property
    def has_one_score(self) -> bool:
        """Whether a score is the same thing in every world."""
        return self.score_name != SCORE

    @property
    def level(self) -> float:
        """The level that an interval needs to hold with 95 %: the highest of the sweeps' levels."""
        return max((sweep.level for sweep in self.sweeps), default=LEVEL)

    @property
    def iterations(self) -> int:
        """The length of the longest scored run; where worlds differ in it, the shortest of these."""
        known = np.isfinite(self.matrices["eval_return"])
        rows = self.scored.groupby("world").groups.values()
        return min((int(known[of_world].any(axis=0).sum()) for of_world in rows), default=0)

    @property
    def worlds(self) -> list[str]:
        """The worlds in the order of the spec, or else of the table."""
        return list(dict.fromkeys([*self.complete.counts["world"], *self.runs["world"]]))

    @property
    def methods(self) -> list[str]:
        """The methods that have runs, those of the paper first."""
        there = set(self.runs["method"])
        return [m for m in METHOD_ORDER if m in there] + sorted(there - set(METHOD_ORDER))

    @property
    def scored(self) -> pd.DataFrame:
        """The tuning runs with a score, which figures and statistics are made of."""
        return self.tuned[self.tuned["outcome"].isin(SCORED)]

    @property
    def tuned(self) -> pd.DataFrame:
        """The tuning runs, with or without a score."""
        return self.runs[self.runs["role"] != TEST]

    @property
    def tested(self) -> pd.DataFrame:
        """The test runs with a score, which tell how good the chosen draws really are."""
        return self.runs[self.runs["outcome"].isin(SCORED) & (self.runs["role"] == TEST)]

    @property
    def warnings(self) -> list[str]:
        """What a user should know about runs that are left out, a line for each sweep and reason."""
        lines = []
        for sweep in self.sweeps:
            for names, reason in ((sweep.damaged, "damaged"), (sweep.strangers, "not planned by spec.yaml")):
                if names:
                    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
                    lines.append(f"{sweep.folder.url}: left out, {reason}: {names[0]}{more}")
        return lines + ([str(self.sampling)] if self.sampling else [])

    def only(self, worlds: Collection[str]) -> "Tables":
        """The same tables with some of the worlds alone."""
        here = self.runs["world"].isin(worlds)
        runs = self.runs[here].reset_index(drop=True)
        matrices = {name: matrix[here] for name, matrix in self.matrices.items()}
        return replace(self, runs=runs, matrices=matrices, complete=self.complete.only(worlds))

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
        earned, share = self.matrices["eval_return"][rows], self.matrices["normalised_return"][rows]
        known = np.isfinite(share) & (np.abs(share) > 1e-9)
        return float(np.median(earned[known] / share[known])) if known.any() else None


def load_tables(paths: Sequence[str], cache: Cache | None = None) -> Tables:
    """Read sweeps' folders; a cache of run files makes reading a live sweep again cheap."""
    sweeps = [read_sweep(path, cache if cache is not None else {}) for path in dict.fromkeys(paths)]
    runs, plan = join_runs(sweeps)
    if runs.empty and (strangers := sum(len(sweep.strangers) for sweep in sweeps)):
        raise AnalysisError(
            f"{', '.join(paths)}: {strangers:,} run files, none of which spec.yaml plans; if it was changed by hand, "
            "undo that"
        )
    if runs.empty:
        raise AnalysisError(f"{', '.join(paths)}: no runs yet; mulex status shows what is under way")
    runs["role"] = runs["role"].fillna(TUNE)
    runs[SCORE_VALUE], score_names = _scores(runs)
    runs["outcome"] = outcome(runs)
    complete, found = completeness(runs, plan), len(runs)
    runs, every = sample_draws(runs)
    known = set(runs["run"])
    matrices = _matrices(runs, (table for sweep in sweeps for table in sweep.curves_of(known)))
    sampling = Sampling(len(runs), found, every) if every > 1 else None
    return Tables(runs, matrices, complete, sweeps, score_names, sampling)


def _scores(runs: pd.DataFrame) -> tuple[pd.Series, dict[str, str]]:
    """The score of each run, and by world what it is called: what `training.score` chose, or else an AUC."""
    auc, normalised, chosen = (pd.to_numeric(runs[name]) for name in ("auc", "normalised_auc", SCORE_VALUE))
    scores, names = pd.Series(np.nan, index=runs.index, dtype=float), {}
    for world, rows in runs.groupby("world").groups.items():
        found = runs.loc[rows, SCORE_NAME].dropna().unique()
        if len(found):
            scores[rows], names[str(world)] = chosen[rows], str(found[0]) if len(found) == 1 else SCORE
            continue
        column = score_column(auc[rows], normalised[rows])
        scores[rows], names[str(world)] = (auc if column == "auc" else normalised)[rows], score_name(column)
    return scores.replace([np.inf, -np.inf], np.nan), names


def _matrices(runs: pd.DataFrame, tables: Iterable[pa.Table]) -> dict[str, np.ndarray]:
    """Every curve as a row in the order of `runs`; T is the longest run's length. One table is held at a time."""
    row_of = pd.Series(np.arange(len(runs)), index=runs["run"])
    curves = {name: np.empty((len(runs), 0)) for name in ("eval_return", "normalised_return")}
    last = 0
    for table in tables:
        if not table.num_rows:
            continue
        row, column = _cells(row_of, table)
        known, last = row >= 0, max(last, int(column.max()) + 1)
        row, column = row[known], column[known]
        for name in table.schema.names:
            if name in curves or name.startswith(HEAD_RETURN):
                curves[name] = _widened(curves.get(name, np.empty((len(runs), 0))), last)
                curves[name][row, column] = table[name].to_numpy()[known]
    heads = sorted(name for name in curves if name.startswith(HEAD_RETURN))
    return {name: _widened(curves[name], last) for name in ("eval_return", "normalised_return", *heads)}


def _widened(matrix: np.ndarray, columns: int) -> np.ndarray:
    """The same matrix (R, T) with at least so many columns; the new ones are NaN."""
    if matrix.shape[1] >= columns:
        return matrix
    wide = np.full((len(matrix), columns), np.nan)
    wide[:, : matrix.shape[1]] = matrix
    return wide


def _cells(row_of: pd.Series, table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """The row and column in a matrix of each row of `curves`; the row is -1 where there is no such run."""
    coded = table["run"].combine_chunks()
    coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
    coded = coded.unify_dictionaries().combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    rows = row_of.reindex(coded.dictionary.to_pylist(), fill_value=-1).to_numpy()
    column = table["iteration"].to_numpy() - 1
    if (column < 0).any():
        raise AnalysisError("curves: an iteration below 1; make the tables again with mulex collect")
    return rows[coded.indices.to_numpy()], column
