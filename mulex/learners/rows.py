"""From what a learner gives to a row of `curves`: checked names, checked values, one type per column."""

import math
import re
from collections.abc import Mapping
from typing import Any

from mulex.learners.contract import SCORE_COLUMN
from mulex.learners.failures import Kind, LearnerFailed
from mulex.messages import nearest, shown

Cell = float | int | str | bool | None
Row = dict[str, Cell]

RESERVED = ("run", "world", "method", "draw", "seed", "iteration", "normalised_return", "seconds")
"""Columns of `curves` that are filled in for the learner."""
WHOLE = ("train_episodes", "env_steps")
"""Columns of `curves` that hold whole numbers."""
NUMERIC = (SCORE_COLUMN, *WHOLE, "eval_episode_length", "train_return", "explore_fraction", "mean_bonus")

MOST_COLUMNS = 200
LONGEST_TEXT = 1000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class RowReader:
    """Reads the rows of one run; a column keeps the type that it had first."""

    def __init__(self) -> None:
        self._types: dict[str, str] = dict.fromkeys(NUMERIC, "number")

    def read(self, raw: Any, iteration: int) -> Row:
        """A checked row, or LearnerFailed with what is wrong. NaN and infinities are kept, as NaN."""
        where = f"row {iteration}"
        if not isinstance(raw, Mapping):
            kind: Kind = "no row" if raw is None else "bad row"
            raise LearnerFailed(kind, f"{where}: got {_kind(raw)}, needed is a dict with {SCORE_COLUMN!r}")
        self._check_names(raw, where)
        row = {name: self._cell(name, value, where) for name, value in raw.items()}
        if row[SCORE_COLUMN] is None:
            raise _bad(f"{where}: {SCORE_COLUMN} is None, needed is a number")
        return row

    def _check_names(self, raw: Mapping[str, Any], where: str) -> None:
        if len(raw) > MOST_COLUMNS:
            raise _bad(f"{where}: has {len(raw)} columns, allowed are {MOST_COLUMNS}")
        for name in raw:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise _bad(f"{where}: {name!r} is no column name; use letters, digits and '_', a letter first")
            if name in RESERVED:
                raise _bad(f"{where}: the column {name!r} is filled in by mulex; give yours another name")
        if SCORE_COLUMN not in raw:
            names = ", ".join(raw) or "nothing"
            hint = nearest(SCORE_COLUMN, raw)
            raise _bad(f"{where}: there is no {SCORE_COLUMN!r}, which the score is made of; it has {names}{hint}")

    def _cell(self, name: str, value: Any, where: str) -> Cell:
        size = value.numel() if hasattr(value, "numel") else getattr(value, "size", None)
        if size == 1 and hasattr(value, "item"):  # scalars and one-element arrays of NumPy and torch
            value = value.item()
        if value is None:
            return None
        kind = _type_of(value)
        if kind is None:
            raise _bad(f"{where}: {name} is {_kind(value)} ({shown(value)}), allowed is a number, a text or a bool")
        if (before := self._types.setdefault(name, kind)) != kind:
            raise _bad(f"{where}: {name} is a {kind}, and was a {before} before; a column has one type")
        return _kept(name, value, where)


def not_finite(row: Row) -> str | None:
    """The column that makes a run count as diverged: a score or a loss that is NaN (or was infinite)."""
    for name, value in row.items():
        if (name == SCORE_COLUMN or "loss" in name) and isinstance(value, float) and math.isnan(value):
            return name
    return None


def _kept(name: str, value: Any, where: str) -> Cell:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, int) and abs(value) >= 2**63:
        raise _bad(f"{where}: {name} is {shown(value)}, which no 64-bit number holds")
    if name in WHOLE:
        if not math.isfinite(value) or value != int(value):
            raise _bad(f"{where}: {name} is {shown(value)}, needed is a whole number")
        return int(value)
    return float(value) if math.isfinite(value) else math.nan


def _type_of(value: Any) -> str | None:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else None


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _bad(summary: str) -> LearnerFailed:
    return LearnerFailed("bad row", summary)
