"""The table `starts.parquet` of a sweep: steps to the exit from every start state, by policy."""

import pandas as pd

from analysis.columns import check_columns
from analysis.errors import AnalysisError, NotApplicableError
from analysis.loading import Sweep
from analysis.tables import Tables
from mulex.store.layout import STARTS_TABLE
from mulex.store.tables import DamagedTable, read_table

TABLE = STARTS_TABLE
NEEDED = {"method": "text", "run": "text", "row": "whole", "col": "whole", "steps": "number"}


def read_starts(tables: Tables) -> pd.DataFrame | None:
    """Return the start states of all sweeps that have the table; None if no sweep has it.

    Raises:
        NotApplicableError: A sweep's table is empty.
    """
    found = [_read(sweep) for sweep in tables.sweeps if sweep.folder.exists(TABLE)]
    return pd.concat(found) if found else None


def _read(sweep: Sweep) -> pd.DataFrame:
    try:
        table = read_table(sweep.folder, TABLE, lambda name: name in NEEDED).content
    except DamagedTable as error:
        raise AnalysisError(f"{error}; make it again with mulex starts {sweep.folder.url}") from None
    check_columns(table.schema, NEEDED, {}, f"{sweep.folder.url}/{TABLE}")
    if not table.num_rows:
        raise NotApplicableError(f"starts: {sweep.folder.url}/{TABLE} has no rows")
    return table.to_pandas().astype({"run": "str", "method": "str", "steps": "float64"})
