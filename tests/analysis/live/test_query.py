"""The table of runs: filters, order, search and pages."""

import numpy as np
import pandas as pd
import pytest

from analysis.errors import AnalysisError
from analysis.live.query import Query, columns_of, page_of, read_query, select

RUNS = pd.DataFrame(
    {
        "run": ["aa01", "ab02", "bb03", "cc04"],
        "status": ["done", "failed", "running", "pending"],
        "method": ["mulex", "additive", "mulex", "epsilon_greedy"],
        "score": [0.5, np.nan, np.nan, 0.25],
        "iteration": [800, 12, 40, 0],
        "iterations": [800] * 4,
        "learning_rate": [1e-4, 3e-4, 1e-3, 2e-5],
        "optimiser": ["adam", None, "sgd", "adam"],
        "finished_at": pd.to_datetime(["2026-01-02", "2026-01-01", None, None], utc=True),
        "error": [None, "Traceback\nValueError: [no] such", None, None],
    }
)
COLUMNS = list(RUNS.columns)


def found(**parameters: str) -> list[str]:
    """The ids of the runs that a link's parameters ask for."""
    return list(select(RUNS, read_query({k.replace("f_", "f."): v for k, v in parameters.items()}, COLUMNS))["run"])


@pytest.mark.parametrize(
    ("parameters", "runs"),
    [
        ({}, ["aa01", "ab02", "bb03", "cc04"]),
        ({"q": "A"}, ["aa01", "ab02"]),
        ({"f_method": "=mulex"}, ["aa01", "bb03"]),
        ({"f_method": "mul, addi"}, ["aa01", "ab02", "bb03"]),
        ({"f_method": "=mul"}, []),
        ({"f_score": ">=0.5"}, ["aa01"]),
        ({"f_score": "0.2..0.3"}, ["cc04"]),
        ({"f_score": "0.1.."}, ["aa01", "cc04"]),
        ({"f_score": "..0.3"}, ["cc04"]),
        ({"f_learning_rate": "3e-4"}, ["ab02"]),
        ({"f_learning_rate": "<1e-4"}, ["cc04"]),
        ({"f_error": "[no]"}, ["ab02"]),
        ({"f_error": ".*"}, []),
        ({"f_finished_at": "2026-01-02"}, ["aa01"]),
        ({"f_optimiser": "=adam"}, ["aa01", "cc04"]),
        ({"f_optimiser": "none"}, []),
        ({"f_status": "=done", "f_method": "=additive"}, []),
        ({"sort": "learning_rate"}, ["cc04", "aa01", "ab02", "bb03"]),
        ({"sort": "-score"}, ["aa01", "cc04", "ab02", "bb03"]),
        ({"sort": "score"}, ["cc04", "aa01", "ab02", "bb03"]),
        ({"sort": "-finished_at"}, ["aa01", "ab02", "bb03", "cc04"]),
        ({"sort": "optimiser"}, ["aa01", "cc04", "bb03", "ab02"]),
    ],
)
def test_what_a_query_finds(parameters, runs):
    assert found(**parameters) == runs


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"f.nothing": "1"}, "nothing: no such column"),
        ({"sort": "-nothing"}, "nothing: no such column"),
        ({"page": "0"}, "page=0: expected a whole number"),
        ({"page": "x"}, "page=x"),
        ({"size": "7"}, "size=7: a page has 25, 50, 100, 200 runs"),
    ],
)
def test_a_query_that_cannot_be_is_refused(parameters, words):
    with pytest.raises(AnalysisError, match=words):
        read_query(parameters, COLUMNS)


def test_a_filter_of_numbers_that_is_none_says_what_can_be_written():
    with pytest.raises(AnalysisError, match=r"score: '>>1' is no filter of numbers; write 0.1..0.3"):
        found(f_score=">>1")


def test_a_page_is_a_part_and_knows_how_many_there_are():
    runs = pd.DataFrame({"run": [f"{i:06d}" for i in range(1000)], "score": np.arange(1000.0)})
    page = page_of(runs, Query(sort="score", descending=True, page=3, size=100, filters=(("score", "<500"),)))
    assert [page["matched"], page["total"], page["page"], page["pages"]] == [500, 1000, 3, 5]
    assert [row["score"] for row in page["rows"]] == list(range(299, 199, -1))
    assert page_of(runs, Query(page=99))["page"] == 20, "a page after the last is the last"


def test_rows_are_json_without_nan():
    row = page_of(RUNS, Query())["rows"][1]
    assert row["score"] is None
    assert row["finished_at"] == pd.Timestamp("2026-01-01", tz="UTC").timestamp()
    assert row["iteration"] == 12
    assert type(row["iteration"]) is int


def test_columns_say_how_they_are_filtered():
    columns = {column["name"]: column for column in columns_of(RUNS)}
    assert columns["status"]["choices"] == ["done", "failed", "pending", "running"]
    assert columns["optimiser"] == {
        "name": "optimiser",
        "title": "optimiser",
        "value": True,
        "kind": "text",
        "choices": ["adam", "sgd"],
    }
    assert columns["learning_rate"]["kind"] == "number"
    assert columns["finished_at"]["kind"] == "moment"
    assert "choices" not in columns["run"]
