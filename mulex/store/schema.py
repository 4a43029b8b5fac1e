"""The columns of the two tables of a sweep, and their types.

Some sweeps have more: `score.py` adds `score` and `score_name`, and `training_columns.py` the settings that differ.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

SCHEMA_VERSION = 1

HYPERPARAMETERS = ("learning_rate", "epsilon", "beta", "p_task", "p_1", "gamma_steps")
"""Hyperparameters that always have a column in `runs`; those that other methods name get further columns."""

CURVES = pa.schema(
    [
        ("run", pa.string()),
        ("world", pa.string()),
        ("method", pa.string()),
        ("draw", pa.int32()),
        ("seed", pa.int64()),
        ("iteration", pa.int32()),
        ("eval_return", pa.float64()),
        ("normalised_return", pa.float64()),
        ("eval_episode_length", pa.float64()),
        ("train_return", pa.float64()),
        ("train_episodes", pa.int32()),
        ("explore_fraction", pa.float64()),
        ("mean_bonus", pa.float64()),
        ("env_steps", pa.int64()),
        ("seconds", pa.float64()),
    ]
)
"""Every head adds columns: loss_<head>, acted_<head> (its share of the steps) and, if several heads are evaluated,
eval_return_<head>."""

_BEFORE = pa.schema(
    [
        ("run", pa.string()),
        ("sweep", pa.string()),
        ("world", pa.string()),
        ("method", pa.string()),
        ("draw", pa.int32()),
        ("seed", pa.int64()),
        ("role", pa.string()),
    ]
)
_AFTER = pa.schema(
    [
        ("auc", pa.float64()),
        ("normalised_auc", pa.float64()),
        ("final_return", pa.float64()),
        ("best_return", pa.float64()),
        ("iterations_to_ideal", pa.int32()),
        ("iterations", pa.int32()),
        ("env_steps", pa.int64()),
        ("updates", pa.int64()),
        ("seconds", pa.float64()),
        ("engine", pa.string()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("started_at", pa.timestamp("us", tz="UTC")),
        ("finished_at", pa.timestamp("us", tz="UTC")),
        ("host", pa.string()),
        ("package_version", pa.string()),
        ("git_commit", pa.string()),
        ("spec_hash", pa.string()),
        ("schema_version", pa.int32()),
    ]
)
RUNS = pa.schema([*_BEFORE, *[(name, pa.float64()) for name in HYPERPARAMETERS], *_AFTER])


Types = dict[str, set[type]]
"""The types of the values that each column has."""


def runs_schema(types: Types) -> pa.Schema:
    """The columns of `runs`; hyperparameters that only some rows have follow the known ones."""
    return _widened(RUNS, types, after=HYPERPARAMETERS[-1])


def curves_schema(types: Types) -> pa.Schema:
    """The columns of `curves`; those that only some rows have stand before the step counts."""
    return _widened(CURVES, types, after="mean_bonus")


def types_of(rows: Iterable[Mapping[str, Any]]) -> Types:
    """The types of the values in rows."""
    types: Types = {}
    for row in rows:
        for name, value in row.items():
            types.setdefault(name, set()).add(type(value))
    return types


def _widened(schema: pa.Schema, types: Types, after: str) -> pa.Schema:
    more = [pa.field(name, _column_type(types[name])) for name in sorted(types.keys() - set(schema.names))]
    index = schema.names.index(after) + 1
    fields = list(schema)
    return pa.schema([*fields[:index], *more, *fields[index:]])


def _column_type(types: set[type]) -> pa.DataType:
    """The type of a column that holds values of these types; numbers, also whole ones, are doubles."""
    types = types - {type(None)}
    if types == {bool}:
        return pa.bool_()
    return pa.string() if types == {str} else pa.float64()
