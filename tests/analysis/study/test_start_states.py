"""The figure `starts`: steps to the exit from every start state."""

import numpy as np
import pytest

from analysis.errors import NotApplicableError
from analysis.study import start_states
from analysis.tables import load_tables
from tests.support.analysis_tables import made, write_start_rows


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


def test_starts_with_a_column_too_few_or_no_rows(tmp_path):
    folder = made(tmp_path, draws=2)
    write_start_rows(folder, [])
    with pytest.raises(NotApplicableError, match="no rows"):
        start_states.compute(load_tables([folder]))
