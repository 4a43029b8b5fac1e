"""The table of runs, paged on the server: which rows a browser asks for, and what a row looks like as JSON."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.errors import AnalysisError
from analysis.labels import display_name
from analysis.live.view import FIRST, LAST

PAGE_SIZES = (25, 50, 100, 200)
MOST_CHOICES = 40
"""A column of texts with at most so many values gets a list to choose from."""
TITLES = {"finished_at": "finished", "seconds": "time"}
FILTER = "f."
"""How the name of a parameter begins that filters a column."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COMPARISON = re.compile(rf"^(<=|>=|<|>|=|)\s*({_NUMBER})$")
_RANGE = re.compile(rf"^({_NUMBER})?\s*\.\.\s*({_NUMBER})?$")


@dataclass(frozen=True)
class Query:
    """Which runs, in which order, and which page of them."""

    search: str = ""
    filters: tuple[tuple[str, str], ...] = ()
    sort: str = ""
    descending: bool = False
    page: int = 1
    size: int = 50


def read_query(parameters: Mapping[str, str], columns: list[str]) -> Query:
    """Read a query from the parameters of a link.

    Raises:
        AnalysisError: No such column, or a page or size that is not one.
    """
    filters = tuple((n.removeprefix(FILTER), t.strip()) for n, t in parameters.items() if n.startswith(FILTER))
    sort = parameters.get("sort", "")
    query = Query(
        parameters.get("q", "").strip(),
        tuple((name, text) for name, text in filters if text),
        sort.removeprefix("-"),
        sort.startswith("-"),
        _whole(parameters, "page", 1),
        _whole(parameters, "size", 50),
    )
    for name in [*(name for name, _ in query.filters), *([query.sort] if query.sort else [])]:
        if name not in columns:
            raise AnalysisError(f"{name}: no such column; there are {', '.join(columns)}")
    if query.size not in PAGE_SIZES:
        raise AnalysisError(f"size={query.size}: a page has {', '.join(map(str, PAGE_SIZES))} runs")
    return query


def _whole(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name, "")
    if text and not re.fullmatch(r"[1-9]\d{0,6}", text):
        raise AnalysisError(f"{name}={text}: expected a whole number from 1 up")
    return int(text or default)


def select(runs: pd.DataFrame, query: Query) -> pd.DataFrame:
    """Return the runs that a query asks for, in its order, all pages of them."""
    keep = np.ones(len(runs), dtype=bool)
    if query.search:
        keep &= runs["run"].str.contains(query.search.lower(), regex=False).to_numpy(dtype=bool)
    for name, text in query.filters:
        keep &= _matches(runs[name], name, text)
    runs = runs[keep]
    if query.sort:
        column = runs[query.sort]
        key = column if pd.api.types.is_numeric_dtype(column) or _is_moment(column) else column.astype("str")
        runs = runs.loc[key.where(column.notna()).sort_values(ascending=not query.descending, kind="stable").index]
    return runs


def _matches(column: pd.Series, name: str, text: str) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _number_matches(column.to_numpy(dtype=float), name, text)
    alternatives = [part.strip().lower() for part in text.split(",") if part.strip()]
    values = (column.dt.strftime("%Y-%m-%d %H:%M:%S") if _is_moment(column) else column.astype("str")).str.lower()
    found = np.zeros(len(column), dtype=bool)
    for part in alternatives:
        exact = part.startswith("=")
        hits = values == part[1:] if exact else values.str.contains(part, regex=False)
        found |= (hits & column.notna()).to_numpy(dtype=bool)
    return found


def _number_matches(values: np.ndarray, name: str, text: str) -> np.ndarray:
    """Which numbers are in a range such as 0.1..0.3, or beyond a bound such as >=0.5."""
    if between := _RANGE.match(text):
        low, high = (float(part) if part else None for part in between.groups())
        above = values >= low if low is not None else np.isfinite(values)
        return above & (values <= high if high is not None else np.isfinite(values))
    if comparison := _COMPARISON.match(text):
        sign, bound = comparison.group(1), float(comparison.group(2))
        if sign in ("", "="):
            return np.isclose(values, bound, rtol=1e-9, atol=0)
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign]
        return np.asarray(compare(values, bound))
    raise AnalysisError(f"{name}: {text!r} is no filter of numbers; write 0.1..0.3, >=0.5, <2 or 3")


def page_of(runs: pd.DataFrame, query: Query) -> dict[str, Any]:
    """Return one page of the runs that a query asks for, as JSON has it."""
    matched = select(runs, query)
    pages = max(1, math.ceil(len(matched) / query.size))
    page = min(query.page, pages)
    rows = matched.iloc[(page - 1) * query.size : page * query.size]
    return {"rows": plain_rows(rows), "matched": len(matched), "total": len(runs), "page": page, "pages": pages}


def plain_rows(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as JSON has them: null where there is no value, and moments as seconds."""
    return [{str(name): plain(value) for name, value in row.items()} for row in runs.to_dict("records")]


def plain(value: Any) -> Any:
    """Return one value as JSON has it."""
    if value is None or value is pd.NaT:
        return None
    if isinstance(value, pd.Timestamp):
        return value.timestamp()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def columns_of(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Describe the columns: name, title, kind, whether it is a hyperparameter, and the values of one with few."""
    return [_column(name, runs[name]) for name in map(str, runs.columns) if name != "iterations"]


def _column(name: str, column: pd.Series) -> dict[str, Any]:
    is_value = name not in (*FIRST, *LAST)
    title = display_name(name) if is_value else TITLES.get(name, name)
    described: dict[str, Any] = {"name": name, "title": title, "value": is_value}
    if _is_moment(column):
        return described | {"kind": "moment"}
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return described | {"kind": "number"}
    described["kind"] = "text"
    if name not in ("run", "error"):
        values = sorted(map(str, column.dropna().unique()))
        if len(values) <= MOST_CHOICES:
            described["choices"] = values
    return described


def _is_moment(column: pd.Series) -> bool:
    return pd.api.types.is_datetime64_any_dtype(column)
