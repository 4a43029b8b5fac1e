"""`mulex confirm`: the best draws are trained with seeds that no tuning saw, once, whatever happens in between."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import sweeps
from mulex.errors import UserError
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import CONFIRMATION, run_name
from mulex.store.run_file import read_run_note
from mulex.store.run_store import RunStore
from sweeps.choosing import choose_draws
from sweeps.confirmation import FIRST_TEST_SEED, Confirmation, read_confirmation, write_confirmation
from sweeps.inventory import freeze_spec, take_stock
from sweeps.packs import AdaptivePacks
from sweeps.plan import Plan, make_plan
from tests.support.slow import SLOW
from tests.support.sweeps import (
    RAY_MARKS,
    Plain,
    Process,
    as_spec,
    assert_same_tables,
    begin_pack,
    end_session,
    files,
    mulex,
    run_files,
    tables,
    tiny,
    train_alone,
    train_run,
    wait_until,
)
from tests.sweeps.test_inventory import leave

pytest_plugins = ["tests.support.ray_plugin"]
PLAIN = tiny(search={"draws": 4})


def scored(folder: Folder, scores: dict[str, Sequence[Sequence[float | None]]], plain: Plain = PLAIN) -> Plan:
    """A sweep whose runs have these scores by method, draw and seed; None is a run that is not there."""
    spec = as_spec(plain)
    freeze_spec(folder, spec)
    plan = make_plan(spec, folder)
    for run in plan.runs():
        of_draw = scores[run.method][run.draw] if run.draw < len(scores[run.method]) else [None, None]
        if (score := of_draw[run.seed]) is not None:
            leave(folder, run, normalised_auc=score)
    return plan


class TestChoice:
    """The best draws by their mean tuning score, among those that are finished."""

    def test_the_highest_means_are_chosen_the_best_first(self, tmp_path: Path) -> None:
        folder = open_folder(tmp_path)
        low_high = {"epsilon_greedy": [(0.1, 0.1), (0.5, 0.9), (0.6, 0.6), (0.9, 0.0)], "mulex": [(0.2, 0.2)] * 4}
        chosen = choose_draws(scored(folder, low_high), folder, top=2, seeds=3)
        assert chosen == Confirmation({"small": {"epsilon_greedy": [1, 2], "mulex": [0, 1]}}, 3)

    def test_unfinished_draws_and_those_without_a_score_are_not_chosen(self, tmp_path: Path) -> None:
        folder = open_folder(tmp_path)
        plan = scored(folder, {"epsilon_greedy": [(0.9, None), (0.1, 0.1), (float("nan"), 0.8)], "mulex": []})
        failed = plan.run("small", "epsilon_greedy", 3, 0), plan.run("small", "epsilon_greedy", 3, 1)
        leave(folder, failed[0], normalised_auc=1.0)
        leave(folder, failed[1], "failed", normalised_auc=1.0)
        assert choose_draws(plan, folder, top=3, seeds=3).draws == {"small": {"epsilon_greedy": [1]}}

    def test_a_later_choice_adds_draws_and_seeds_and_takes_nothing_away(self) -> None:
        first = Confirmation({"a": {"m": [3, 1]}}, 5)
        assert first.joined(Confirmation({"a": {"m": [2, 3], "n": [0]}, "b": {"m": [1]}}, 3)) == Confirmation(
            {"a": {"m": [3, 1, 2], "n": [0]}, "b": {"m": [1]}}, 5
        )
        assert first.joined(Confirmation({}, 9)) == Confirmation({"a": {"m": [3, 1]}}, 9)

    def test_without_a_finished_draw_nothing_is_written(self, tmp_path: Path) -> None:
        scored(open_folder(tmp_path), {"epsilon_greedy": [(0.9, None)], "mulex": []})
        before = files(tmp_path)
        answer = mulex("confirm", str(tmp_path))
        assert answer.code == 2
        assert "no draw has finished with all its 2 tuning seeds" in answer.text
        assert f"mulex resume {tmp_path}" in answer.text
        assert files(tmp_path) == before

    @pytest.mark.parametrize("wrong", [["--top", "0"], ["--seeds", "0"], ["--seeds", "10001"], ["--top", "few"]])
    def test_wrong_numbers_are_refused(self, wrong: list[str], tmp_path: Path) -> None:
        assert mulex("confirm", str(tmp_path), *wrong).code == 2
        assert not list(tmp_path.iterdir())

    def test_a_folder_that_is_no_sweep_is_refused(self, tmp_path: Path) -> None:
        assert mulex("confirm", str(tmp_path)).code == 2
        with pytest.raises(UserError, match="seeds: got 0"):
            sweeps.confirm(tmp_path, seeds=0)

    def test_tuning_with_test_seeds_is_refused(self, tmp_path: Path) -> None:
        plain = tiny(search={"first_seed": FIRST_TEST_SEED - 1})
        freeze_spec(open_folder(tmp_path), as_spec(plain))
        answer = mulex("confirm", str(tmp_path))
        assert answer.code == 2
        assert "1,000,000,000 on are kept for testing" in answer.text

    @pytest.mark.parametrize(
        "content",
        [
            "{",
            "[]",
            '{"draws": {"small": {"mulex": [9]}}, "seeds": 2, "first_seed": 1000000000}',
            '{"draws": {"large": {"mulex": [0]}}, "seeds": 2, "first_seed": 1000000000}',
            '{"draws": {"small": [0]}, "seeds": 2, "first_seed": 1000000000}',
            '{"draws": {"small": {"mulex": [true]}}, "seeds": 2, "first_seed": 1000000000}',
            '{"draws": {}, "seeds": 2, "first_seed": 7}',
        ],
    )
    def test_a_damaged_choice_is_refused_by_every_command(self, content: str, tmp_path: Path) -> None:
        freeze_spec(open_folder(tmp_path), as_spec(PLAIN))
        (tmp_path / CONFIRMATION).write_text(content)
        for command in ("resume", "confirm", "status", "verify"):
            answer = mulex(command, str(tmp_path))
            assert answer.code == 2, command
            assert CONFIRMATION in answer.text


class TestPlan:
    """Test runs are planned runs like others, with a role."""

    def plan(self, seeds: int = 5, **changes: Plain) -> Plan:
        plan = make_plan(as_spec(tiny(**{"search": {"draws": 4}, **changes})), open_folder("/nonexistent"))
        plan.confirmation = Confirmation({"small": {"mulex": [2, 0], "epsilon_greedy": [1]}}, seeds)
        return plan

    def test_test_runs_have_the_ids_of_their_values_and_seeds(self) -> None:
        plan = self.plan()
        tests = [run for run in plan.runs() if run.role == "test"]
        assert len(tests) == 15
        assert {run.seed for run in tests} == set(range(FIRST_TEST_SEED, FIRST_TEST_SEED + 5))
        assert [(run.method, run.draw) for run in tests[::5]] == [("epsilon_greedy", 1), ("mulex", 2), ("mulex", 0)]
        for run in tests:
            config = plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed)
            assert config.run_id == run.run_id

    def test_packs_have_one_role_and_no_more_runs_than_tuning_packs(self) -> None:
        plan = self.plan()
        packs = plan.packs(list(plan.runs()), 1)
        assert all(len({run.role for run in pack.runs}) == 1 and len(pack.runs) <= 2 for pack in packs)
        assert sum(len(pack.runs) for pack in packs) == len(list(plan.runs())) == 16 + 15

    def test_a_draw_that_is_repeated_is_confirmed_once(self) -> None:
        methods = {"mulex": {"epsilon": {"choice": [0.1]}}, "epsilon_greedy": {"epsilon": 0.1}}
        plan = self.plan(methods=methods)
        assert sum(run.role == "test" for run in plan.runs()) == 10

    def test_the_file_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        folder, chosen = open_folder(tmp_path), Confirmation({"small": {"mulex": [2, 0]}}, 5)
        assert read_confirmation(folder) == Confirmation()
        write_confirmation(folder, chosen)
        assert read_confirmation(folder) == chosen

    def test_adaptive_searches_do_not_learn_from_test_runs(self, tmp_path: Path) -> None:
        folder = open_folder(tmp_path)
        spec = as_spec(tiny(search={"algorithm": "tpe", "draws": 3}))
        first = AdaptivePacks(make_plan(spec, folder), folder)
        assert first.next() is not None  # a draw of epsilon_greedy
        write_confirmation(folder, Confirmation({"small": {"epsilon_greedy": [0]}}, 4))
        again = AdaptivePacks(make_plan(spec, folder), folder)
        pack = again.next()
        assert pack is not None
        assert [run.role for run in pack.runs] == ["tune", "tune"]
        assert [run.seed for run in pack.runs] == [0, 1]

    def test_rows_of_earlier_versions_are_tuning_runs(self, tmp_path: Path) -> None:
        folder, plan = open_folder(tmp_path), make_plan(as_spec(tiny()), open_folder("/nonexistent"))
        run = next(iter(plan.runs()))
        name = leave(folder, run)
        assert read_run_note(folder, name).row["role"] == "tune"


class TestStatus:
    """Test runs are counted as runs, and stay out of the scores of tuning runs."""

    def test_best_and_median_are_those_of_tuning_runs(self, tmp_path: Path) -> None:
        folder = open_folder(tmp_path)
        scored(folder, {"epsilon_greedy": [(0.25, 0.5)] * 4, "mulex": [(0.25, 0.5)] * 4})
        write_confirmation(folder, Confirmation({"small": {"mulex": [0]}}, 2))
        plan = make_plan(as_spec(PLAIN), folder)
        test = next(run for run in plan.runs() if run.role == "test")
        leave(folder, test, normalised_auc=1.0, role="test")
        status = sweeps.status(tmp_path)
        line = next(line for line in status.lines if line.method == "mulex")
        assert (line.done, line.pending, line.best, line.median) == (9, 1, 0.5, 0.375)
        assert status.runs["role"].value_counts().to_dict() == {"tune": 16, "test": 2}
        assert (status.tests("done"), status.tests("pending")) == (1, 1)
        assert take_stock(RunStore(folder), plan).strangers == []


class TestTraining:
    """With a real Ray."""

    pytestmark = RAY_MARKS

    def test_it_trains_once_adds_and_goes_on_after_a_stop(self, tmp_path: Path) -> None:
        out, folder, plain = tmp_path / "out", open_folder(tmp_path / "out"), tiny()
        train_alone(plain, out)
        freeze_spec(folder, as_spec(plain))
        answer = mulex("confirm", str(out), "--top", "1", "--seeds", "3")
        assert answer.code == 0, answer.text
        assert answer.text.count("confirmed with 3 test seeds") == 2
        before = files(out)
        assert mulex("confirm", str(out), "--top", "1", "--seeds", "3").code == 0
        assert files(out, "runs") == {name: at for name, at in before.items() if name.startswith("runs/")}
        runs = pd.read_parquet(out / "runs.parquet")
        assert runs["role"].value_counts().to_dict() == {"tune": 8, "test": 6}

        whole = tmp_path / "whole"
        shutil.copytree(out, whole)
        plan = make_plan(as_spec(plain), folder)
        stopped = plan.packs([run for run in plan.runs() if run.role == "test"], 1)[0]
        for run in stopped.runs:
            folder.remove(run_name(run.method, run.run_id))
        begun = begin_pack(plan, list(stopped.runs), folder, iterations=2)
        assert mulex("resume", str(out)).code == 0
        starts = pd.read_parquet(out / "runs.parquet").set_index("run")["started_at"]
        assert {starts[run.run_id].isoformat() for run in stopped.runs} == {begun}
        assert_same_tables(out, whole)

        outcome = sweeps.confirm(out, top=2, seeds=3)
        assert (outcome.done, outcome.missing, outcome.exit_code) == (12, 0, 0)
        new = tables(out)["runs"]
        old = new[new["run"].isin(runs["run"])].reset_index(drop=True)
        pd.testing.assert_frame_equal(old, tables(whole)["runs"])
        alone = tmp_path / "alone"
        for run in (plan := make_plan(as_spec(plain), folder)).runs():
            train_run(plan, run, open_folder(alone))
        pd.testing.assert_frame_equal(collected(alone), new)

    def test_only_test_runs_are_trained_where_the_tuning_is_not_finished(self, tmp_path: Path) -> None:
        folder = open_folder(tmp_path)
        plan = scored(folder, {"epsilon_greedy": [(0.5, 0.5)], "mulex": []})
        outcome = sweeps.confirm(tmp_path, top=1, seeds=1)
        assert (outcome.done, outcome.missing, outcome.exit_code) == (1, 0, 0)
        assert len(take_stock(RunStore(folder), plan).missing) == 14


def collected(out: Path) -> pd.DataFrame:
    """The table of runs that these run files give."""
    from mulex.store.collecting import collect_tables

    collect_tables(open_folder(out))
    return tables(out)["runs"]


@SLOW
def test_confirm_that_is_killed_goes_on_and_trains_every_test_run_once(tmp_path: Path) -> None:
    """With kill -9 of the launcher and all its workers, while some test runs are done and others are not."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    plain = tiny(training={"iterations": 30, "steps_per_iteration": 400}, execution={"checkpoint_every": 0.2})
    train_alone(plain, out)
    freeze_spec(open_folder(out), as_spec(plain))
    shutil.copytree(out, whole)
    tuned = set(run_files(out))
    command = "confirm", "--top", "1", "--seeds", "6", "--cpus", "1"
    with Process(*command, str(out)) as killed:
        wait_until(lambda: killed.ended or set(run_files(out)) - tuned, 240, "a test run was finished")
        wait_until(lambda: killed.ended or list(out.glob("checkpoints/*/*.npz")), 240, "a checkpoint")
        assert not killed.ended, killed.text
        killed.kill()
        end_session(killed.process.pid)
    done = {run: at for run, at in run_files(out).items() if run not in tuned}
    assert 0 < len(done) < 12
    assert (out / "confirm.json").exists()
    with Process("resume", "--cpus", "1", str(out)) as resumed:
        answer = resumed.wait(300)
    assert answer.code == 0, answer.text
    assert {run: at for run, at in run_files(out).items() if run in done} == done, "finished runs are left alone"
    runs = pd.read_parquet(out / "runs.parquet")
    tests = runs[runs["role"] == "test"]
    assert len(tests) == 12
    assert sorted(tests["seed"].unique()) == list(range(FIRST_TEST_SEED, FIRST_TEST_SEED + 6))
    assert not tests.duplicated(["method", "seed"]).any()
    with Process(*command, str(whole)) as undisturbed:
        assert undisturbed.wait(300).code == 0
    assert_same_tables(out, whole)
