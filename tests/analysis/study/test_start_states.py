"""The figure `starts`: steps to the exit from every start state."""

import numpy as np
import pytest

from analysis.errors import NotApplicableError
from analysis.study import start_states
from analysis.tables import load_tables
from tests.support.analysis_tables import made, make_tables, with_tests, write_start_rows, write_sweep


def test_starts_are_means_of_those_that_arrive_and_name_those_that_do_not(tmp_path):
    folder = made(tmp_path, draws=2)
    write_start_rows(folder)
    cells = start_states.compute(load_tables([folder])).cells.set_index(["row", "col"])
    assert cells.loc[(1, 1), ["steps", "lost", "policies"]].tolist() == [5, 0, 2]
    assert cells.loc[(1, 2), ["steps", "lost"]].tolist() == [3, 0.5]
    assert np.isnan(cells.loc[(2, 1), "steps"])
    assert cells.loc[(2, 1), "lost"] == 1
    tables = load_tables([folder])
    assert "50.0% never arrive" in start_states.chart(tables, start_states.compute(tables)).panels[0].title


def test_test_runs_are_left_out_unless_there_are_no_others(tmp_path):
    runs, curves = with_tests(*make_tables(("mulex",), draws=2), top=1, seeds=1)
    tuned, tested = (runs.loc[runs["role"] == role, "run"].iloc[0] for role in ("tune", "test"))
    for rows, steps in (([(tuned, 4), (tested, 8)], 4), ([(tested, 8)], 8)):
        folder = write_sweep(tmp_path / str(steps), runs, curves)
        write_start_rows(folder, [("mulex", run, 1, 1, steps) for run, steps in rows])
        assert start_states.compute(load_tables([folder])).cells["steps"].tolist() == [steps]


def test_starts_with_a_column_too_few_or_no_rows(tmp_path):
    folder = made(tmp_path, draws=2)
    write_start_rows(folder, [])
    with pytest.raises(NotApplicableError, match="no rows"):
        start_states.compute(load_tables([folder]))
