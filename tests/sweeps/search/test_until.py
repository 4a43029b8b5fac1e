"""Draws that are added until an interval is narrow: planned looks, and intervals that hold at stopping."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mulex.store.folder import open_folder
from mulex.store.run_store import RunStore
from sweeps.inventory import freeze_spec, frozen_spec
from sweeps.looking import next_draws, with_draws
from sweeps.plan import make_plan
from sweeps.search import until as until_module
from sweeps.search.until import interval, planned_looks
from tests.support.sweeps import RAY_MARKS, as_spec, launch, mulex, tables, tiny, write_spec
from tests.sweeps.test_inventory import leave

pytest_plugins = ["tests.support.ray_plugin"]
UNTIL = {"measure": "mean", "width": 0.2, "max_draws": 8}


def test_looks_are_at_doubling_numbers_of_draws() -> None:
    assert planned_looks(8, 64) == [8, 16, 32, 64]
    assert planned_looks(5, 12) == [5, 10, 12]
    assert planned_looks(4, 4) == [4]


@pytest.mark.parametrize("measure", ["mean", "median", "iqm"])
def test_the_interval_contains_the_measure_and_narrows_with_draws(measure: str) -> None:
    rng = np.random.default_rng(0)
    few, many = ([[float(x)] for x in rng.normal(0.5, 0.1, n)] for n in (8, 128))
    ends = [interval(draws, measure, 0.95, 1) for draws in (few, many)]
    assert all(low < 0.52 and high > 0.48 for low, high in ends)
    assert ends[1][1] - ends[1][0] < 0.5 * (ends[0][1] - ends[0][0])
    assert interval([[0.5]], measure, 0.95, 1) == (-np.inf, np.inf)


@pytest.mark.parametrize(("kind", "measure"), [("normal", "mean"), ("skewed", "median")])
def test_intervals_hold_at_stopping(kind: str, measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps look at 8, 16, 32 and 64 draws and stop at different times; their last interval holds in 95 % or more."""
    monkeypatch.setattr(until_module, "REPLICATES", 1000)
    rng, looks = np.random.default_rng(3), planned_looks(8, 64)
    level, held, stops = 1 - 0.05 / len(looks), 0, []
    truth = {"mean": 0.5, "median": 0.5} if kind == "normal" else {"median": 1 - 0.5 ** (1 / 5)}
    sweeps = 300
    for sweep in range(sweeps):
        scores = rng.normal(0.5, 0.1, 64) if kind == "normal" else rng.beta(1, 5, 64)
        for draws in looks:
            low, high = interval([[float(x)] for x in scores[:draws]], measure, level, sweep)
            if high - low <= 0.12 or draws == looks[-1]:
                break
        stops.append(draws)
        held += low <= truth[measure] <= high
    assert len(set(stops)) >= 3
    assert held / sweeps >= 0.94


def scored(folder: Any, spread: float, draws: int = 4) -> Any:
    """A sweep whose draws have scores of a known spread."""
    spec = with_draws(folder, as_spec(tiny(search={"draws": draws, "until": UNTIL})))
    freeze_spec(folder, spec)
    plan = make_plan(spec, folder)
    for run in plan.runs():
        leave(folder, run, normalised_auc=0.5 + spread * (-1) ** run.draw)
    return plan


def test_a_wide_interval_needs_twice_the_draws_and_a_narrow_one_none(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "wide")
    more, lines = next_draws(scored(folder, 0.3), RunStore(folder))
    assert more == 8
    assert "4 draws: the widest interval" in lines[0]
    folder = open_folder(tmp_path / "narrow")
    more, lines = next_draws(scored(folder, 0.01), RunStore(folder))
    assert more is None
    assert "no interval is wider than 0.2; mean with 95 % over all 2 planned looks" in lines[0]
    assert len(lines) == 3
    folder = open_folder(tmp_path / "most")
    more, lines = next_draws(scored(folder, 0.3, draws=8), RunStore(folder))
    assert more is None
    assert "max_draws" in lines[0]


def test_a_folder_remembers_its_first_look_and_its_draws(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    scored(folder, 0.3)
    grown = as_spec(tiny(search={"draws": 8, "until": {**UNTIL, "first": 4}}))
    freeze_spec(folder, grown)
    again = with_draws(folder, as_spec(tiny(search={"draws": 4, "until": UNTIL})))
    assert again.search.draws == 8
    assert again.search.until is not None
    assert again.search.until.first == 4


@pytest.mark.parametrize(
    ("search", "text"),
    [
        ({"until": {"width": 0}}, "width"),
        ({"until": {"width": 0.1, "max_draws": 1}}, "max_draws"),
        ({"draws": 20, "until": {"width": 0.1, "max_draws": 10}}, "at least the 20 draws"),
        ({"algorithm": "tpe", "until": UNTIL}, "no independent samples"),
        ({"until": {**UNTIL, "measure": "best"}}, "measure"),
    ],
)
def test_what_cannot_be_is_refused(search: Any, text: str, tmp_path: Path) -> None:
    answer = mulex("validate", write_spec(tmp_path, tiny(search=search)))
    assert answer.code == 2
    assert text in answer.text


def test_the_rule_cannot_change_once_there_are_runs(tmp_path: Path) -> None:
    freeze_spec(open_folder(tmp_path / "out"), as_spec(tiny(search={"until": UNTIL})))
    answer = launch(tiny(search={"until": {**UNTIL, "width": 0.3}}), tmp_path / "out")
    assert answer.code == 2
    assert "search.until.width: 0.2 -> 0.3" in answer.text


class TestSweeps:
    """With a real Ray."""

    pytestmark = RAY_MARKS

    def test_a_sweep_doubles_its_draws_and_a_second_launch_trains_nothing(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        until = {"measure": "mean", "width": 1e-9, "max_draws": 3}
        worlds, methods = {"pole": {"id": "CartPole-v1"}}, {"epsilon_greedy": tiny()["methods"]["epsilon_greedy"]}
        search = {"draws": 2, "seeds": 1, "until": until}
        plain = tiny(worlds=worlds, methods=methods, search=search, training={"iterations": 2})
        answer = launch(plain, out)
        assert answer.code == 0, answer.text
        assert "until: 2 draws: " in answer.text
        assert "until: 3 draws: " in answer.text
        assert sorted(tables(out)["runs"]["draw"]) == [0, 1, 2]
        assert frozen_spec(open_folder(out)).search.draws == 3
        before = tables(out)["runs"]
        assert launch(plain, out).code == 0
        assert tables(out)["runs"].equals(before)
