"""The figure `rooms`: scores in units of epsilon-greedy's median."""

import pytest

from analysis.study import rooms
from tests.support.analysis_tables import known


def test_scores_are_divided_by_epsilon_greedys_median_in_that_world(tmp_path):
    scores = {
        ("w5", "epsilon_greedy"): [[0.2], [0.4], [0.9]],
        ("w5", "mulex"): [[0.8]],
        ("w10", "epsilon_greedy"): [[0.1], [0.1]],
        ("w10", "mulex"): [[0.5]],
        ("hard", "epsilon_greedy"): [[0.0]],
        ("hard", "mulex"): [[0.3]],
    }
    data = {(v.world, v.method): v.scores.tolist() for v in rooms.compute(known(tmp_path, scores))}
    assert data["w5", "mulex"] == pytest.approx([2.0])
    assert data["w5", "epsilon_greedy"] == pytest.approx([0.5, 1.0, 2.25])
    assert data["w10", "mulex"] == pytest.approx([5.0])
    assert ("hard", "mulex") not in data, "nothing can be divided by a median of 0"


def test_the_world_without_a_positive_median_is_named(tmp_path):
    scores = {(w, m): [[s]] for w, s in (("w5", 0.5), ("hard", 0.0)) for m in ("epsilon_greedy", "mulex")}
    tables = known(tmp_path, scores)
    assert "hard" in rooms.chart(tables, rooms.compute(tables)).note
