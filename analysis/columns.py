"""The columns that the analysis needs of the two tables, and what it does with those it finds."""

from collections.abc import Callable

import pandas as pd
import pyarrow as pa
from pyarrow import types

from analysis.errors import AnalysisError

SCHEMA_VERSION = 1
"""The newest version of the tables that is understood here."""

NEEDED = {
    "run": "text",
    "world": "text",
    "method": "text",
    "draw": "whole",
    "seed": "whole",
    "normalised_auc": "number",
    "status": "text",
}
OPTIONAL = {
    "sweep": "text",
    "auc": "number",
    "final_return": "number",
    "best_return": "number",
    "iterations_to_ideal": "number",
    "iterations": "number",
    "env_steps": "number",
    "updates": "number",
    "seconds": "number",
    "engine": "text",
    "error": "text",
    "started_at": "moment",
    "finished_at": "moment",
    "host": "text",
    "package_version": "text",
    "git_commit": "text",
    "spec_hash": "text",
    "schema_version": "number",
}
"""Null where an older table does not have them. Every other column of numbers is a hyperparameter."""

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
    """Refuse a table that lacks a needed column or has one of another type."""
    missing = [name for name in needed if name not in schema.names]
    if missing:
        raise AnalysisError(
            f"{where}: no column {', '.join(missing)}; if an older program made it, make it again with mulex collect"
        )
    for name, kind in {**needed, **optional}.items():
        if name in schema.names and not FITS[kind](schema.field(name).type):
            raise AnalysisError(f"{where}: column {name} has type {schema.field(name).type}, expected a {kind}")


def check_version(runs: pd.DataFrame, where: str) -> None:
    """Refuse tables of a later program; earlier ones load."""
    newest = pd.to_numeric(runs["schema_version"]).max()
    if newest > SCHEMA_VERSION:
        raise AnalysisError(
            f"{where}: schema version {newest:.0f}, this program knows up to {SCHEMA_VERSION}; install a newer one"
        )


def hyperparameters(runs: pd.DataFrame) -> list[str]:
    """The columns that are hyperparameters and have a value in some run."""
    others = [name for name in runs.columns if name not in NEEDED and name not in OPTIONAL]
    return [name for name in others if pd.api.types.is_numeric_dtype(runs[name]) and runs[name].notna().any()]


def varied(runs: pd.DataFrame) -> list[str]:
    """The hyperparameters with more than one value among these runs."""
    return [name for name in hyperparameters(runs) if runs[name].nunique() > 1]
