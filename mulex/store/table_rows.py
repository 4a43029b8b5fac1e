"""What the two tables are made of: the row, the settings and the columns of each run, loose or folded."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from mulex.store.entry import RunEntry
from mulex.store.index import Details, about_run, row_of
from mulex.store.run_file import DamagedRunFile, RunFile, parse_run_note
from mulex.store.run_store import AT_ONCE, RunStore
from mulex.store.schema import Types, curves_schema, runs_schema
from mulex.store.training_columns import TrainingColumns

GROUP_ROWS = 4096
"""Rows of `runs` that are made at a time."""
_TYPES: dict[str, type] = {kind.__name__: kind for kind in (int, float, str, bool, type(None))}
_CURVE_TYPES = {"string": str, "bool": bool}
"""Types of further columns of curves; others are numbers."""


class TableRows:
    """Both tables of some runs: their columns, and their rows a few at a time."""

    def __init__(self, store: RunStore, entries: Sequence[RunEntry]) -> None:
        """Look at all runs once, without their curves; `entries` are in the order of the tables."""
        self.store, self.entries = store, entries
        self._loose = dict(_loose_details(store, [e.name for e in entries if not store.is_folded(e.name)]))
        settings: set[str] = set()
        kinds: set[tuple[str, str]] = set()
        columns: set[str] = set()
        for entry in entries:
            details = self._details(entry)
            settings.add(details.settings)
            kinds.add((details.settings, details.kinds))
            columns.add(details.columns)
        self._training = TrainingColumns([json.loads(text) for text in sorted(settings)])
        self.runs_schema = runs_schema(_types(kinds, self._training))
        self.curves_schema = curves_schema(_curve_types(columns))

    def _details(self, entry: RunEntry) -> Details:
        return self._loose[entry.name] if entry.name in self._loose else self.store.details(entry.name)

    def runs(self) -> Iterator[pa.Table]:
        """The table `runs` in pieces."""
        for start in range(0, max(len(self.entries), 1), GROUP_ROWS):
            rows = [self._row(entry) for entry in self.entries[start : start + GROUP_ROWS]]
            yield pa.Table.from_pylist(rows, self.runs_schema)

    def _row(self, entry: RunEntry) -> dict[str, Any]:
        details = self._details(entry)
        return {**self._training.of(json.loads(details.settings)), **row_of(details.row)}


def _loose_details(store: RunStore, names: list[str]) -> Iterator[tuple[str, Details]]:
    """What an index would say of loose files."""
    for start in range(0, len(names), AT_ONCE):
        for name, content in store.contents(names[start : start + AT_ONCE]).items():
            try:
                about = about_run(name, content, parse_run_note(content, name, store.folder.url), 0)
            except DamagedRunFile:
                continue
            yield name, Details(**{key: about[key] for key in Details.__dataclass_fields__})


def _types(kinds: Iterable[tuple[str, str]], training: TrainingColumns) -> Types:
    types: Types = {}
    for settings, of_row in kinds:
        found = {name: type(value) for name, value in training.of(json.loads(settings)).items()}
        found |= {name: _TYPES[kind] for name, kind in json.loads(of_row).items()}
        for name, kind in found.items():
            types.setdefault(name, set()).add(kind)
    return types


def _curve_types(columns: Iterable[str]) -> Types:
    types: Types = {}
    for text in columns:
        for name, kind in json.loads(text).items():
            types.setdefault(name, set()).add(_CURVE_TYPES.get(kind, float))
    return types


def joined_curves(curves: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """One table with these columns; what a run has no value for is null."""
    tables = [schema.empty_table(), *curves]
    return pa.concat_tables(tables, promote_options="default").select(schema.names)


def tables_of(finished: Iterable[RunFile]) -> tuple[pa.Table, pa.Table]:
    """Both tables of runs that are in memory, in the order of world, method, draw and seed."""
    from mulex.store.schema import types_of
    from mulex.store.training_columns import with_training_columns

    ordered = sorted(finished, key=lambda f: (f.row["world"], f.row["method"], f.row["draw"], f.row["seed"]))
    rows = with_training_columns(ordered)
    columns = {json.dumps({field.name: str(field.type) for field in f.curve.schema}) for f in ordered}
    curves = joined_curves([f.curve for f in ordered], curves_schema(_curve_types(columns)))
    return pa.Table.from_pylist(rows, runs_schema(types_of(rows))), curves
