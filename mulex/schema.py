"""The two tables of a sweep: their columns and types, in one place."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

SCHEMA_VERSION = 1

HYPERPARAMETERS = ("learning_rate", "epsilon", "beta", "p_task", "p_1", "gamma_steps")
"""Always columns of `runs`; a method's own names are added to them."""

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
"""Besides these, by head: loss_<head>, acted_<head> (its share of the steps) and, where several are evaluated,
eval_return_<head>."""

_BEFORE = pa.schema(
    [
        ("run", pa.string()),
        ("sweep", pa.string()),
        ("world", pa.string()),
        ("method", pa.string()),
        ("draw", pa.int32()),
        ("seed", pa.int64()),
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


def runs_schema(rows: Iterable[dict[str, Any]]) -> pa.Schema:
    """The columns of `runs`, with the further hyperparameters that some rows have after the known ones."""
    return _widened(RUNS, rows, after=HYPERPARAMETERS[-1])


def curves_schema(rows: Iterable[dict[str, Any]]) -> pa.Schema:
    """The columns of `curves`, with those of the heads that some rows have before the step counts."""
    return _widened(CURVES, rows, after="mean_bonus")


def _widened(schema: pa.Schema, rows: Iterable[dict[str, Any]], after: str) -> pa.Schema:
    more = sorted({name for row in rows for name in row} - set(schema.names))
    place = schema.names.index(after) + 1
    fields = list(schema)
    return pa.schema([*fields[:place], *[pa.field(name, pa.float64()) for name in more], *fields[place:]])
