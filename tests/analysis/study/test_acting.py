"""The figure `acting`: the return of each head by its share of acting."""

import numpy as np
import pytest

from analysis.study import acting
from analysis.tables import load_tables
from tests.support.analysis_tables import make_tables, write_sweep


def test_acting_is_the_mean_return_of_each_head_by_p_1(tmp_path):
    runs, rows = make_tables(methods=["two_task_heads"], draws=4, seeds=2, iterations=2)
    runs["p_1"] = np.repeat([0.0, 0.0, 1.0, 1.0], 2)
    rows["eval_return_first"] = np.arange(len(rows), dtype=float)
    rows["eval_return_second"] = 1.0
    data = {head.head: head for head in acting.compute(load_tables([write_sweep(tmp_path, runs, rows)]))}
    assert data["first"].at.tolist() == [0, 1]
    assert data["first"].mean.tolist() == [np.mean(range(8)), np.mean(range(8, 16))]
    assert data["first"].returns.tolist() == [0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 14.5]
    assert data["second"].mean.tolist() == data["second"].low.tolist() == [1, 1]


def test_many_values_of_p_1_are_put_together_by_tenths(tmp_path):
    runs, rows = make_tables(methods=["two_task_heads"], draws=40, seeds=1, iterations=2)
    runs["p_1"] = np.linspace(0, 1, 40)
    data = acting.compute(load_tables([write_sweep(tmp_path, runs, rows)]))
    assert data[0].at == pytest.approx(np.arange(11) / 10)
