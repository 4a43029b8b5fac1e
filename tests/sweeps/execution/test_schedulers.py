"""Schedulers compare packs at rungs, which are numbers of iterations."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ray.tune.experiment import Trial

import analysis
import sweeps
from analysis.statistics import compute_statistics
from mulex.errors import UserError
from mulex.store.folder import Folder, open_folder
from mulex.store.provenance import provenance
from mulex.store.run_file import RunFile, curve_table, write_run_file
from mulex.store.run_store import RunStore
from sweeps.execution.schedulers import RungScheduler, make_scheduler, unstoppable
from sweeps.execution.task import make_task
from sweeps.inventory import freeze_spec
from sweeps.plan import PlannedRun, make_plan
from sweeps.rung_scores import stored_scores
from sweeps.spec.execution import Scheduler
from tests.support.sweeps import as_spec, mulex, plan_of, tiny, write_spec
from tests.sweeps.test_inventory import leave


class Packs:
    """The packs of a spec with a scheduler, which report scores as a test says."""

    def __init__(self, scheduler: Any, iterations: int = 100, draws: int = 12) -> None:
        execution = {"scheduler": scheduler}
        self.plan = plan_of(tiny(training={"iterations": iterations}, search={"draws": draws}, execution=execution))
        self.packs = [p for p in self.plan.packs(list(self.plan.runs()), 1) if p.method == "mulex"]
        made = make_scheduler(self.plan.spec)
        assert made is not None
        self.scheduler: RungScheduler = made

    def report(self, pack: int, iteration: int, score: float, **more: Any) -> str:
        task = make_task(self.plan, self.packs[pack], "/nowhere", "hash", 1)
        trial = Trial("packs", config=task.as_config(), stub=True)
        return self.scheduler.on_trial_result(None, trial, {"iteration": iteration, "score": score, **more})


@pytest.mark.parametrize(
    ("settings", "iterations", "rungs"),
    [
        ({}, 800, (80, 320)),
        ({"grace": 5, "factor": 2}, 40, (5, 10, 20)),
        ({"grace": 5, "factor": 2, "rungs": 2}, 40, (5, 10)),
        ({"grace": 2, "factor": 1.2}, 6, (2, 3, 4, 5)),
        ({"grace": 40}, 40, ()),
        ({}, 1, ()),
    ],
)
def test_rungs_are_grace_times_powers_of_the_factor(settings: Any, iterations: int, rungs: tuple[int, ...]) -> None:
    assert Scheduler(name="asha", **settings).rungs_of(iterations) == rungs


def test_workers_report_exactly_at_the_rungs_of_their_world() -> None:
    packs = Packs({"name": "asha", "grace": 3, "factor": 3})
    assert make_task(packs.plan, packs.packs[0], "/nowhere", "hash", 1).rungs == (3, 9, 27, 81)
    plain = plan_of(tiny())
    assert make_task(plain, plain.packs(list(plain.runs()), 1)[0], "/nowhere", "hash", 1).rungs == ()


def test_reports_between_rungs_decide_nothing() -> None:
    packs = Packs({"name": "asha", "grace": 10, "factor": 2})
    packs.report(0, 10, 1.0)
    assert packs.report(1, 9, 0.0) == "CONTINUE"
    assert packs.report(1, 11, 0.0) == "CONTINUE"
    assert packs.report(1, 10, 0.0) == "STOP"


def test_asha_keeps_the_best_share_of_those_that_were_at_a_rung() -> None:
    packs = Packs({"name": "asha", "grace": 10, "factor": 2})
    said = [packs.report(i, 10, score) for i, score in enumerate([0.5, 0.4, 0.6, 0.45, 0.55])]
    assert said == ["CONTINUE", "STOP", "CONTINUE", "STOP", "CONTINUE"]  # medians: -, 0.5, 0.45, 0.5, 0.475
    assert packs.scheduler.stopped == 2
    assert packs.report(0, 20, 0.1) == "CONTINUE"  # the first one at the next rung


def test_median_stopping_waits_for_three_others() -> None:
    packs = Packs({"name": "median_stopping", "grace": 10})
    said = [packs.report(i, 10, score) for i, score in enumerate([0.5, 0.4, 0.6, 0.45, 0.5])]
    assert said == ["CONTINUE", "CONTINUE", "CONTINUE", "STOP", "CONTINUE"]


def test_hyperband_lets_some_packs_pass_the_first_rungs() -> None:
    packs = Packs({"name": "hyperband", "grace": 2, "factor": 2}, draws=60)
    brackets = [packs.scheduler._bracket(pack.name, 3) for pack in packs.packs]
    assert set(brackets) == {0, 1, 2}
    assert brackets.count(0) > brackets.count(1) > 0
    late = brackets.index(2)
    for pack in range(60):
        packs.report(pack, 2, 1.0)
    assert packs.report(late, 2, 0.0) == "CONTINUE"


def test_a_pack_that_goes_on_from_a_checkpoint_says_how_it_was_at_earlier_rungs() -> None:
    packs = Packs({"name": "asha", "grace": 10, "factor": 2})
    assert packs.report(0, 15, 0.9, passed=[(10, 0.8)]) == "CONTINUE"
    assert packs.report(0, 17, 0.9, passed=[(10, 0.8)]) == "CONTINUE"
    assert packs.report(1, 10, 0.7) == "STOP"
    assert packs.report(2, 10, 0.75) == "CONTINUE"  # the median of 0.8 and 0.7, each counted once


def test_a_pack_that_is_at_a_rung_again_after_a_loss_counts_once() -> None:
    packs = Packs({"name": "asha", "grace": 10, "factor": 2})
    assert [packs.report(0, 10, 0.5), packs.report(1, 10, 0.9), packs.report(0, 10, 0.5)] == ["CONTINUE"] * 3
    assert packs.report(2, 10, 0.7) == "CONTINUE"


def leave_curve(folder: Folder, run: PlannedRun, status: str, returns: list[float | None]) -> None:
    """A run file with this curve."""
    common = {"run": run.run_id, "world": run.world, "method": run.method, "draw": run.draw, "seed": run.seed}
    row = common | {"status": status, "error": None, "auc": 1.0, "seconds": 2.0, "iterations": len(returns)}
    rows = [common | {"iteration": i + 1, "eval_return": x, "seconds": 1.0} for i, x in enumerate(returns)]
    moment = {"started_at": datetime(2026, 1, 1, tzinfo=UTC)} | provenance()
    write_run_file(folder, RunFile(row | moment, curve_table(rows), {}))


def test_packs_of_earlier_launches_are_compared_with(tmp_path: Path) -> None:
    """Finished and stopped runs count with what they scored at the rungs they passed; failed ones do not."""
    folder, packs = open_folder(tmp_path), Packs({"name": "asha", "grace": 2, "factor": 2}, iterations=8)
    curves: list[tuple[str, list[float | None]]] = [
        ("done", [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("stopped", [0.25, None]),
        ("failed", [9.0] * 8),
    ]
    for pack, (status, returns) in zip(packs.packs, curves, strict=False):
        for run in pack.runs:
            leave_curve(folder, run, status, [x if x is None else x + run.seed for x in returns])
    found = {scores.pack: scores.scores for scores in stored_scores(packs.plan, RunStore(folder))}
    assert found == {packs.packs[0].name: {2: 1.0, 4: 1.25}, packs.packs[1].name: {2: 0.375}}
    assert packs.scheduler.remember(stored_scores(packs.plan, RunStore(folder))) == 2
    assert packs.report(3, 2, 0.6) == "STOP", "0.6875 is the median of those two"
    assert packs.report(4, 2, 0.7) == "CONTINUE"
    assert packs.report(4, 4, 1.2) == "STOP"


def test_without_a_scheduler_no_run_is_read(tmp_path: Path) -> None:
    plan = plan_of(tiny())
    assert list(stored_scores(plan, RunStore(open_folder(tmp_path)))) == []


def test_test_runs_are_never_stopped() -> None:
    packs = Packs({"name": "asha", "grace": 2})
    tests = replace(packs.packs[0], runs=tuple(replace(run, role="test") for run in packs.packs[0].runs))
    assert make_task(packs.plan, packs.packs[0], "/nowhere", "hash", 1).rungs
    assert make_task(packs.plan, tests, "/nowhere", "hash", 1).rungs == ()


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"training": {"iterations": 1}}, "asha can stop no pack in small: its runs have 1 iterations, and the first"),
        ({"search": {"draws": 1}}, "asha can stop no pack: a method has 1 pack in a world, and 2 are needed"),
        ({"execution": {"scheduler": "median_stopping"}}, "median_stopping can stop no pack: a method has 2 packs"),
    ],
)
def test_a_sweep_whose_packs_cannot_be_stopped_says_so(changes: Any, line: str) -> None:
    spec = as_spec(tiny(**{"execution": {"scheduler": "asha"}, **changes}))
    (said,) = unstoppable(spec)
    assert said.startswith(line)
    assert unstoppable(as_spec(tiny(execution={"scheduler": "asha"}))) == []


@pytest.mark.parametrize(
    ("scheduler", "word"),
    [
        ("best", "scheduler"),
        ({"name": "asha", "grace": 0}, "grace"),
        ({"name": "asha", "factor": 1}, "factor"),
        ({"name": "asha", "grcae": 3}, "grcae: no such key"),
    ],
)
def test_wrong_settings_are_refused(scheduler: Any, word: str, tmp_path: Any) -> None:
    answer = mulex("validate", write_spec(tmp_path, tiny(execution={"scheduler": scheduler})))
    assert answer.code == 2
    assert word in answer.text


def test_a_stopped_run_counts_for_the_same_in_status_and_in_statistics(tmp_path: Path) -> None:
    """It is done and not trained again; its score, of fewer iterations, is in no best and no median."""
    folder = open_folder(tmp_path)
    freeze_spec(folder, as_spec(tiny()))
    plan = make_plan(as_spec(tiny()), folder)
    for run in plan.runs():
        leave(folder, run, "stopped" if run.draw else "done", normalised_auc=0.9 if run.draw else 0.25 + run.seed / 4)
    status = sweeps.status(tmp_path)
    assert [(line.done, line.pending, line.best, line.median) for line in status.lines] == [(4, 0, 0.5, 0.375)] * 2
    stats = analysis.stats(str(tmp_path)).set_index(["method", "measure"])["value"]
    for method in plan.spec.methods:
        assert (stats[method, "best"], stats[method, "median"]) == (0.5, 0.375)
    counts = compute_statistics(analysis.load(str(tmp_path))).counts
    assert counts[["done", "stopped", "missing"]].to_numpy().tolist() == [[2, 2, 0]] * 2
    with pytest.raises(UserError, match="there are no test runs"):
        analysis.confirmed(str(tmp_path))
