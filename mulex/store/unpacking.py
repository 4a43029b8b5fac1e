"""Run files again from the two tables of a sweep, for a folder whose run files are gone, as those of an archive are."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from mulex.errors import UserError
from mulex.store.folder import Folder
from mulex.store.layout import CURVES_TABLE, RUNS_TABLE
from mulex.store.schema import CURVES, HYPERPARAMETERS
from mulex.store.schema import RUNS as COLUMNS
from mulex.store.score import SCORE_NAME, SCORE_VALUE
from mulex.store.tables import DamagedTable, Table, read_table

_OWN = {*COLUMNS.names, SCORE_VALUE, SCORE_NAME} - set(HYPERPARAMETERS)
Row = dict[str, Any]


def read_both(folder: Folder) -> tuple[pa.Table, pa.Table]:
    """Both tables of a folder.

    Raises:
        UserError: One is missing or damaged, or they are not of the same runs.
    """
    runs, curves = _read(folder, RUNS_TABLE), _read(folder, CURVES_TABLE)
    if runs.made_of and curves.made_of and runs.made_of != curves.made_of:
        raise UserError(f"{folder.url}: {RUNS_TABLE} and {CURVES_TABLE} are not of the same runs; restore both")
    return runs.content, curves.content


def _read(folder: Folder, name: str) -> Table:
    try:
        return read_table(folder, name)
    except FileNotFoundError:
        raise UserError(f"{folder.url}: has no {name}; runs are unpacked from both tables") from None
    except DamagedTable as error:
        raise UserError(f"{error}; restore the file") from None


def unpacked_row(row: Row, values: Mapping[str, Any]) -> Row:
    """The row of a run as its file has it, with the values of its draw and without columns that other runs need."""
    own = {name: value for name, value in row.items() if name in _OWN}
    return {name: value for name, value in own.items() if value is not None or name == "error"} | dict(values)


def unpacked_curves(curves: pa.Table, rows: list[Row], url: str) -> Iterator[pa.Table]:
    """The curve of each row of `runs`, without the columns that only other runs have.

    Raises:
        UserError: A run has more or fewer iterations than its row says.
    """
    coded = curves["run"].combine_chunks()
    coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
    code = {run: i for i, run in enumerate(coded.dictionary.to_pylist())}
    order = np.argsort(coded.indices.to_numpy(zero_copy_only=False), kind="stable")
    counts = np.bincount(coded.indices.to_numpy(zero_copy_only=False), minlength=len(code))
    ends = np.cumsum(counts)
    known = {name for name in curves.schema.names if curves[name].null_count < curves.num_rows}
    curves = curves.set_column(curves.schema.get_field_index("run"), "run", curves["run"].cast(pa.string()))
    for row in rows:
        i = code.get(row["run"])
        count = 0 if i is None else int(counts[i])
        if count != (row["iterations"] or 0):
            text = f"{row['run']} has {count} iterations, its row says {row['iterations'] or 0}"
            raise UserError(f"{url}/{CURVES_TABLE}: run {text}; the two tables are not of the same runs")
        curve = curves.slice(0, 0) if i is None else curves.take(order[ends[i] - count : ends[i]])
        others = [n for n in curve.schema.names if n not in CURVES.names and n in known]
        yield curve.drop_columns([n for n in others if curve[n].null_count == curve.num_rows])
