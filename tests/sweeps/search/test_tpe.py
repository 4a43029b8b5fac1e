"""The adaptive search: what is asked, told and written down, on a known objective and in a real sweep."""

import json
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.trial import TrialState

from mulex.store.folder import Folder, open_folder
from mulex.store.layout import draws_name, run_name
from mulex.store.provenance import provenance
from mulex.store.run_file import RunFile, curve_table, write_run_file
from sweeps.inventory import freeze_spec
from sweeps.packs import AdaptivePacks
from sweeps.plan import PlannedPack, PlannedRun, make_plan
from sweeps.search.random import RandomSearch
from sweeps.search.space import Values
from tests.support.sweeps import (
    RAY_MARKS,
    Plain,
    as_spec,
    launch,
    mulex,
    run_files,
    tables,
    tiny,
)

pytest_plugins = ["tests.support.ray_plugin"]

METHOD = "epsilon_greedy"


def searched(draws: int = 6, seeds: int = 2, **changes: Any) -> Plain:
    """A spec that asks as it goes, for one method."""
    methods = {METHOD: {"learning_rate": {"log_uniform": [1e-5, 1e-1]}, "epsilon": {"uniform": [0.0, 1.0]}}}
    search = {"algorithm": "tpe", "draws": draws, "seeds": seeds}
    return tiny(**{"methods": methods, "search": search, **changes})


def objective(values: Values, seed: int) -> float:
    """Best at a learning rate of 1e-3 and an epsilon of 0.2; the seed adds what cancels in the mean of two."""
    return -((np.log10(values["learning_rate"]) + 3) ** 2) - (values["epsilon"] - 0.2) ** 2 + (0.5 if seed else -0.5)


class Trainer:
    """Stands for Tune and its workers: takes packs, and leaves run files with the objective as their score."""

    def __init__(self, folder: Folder, plain: Plain) -> None:
        self.folder = folder
        self.plan = make_plan(as_spec(plain), folder)
        self.packs = AdaptivePacks(self.plan, folder)
        self.asked: list[PlannedPack] = []

    def take(self) -> PlannedPack | None:
        """The next pack, if there is one."""
        if (pack := self.packs.next()) is not None:
            self.asked.append(pack)
        return pack

    def train(self, pack: PlannedPack, score: Callable[[Values, int], float] = objective) -> None:
        """Leave its run files, and say that it ended."""
        for run in pack.runs:
            values = self.plan.values[run.method][run.draw]
            leave(self.folder, run, score(values, run.seed), values=values)
        self.packs.ended(pack.name)

    def train_all(self) -> None:
        while (pack := self.take()) is not None:
            self.train(pack)

    def told(self) -> list[float]:
        """The scores that the study knows."""
        trials = self.packs.studies[METHOD]._study.trials
        return [trial.value for trial in trials if trial.value is not None]

    def states(self) -> list[TrialState]:
        """How the draws that the study knows ended."""
        return [trial.state for trial in self.packs.studies[METHOD]._study.trials]


def leave(
    folder: Folder, run: PlannedRun, score: float | None, status: str = "done", values: Values | None = None
) -> None:
    """A run file with a score."""
    common = {"run": run.run_id, "world": run.world, "method": run.method, "draw": run.draw, "seed": run.seed}
    row = common | {"status": status, "error": None, "normalised_auc": score} | (values or {}) | provenance()
    write_run_file(folder, RunFile(row | {"started_at": row["finished_at"]}, curve_table([]), {}))


def test_it_asks_for_as_many_draws_as_the_spec_says(tmp_path: Path) -> None:
    trainer = Trainer(open_folder(tmp_path), searched(draws=6))
    trainer.train_all()
    assert [pack.runs[0].draw for pack in trainer.asked] == list(range(6))
    assert all([run.seed for run in pack.runs] == [0, 1] for pack in trainer.asked)
    assert len(trainer.packs.packs) == 6 <= trainer.packs.total()
    assert trainer.take() is None


def test_it_is_told_the_mean_over_seeds_and_worlds(tmp_path: Path) -> None:
    worlds = {name: {"map": "two_rooms", "room_size": size} for name, size in (("a", 3), ("b", 4))}
    trainer = Trainer(open_folder(tmp_path), searched(draws=1, worlds=worlds))
    first, second = trainer.take(), trainer.take()
    assert first is not None
    assert second is not None
    assert {first.world, second.world} == {"a", "b"}
    scores = iter([1.0, 2.0, 3.0, 10.0])
    trainer.train(first, lambda _, __: next(scores))
    assert trainer.told() == []
    trainer.train(second, lambda _, __: next(scores))
    assert trainer.told() == [statistics.fmean([1.0, 2.0, 3.0, 10.0])]


def test_what_it_has_yet_to_ask_for_is_missing(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    freeze_spec(folder, as_spec(searched(draws=5)))
    Trainer(folder, searched(draws=5)).take()
    answer = mulex("verify", str(tmp_path))
    assert answer.code == 1
    assert "missing: 8 runs that the search has not asked for yet" in answer.text
    assert "0 done, 0 diverged, 0 failed, 10 missing" in answer.text


def test_a_draw_is_written_down_before_it_is_trained(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched())
    for count in (1, 2, 3):
        pack = trainer.take()
        assert pack is not None
        assert json.loads(folder.read(draws_name(METHOD))) == trainer.plan.values[METHOD]
        assert len(make_plan(trainer.plan.spec, folder).values[METHOD]) == count


def test_values_are_those_of_the_space(tmp_path: Path) -> None:
    """Constants, whole numbers and choices included, as plain numbers that JSON gives back to the bit."""
    space = {"learning_rate": 1e-3, "epsilon": {"uniform": [0.1, 0.2]}, "n_step": {"int_uniform": [2, 5]}}
    methods = {METHOD: {**space, "update_every": {"choice": [1, 8]}}}
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched(draws=12, methods=methods))
    while (pack := trainer.take()) is not None:
        trainer.train(pack, lambda values, _: values["epsilon"])
    for values in trainer.plan.values[METHOD]:
        assert values["learning_rate"] == 1e-3
        assert 0.1 <= values["epsilon"] <= 0.2
        assert values["n_step"] in (2, 3, 4, 5)
        assert values["update_every"] in (1, 8)
        assert all(type(value) is float for value in values.values())
    assert make_plan(trainer.plan.spec, folder).values == trainer.plan.values
    again = Trainer(folder, searched(draws=12, methods=methods))
    assert again.told() == trainer.told()


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_after_an_interruption_the_study_is_rebuilt_and_unfinished_draws_come_first(cut: int, tmp_path: Path) -> None:
    """`cut` draws were finished; another was asked for and has one of its two seeds."""
    folder = open_folder(tmp_path)
    first = Trainer(folder, searched())
    for _ in range(cut):
        pack = first.take()
        assert pack is not None
        first.train(pack)
    half = first.take()
    assert half is not None
    values = first.plan.values[METHOD][cut]
    leave(folder, half.runs[0], objective(values, 0))

    second = Trainer(folder, searched())
    assert second.told() == first.told()
    known = [trial.params for trial in second.packs.studies[METHOD]._study.trials]
    assert known == first.plan.values[METHOD][:cut]
    pack = second.take()
    assert pack is not None
    assert [(run.draw, run.seed) for run in pack.runs] == [(cut, 1)]
    second.train(pack)
    assert second.told()[-1] == pytest.approx(statistics.fmean(objective(values, seed) for seed in (0, 1)))
    second.train_all()
    drawn = make_plan(second.plan.spec, folder).values[METHOD]
    assert drawn[: cut + 1] == first.plan.values[METHOD][: cut + 1]
    assert len({json.dumps(values) for values in drawn}) == 6, "a draw was repeated"


def test_a_draw_whose_runs_failed_is_a_failed_trial_and_comes_again(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched(draws=2))
    pack = trainer.take()
    assert pack is not None
    for run in pack.runs:
        leave(folder, run, None, "failed")
    trainer.packs.ended(pack.name)
    assert trainer.told() == []
    assert trainer.states() == [TrialState.FAIL]
    again = Trainer(folder, searched(draws=2)).take()
    assert again is not None
    assert again.runs == pack.runs


def test_a_search_whose_every_run_fails_comes_to_its_end(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched(draws=4))
    while (pack := trainer.take()) is not None:
        for run in pack.runs:
            leave(folder, run, None, "failed")
        trainer.packs.ended(pack.name)
    assert trainer.states() == [TrialState.FAIL] * 4
    assert len(Trainer(folder, searched(draws=4)).packs._waiting) == 4


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, 1.5e308])
@pytest.mark.parametrize("status", ["done", "diverged"])
def test_a_score_that_is_not_finite_is_a_failed_trial_and_a_kept_result(
    score: float, status: str, tmp_path: Path
) -> None:
    """In the launch that trains it and in later ones; 1.5e308 is finite, but the sum of two of them is not."""
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched(draws=6))
    first = trainer.take()
    assert first is not None
    for run in first.runs:
        leave(folder, run, score, status)
    trainer.packs.ended(first.name)
    assert trainer.states() == [TrialState.FAIL]
    second = trainer.take()
    assert second is not None
    trainer.train(second)

    again = Trainer(folder, searched(draws=6))
    assert again.states() == [TrialState.FAIL, TrialState.COMPLETE]
    again.train_all()
    assert [pack.runs[0].draw for pack in again.asked] == [2, 3, 4, 5], "the result of draw 0 was not kept"


def test_one_nan_among_the_seeds_of_a_draw_fails_the_draw(tmp_path: Path) -> None:
    trainer = Trainer(open_folder(tmp_path), searched(draws=1))
    pack = trainer.take()
    assert pack is not None
    trainer.train(pack, lambda _, seed: math.nan if seed else 1.0)
    assert trainer.states() == [TrialState.FAIL]


def test_a_failed_run_leaves_the_mean_to_the_others(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched(draws=1))
    pack = trainer.take()
    assert pack is not None
    leave(folder, pack.runs[0], 3.0)
    leave(folder, pack.runs[1], None, "failed")
    trainer.packs.ended(pack.name)
    assert trainer.told() == [3.0]


def test_a_repeated_draw_is_not_trained_twice(tmp_path: Path) -> None:
    """Two values and six draws: the search ends all the same, and each run was trained once."""
    methods = {METHOD: {"learning_rate": {"choice": [1e-3, 1e-4]}, "epsilon": 0.1}}
    trainer = Trainer(open_folder(tmp_path), searched(draws=6, methods=methods))
    trainer.train_all()
    trained = [run.run_id for pack in trainer.asked for run in pack.runs]
    assert len(trained) == len(set(trained)) <= 4
    assert len(trainer.plan.values[METHOD]) == 6


def test_methods_take_turns(tmp_path: Path) -> None:
    methods = {name: {"learning_rate": {"log_uniform": [1e-5, 1e-1]}} for name in ("epsilon_greedy", "mulex")}
    trainer = Trainer(open_folder(tmp_path), searched(draws=3, methods=methods))
    trainer.train_all()
    assert [pack.method for pack in trainer.asked] == ["epsilon_greedy", "mulex"] * 3


def test_it_finds_more_than_random_draws_do(tmp_path: Path) -> None:
    """The last half of 80 draws on a known objective, in the mean, is better than any of 200 times 40 random draws."""
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched(draws=80, seeds=1))
    trainer.train_all()
    space = trainer.plan.spec.space(METHOD)
    found = [objective(values, 0) for values in trainer.plan.values[METHOD]][40:]
    random = [
        statistics.fmean(objective(values, 0) for values in RandomSearch(seed, 40, {}).draw(METHOD, space))
        for seed in range(200)
    ]
    assert statistics.fmean(found) > max(random)


class TestARealSweep:
    """On Ray."""

    pytestmark = RAY_MARKS

    def test_it_is_searched_interrupted_and_continued(self, tmp_path: Path) -> None:
        """Two draws; then a run is lost and four draws are wanted: half a draw and two new ones are trained."""
        out, folder = tmp_path / "out", open_folder(tmp_path / "out")
        answer = launch(searched(draws=2), out)
        assert answer.code == 0, answer.text
        drawn = json.loads((out / draws_name(METHOD)).read_text())
        runs = tables(out)["runs"].set_index(["draw", "seed"])
        assert sorted(runs.index) == [(0, 0), (0, 1), (1, 0), (1, 1)]
        assert [runs["learning_rate"][draw, 0] for draw in (0, 1)] == [values["learning_rate"] for values in drawn]
        before = run_files(out)

        lost = runs["run"][1, 1]
        (out / run_name(METHOD, lost)).unlink()
        assert mulex("verify", str(out)).code == 1
        answer = launch(searched(draws=4), out)
        assert answer.code == 0, answer.text
        assert mulex("verify", str(out)).code == 0
        after = run_files(out)
        assert len(after) == 8
        assert {run for run in before if before[run] == after[run]} == set(before) - {lost}
        assert json.loads((out / draws_name(METHOD)).read_text())[:2] == drawn
        assert len({json.dumps(values) for values in json.loads((out / draws_name(METHOD)).read_text())}) == 4

        trainer = Trainer(folder, searched(draws=4))
        scores = tables(out)["runs"].groupby("draw")["normalised_auc"].mean()
        assert trainer.told() == pytest.approx(scores.tolist())
        assert trainer.take() is None
