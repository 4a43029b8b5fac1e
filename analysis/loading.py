"""One sweep's folder: its two tables, or its run files where the tables are missing, damaged or out of date."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from analysis.columns import CURVES_NEEDED, HEAD_RETURN, NEEDED, OPTIONAL, check_columns, check_version
from analysis.completeness import PlannedCounts, planned_counts
from analysis.errors import AnalysisError
from mulex.errors import UserError
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import CURVES_TABLE, RUNS, RUNS_TABLE, SPEC
from mulex.store.run_file import RunFile
from mulex.store.run_store import RunStore
from mulex.store.schema import CURVES
from mulex.store.table_rows import tables_of
from mulex.store.tables import DamagedTable, Table, curve_parts, curve_pieces, read_table
from sweeps.search.intervals import LEVEL
from sweeps.search.until import level_of

if TYPE_CHECKING:
    from sweeps.plan import Plan
    from sweeps.spec import Spec

Cache = dict[tuple[str, str, str], RunFile]
"""Runs that were read before, by folder, name and checksum, so that a live report reads only new ones."""

MOST_LOOSE = 50_000
"""Runs that are read one by one where the tables are out of date; above it, they have to be made first."""


@dataclass
class Sweep:
    """One folder: its tables as they are there, and its spec."""

    folder: Folder
    runs: pd.DataFrame
    curves: pa.Table
    plan: PlannedCounts = field(default_factory=dict)
    spec_text: str = ""
    damaged: list[str] = field(default_factory=list)
    """Run files that are left out because they are damaged."""
    strangers: list[str] = field(default_factory=list)
    """Run files that are left out because the spec does not plan them."""
    from_tables: bool = False
    """Whether the curves were read from curves.parquet, not from run files."""
    in_parts: bool = False
    """Whether curves.parquet is several files, which are too large to be read whole."""
    named: set[str] | None = None
    """The hyperparameters that the spec has; None without a spec."""
    level: float = LEVEL
    """The level of its intervals: above 95 % if the sweep looked at its draws several times (`search.until`)."""

    @property
    def name(self) -> str:
        """The sweep's name in its runs, or else its folder's."""
        names = self.runs["sweep"].dropna().unique()
        return str(names[0]) if len(names) == 1 else self.folder.url.rpartition("/")[2]

    def curves_of(self, runs: Collection[str]) -> Iterable[pa.Table]:
        """The curves of some runs, with the columns that figures need; of several files one is read at a time."""
        if not self.in_parts:
            return [self.curves]
        return self._pieces(runs, _is_curve_column)

    def all_curves(self, runs: Collection[str]) -> list[pa.Table]:
        """The curves of some runs with every column; `curves` has only some where it was read from a table."""
        try:
            return list(self._pieces(runs, lambda column: True)) if self.from_tables else [self.curves]
        except AnalysisError:
            return [self.curves]

    def _pieces(self, runs: Collection[str], wanted: Callable[[str], bool]) -> Iterator[pa.Table]:
        known = pa.array(list(runs), pa.string())
        try:
            for piece in curve_pieces(self.folder, wanted):
                yield piece.filter(pc.is_in(piece["run"].cast(pa.string()), known))
        except (FileNotFoundError, DamagedTable) as error:
            raise AnalysisError(f"{error}; make both tables again with mulex collect {self.folder.url}") from None


@dataclass
class Contents:
    """Both tables of a sweep, and the run files that are not in them."""

    runs: pa.Table
    curves: pa.Table
    damaged: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    from_tables: bool = True
    in_parts: bool = False


def read_sweep(where: str, cache: Cache) -> Sweep:
    """Read one folder."""
    folder = open_folder(where)
    if not folder.is_there():
        raise AnalysisError(f"{where}: no such folder")
    spec, text = _read_spec(folder)
    found = _read_contents(folder, spec, cache)
    if found.runs.num_rows:
        check_columns(found.runs.schema, NEEDED, OPTIONAL, f"{where}: runs")
        check_columns(found.curves.schema, CURVES_NEEDED if found.curves.num_rows else {}, {}, f"{where}: curves")
        frame = found.runs.to_pandas().astype({"run": "str"})
    else:
        frame = pd.DataFrame(columns=[*NEEDED, *OPTIONAL])
    for name in OPTIONAL:
        if name not in frame:
            frame[name] = None
    check_version(frame, where)
    plan = _counts(spec, folder)
    named = {name for method in spec.methods for name in spec.space(method)} if spec else None
    kinds, level = (found.from_tables, found.in_parts), level_of(spec.search) if spec else LEVEL
    return Sweep(folder, frame, found.curves, plan, text, found.damaged, found.strangers, *kinds, named, level)


def _read_spec(folder: Folder) -> tuple["Spec | None", str]:
    """The sweep's spec and its text; no spec where it is missing, or is not one that this version understands."""
    try:
        text = folder.read(SPEC).decode(errors="replace")
    except FileNotFoundError:
        return None, ""
    from sweeps.spec import parse_frozen

    try:
        return parse_frozen(text, SPEC), text
    except UserError:
        return None, text


def _counts(spec: "Spec | None", folder: Folder) -> PlannedCounts:
    """What the spec plans; nothing without a spec, or where the draws of an adaptive search cannot be read."""
    try:
        return planned_counts(spec, folder) if spec else {}
    except (UserError, ValueError):
        return {}


def _read_contents(folder: Folder, spec: "Spec | None", cache: Cache) -> Contents:
    """The tables if they are of the runs that are there, else those runs themselves."""
    store = RunStore(folder)
    checksums, in_parts = store.checksums(), bool(curve_parts(folder))
    if not checksums:
        runs, curves = _read_tables(folder)
        return Contents(runs.content, curves.content, in_parts=in_parts)
    tables = _tables_if_whole(folder)
    if tables and tables[0].is_of(checksums):
        return Contents(tables[0].content, tables[1].content, in_parts=in_parts)
    plan = _plan(spec, folder)
    entries = store.refresh().entries
    wanted = {name: entry.checksum for name, entry in entries.items() if plan is None or plan.has(entry)}
    strangers = sorted(name for name in entries.keys() - wanted if plan is None or not plan.had(entries[name]))
    if tables and tables[0].is_of(wanted):
        return Contents(tables[0].content, tables[1].content, strangers=strangers, in_parts=in_parts)
    if len(wanted) > MOST_LOOSE:
        raise AnalysisError(
            f"{folder.url}: its tables are not of the {len(wanted):,} runs that are there now, too many to be read one "
            f"by one; make them first with mulex collect {folder.url}"
        )
    finished, damaged = _read_run_files(store, wanted, cache)
    return Contents(*tables_of(finished), [*store.damaged, *damaged], strangers, from_tables=False)


def _read_tables(folder: Folder) -> tuple[Table, Table]:
    """Both tables, or what is wrong with them."""
    again = f"make both tables again with mulex collect {folder.url}"
    try:
        runs = read_table(folder, RUNS_TABLE)
    except FileNotFoundError:
        raise AnalysisError(
            f"{folder.url}: not a sweep's folder: no {RUNS_TABLE} and no run files in {RUNS}/"
        ) from None
    except DamagedTable as error:
        raise AnalysisError(f"{error}; {again}") from None
    if curve_parts(folder):
        return runs, Table(CURVES.empty_table(), runs.made_of)
    try:
        curves = read_table(folder, CURVES_TABLE, _is_curve_column)
    except FileNotFoundError:
        raise AnalysisError(f"{folder.url}: has {RUNS_TABLE} but no {CURVES_TABLE}; {again}") from None
    except DamagedTable as error:
        raise AnalysisError(f"{error}; {again}") from None
    if runs.made_of and curves.made_of and runs.made_of != curves.made_of:
        raise AnalysisError(f"{folder.url}: {RUNS_TABLE} and {CURVES_TABLE} are not of the same runs; {again}")
    return runs, curves


def _tables_if_whole(folder: Folder) -> tuple[Table, Table] | None:
    try:
        return _read_tables(folder)
    except AnalysisError:  # the run files, of which they are made, are read instead
        return None


def _is_curve_column(name: str) -> bool:
    return name in CURVES_NEEDED or name.startswith(HEAD_RETURN)


def _plan(spec: "Spec | None", folder: Folder) -> "Plan | None":
    """What the sweep plans; None where that is not known."""
    if spec is None:
        return None
    from sweeps.plan import make_plan

    try:
        return make_plan(spec, folder)
    except (UserError, ValueError):
        return None


def _read_run_files(store: RunStore, checksums: dict[str, str], cache: Cache) -> tuple[list[RunFile], list[str]]:
    """The runs with these names, of which the cache has some, and the names of damaged ones."""
    keys = {name: (store.folder.url, name, checksum) for name, checksum in checksums.items()}
    damaged = []
    for name, run in store.read_many([name for name, key in keys.items() if key not in cache]):
        if run is None:
            damaged.append(name)
        else:
            cache[keys[name]] = run
    return [cache[key] for key in keys.values() if key in cache], damaged
