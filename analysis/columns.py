"""The columns of the two tables: which ones the analysis needs, and which ones are hyperparameters."""

from collections.abc import Callable, Collection
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import types

from analysis.errors import AnalysisError
from mulex.store.schema import HYPERPARAMETERS, RUNS, SCHEMA_VERSION
from mulex.store.score import SCORE_NAME, SCORE_VALUE

NEEDED = {
    "run": "text",
    "world": "text",
    "method": "text",
    "draw": "whole",
    "seed": "whole",
    "normalised_auc": "number",
    "status": "text",
}


def _kind(column: pa.DataType) -> str:
    if types.is_timestamp(column):
        return "moment"
    return "text" if types.is_string(column) else "number"


OPTIONAL = {field.name: _kind(field.type) for field in RUNS if field.name not in (*NEEDED, *HYPERPARAMETERS)}
OPTIONAL |= {SCORE_VALUE: "number", SCORE_NAME: "text"}
"""The other columns of the schema, null where an older table lacks them. Any further column is a hyperparameter."""

CURVES_NEEDED = {"run": "text", "iteration": "whole", "eval_return": "number", "normalised_return": "number"}
HEAD_RETURN = "eval_return_"


def _is_text(kind: pa.DataType) -> bool:
    return _is_string(kind.value_type if types.is_dictionary(kind) else kind)


def _is_string(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_null(kind))


FITS: dict[str, Callable[[pa.DataType], bool]] = {
    "text": _is_text,
    "whole": types.is_integer,
    "number": _is_number,
    "moment": lambda kind: bool(types.is_timestamp(kind) or types.is_null(kind)),
}


def check_columns(schema: pa.Schema, needed: dict[str, str], optional: dict[str, str], where: str) -> None:
    """Raise AnalysisError for a table that lacks a needed column or has a column of another type."""
    missing = [name for name in needed if name not in schema.names]
    if missing:
        raise AnalysisError(
            f"{where}: no column {', '.join(missing)}; if an older program made it, make it again with mulex collect"
        )
    for name, kind in {**needed, **optional}.items():
        if name in schema.names and not FITS[kind](schema.field(name).type):
            raise AnalysisError(f"{where}: column {name} has type {schema.field(name).type}, expected a {kind}")


def check_version(runs: pd.DataFrame, where: str) -> None:
    """Raise AnalysisError for tables of a later version of this program; those of earlier versions load."""
    newest = pd.to_numeric(runs["schema_version"]).max()
    if newest > SCHEMA_VERSION:
        raise AnalysisError(
            f"{where}: schema version {newest:.0f}, this program knows up to {SCHEMA_VERSION}; install a newer one"
        )


def hyperparameters(runs: pd.DataFrame, named: Collection[str] | None = None) -> list[str]:
    """The columns that are hyperparameters and have a value in some run.

    `named` are those that the spec has. Without a spec they are the numeric columns that are nothing else.
    """
    others = [name for name in runs.columns if name not in NEEDED and name not in OPTIONAL and runs[name].notna().any()]
    if named is not None:
        return [name for name in others if name in named]
    return [name for name in others if pd.api.types.is_numeric_dtype(runs[name])]


def varied(runs: pd.DataFrame, names: Collection[str]) -> list[str]:
    """Those of the named hyperparameters that have more than one value among these runs."""
    return [name for name in names if runs[name].nunique() > 1]


def is_category(values: pd.Series) -> bool:
    """Whether the values of a hyperparameter are texts or booleans, some of which may be null."""
    return bool(pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values))


def categories(values: pd.Series) -> list[str]:
    """The different values of texts or booleans, as they are written in a spec, in a fixed order."""
    return sorted({category_name(value) for value in values.dropna()})


def category_name(value: Any) -> str:
    """A text as it is; a boolean as a spec has it."""
    return value if isinstance(value, str) else str(bool(value)).lower()
