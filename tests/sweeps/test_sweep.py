"""Sweeps from end to end on a real Ray: what they leave, how they grow, and what damage does to them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from mulex.store import lease as lease_module
from mulex.store.folder import open_folder
from tests.support.sweeps import (
    RAY_MARKS,
    assert_same_bits,
    assert_same_tables,
    begin_pack,
    files,
    launch,
    mulex,
    plan_of,
    run_files,
    tables,
    tiny,
    train_alone,
    write_spec,
)

pytest_plugins = ["tests.support.ray_plugin"]
pytestmark = RAY_MARKS


@pytest.fixture(scope="module")
def finished(local_ray: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that ran undisturbed; tests that change it take a copy."""
    out = tmp_path_factory.mktemp("finished") / "out"
    answer = launch(tiny(), out)
    assert answer.code == 0, answer.text
    assert "8 of 8 runs" in answer.text
    return out


@pytest.fixture
def sweep(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished sweep."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


class TestWhatASweepLeaves:
    """Every run once, two tables, and nothing of what was needed on the way."""

    def test_every_planned_run_has_one_file(self, finished: Path) -> None:
        planned = {f"runs/{run.method}/{run.run_id}.parquet" for run in plan_of(tiny()).runs()}
        assert set(files(finished)) == planned | {"spec.yaml", "runs.parquet", "curves.parquet"}

    def test_the_tables_have_every_run_and_iteration_once(self, finished: Path) -> None:
        runs, curves = tables(finished).values()
        assert sorted(runs["run"]) == sorted(run.run_id for run in plan_of(tiny()).runs())
        assert (runs["status"] == "done").all()
        assert (runs["sweep"] == "tiny").all()
        assert not runs["spec_hash"].isna().any()
        assert curves.groupby("run")["iteration"].apply(list).tolist() == [[1, 2, 3, 4]] * 8
        assert not curves.duplicated(["run", "iteration"]).any()

    def test_each_run_is_what_it_is_when_trained_alone(self, finished: Path, tmp_path: Path) -> None:
        """Without Ray, without a pack: the curve and everything in the tables is the same, bit for bit."""
        train_alone(tiny(), tmp_path / "alone")
        assert_same_tables(finished, tmp_path / "alone")

    def test_different_seeds_and_draws_give_different_curves(self, finished: Path) -> None:
        losses = tables(finished)["curves"].groupby("run")["loss_task"].apply(tuple)
        assert len(set(losses)) == 8

    def test_launching_again_trains_nothing_and_needs_no_ray(self, sweep: Path) -> None:
        """In a process that cannot even import Ray."""
        before = run_files(sweep)
        blocked = "import sys; sys.modules['ray'] = None; from cluster.cli import main; main()"
        spec = write_spec(sweep.parent, tiny())
        command = [sys.executable, "-c", blocked, "sweep", spec, "--out", str(sweep)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        assert "8 of 8 runs" in done.stdout
        assert run_files(sweep) == before

    def test_resume_needs_only_the_folder(self, sweep: Path) -> None:
        before = run_files(sweep)
        answer = mulex("resume", str(sweep), "--json")
        assert (answer.code, answer.json["done"], answer.json["missing"]) == (0, 8, 0)
        assert run_files(sweep) == before


class TestStatus:
    """`mulex status`, `verify` and `collect`, on sweeps in every state."""

    def test_of_a_finished_sweep(self, finished: Path) -> None:
        answer = mulex("status", str(finished))
        assert answer.code == 0
        assert "8 of 8 runs, 0 running" in answer.text
        assert all(method in answer.text for method in ("epsilon_greedy", "mulex"))

    def test_as_json(self, finished: Path) -> None:
        said = json.loads(mulex("status", str(finished), "--json").text)
        assert (said["sweep"], said["total"], said["failures"], said["damaged"]) == ("tiny", 8, [], [])
        runs = tables(finished)["runs"].groupby("method")["normalised_auc"]
        for line in said["lines"]:
            assert (line["done"], line["running"], line["failed"], line["pending"]) == (4, 0, 0, 0)
            assert line["best"] == runs.max()[line["method"]]
            assert line["median"] == pytest.approx(runs.median()[line["method"]])

    def test_of_one_run(self, finished: Path) -> None:
        row = tables(finished)["runs"].iloc[0]
        answer = mulex("status", str(finished), "--run", row["run"][:10])
        assert answer.code == 0
        for word in (row["run"], f"{row['epsilon']}", "learning_rate", "iteration 4"):
            assert word in answer.text

    def test_of_a_run_that_is_not_planned(self, finished: Path) -> None:
        answer = mulex("status", str(finished), "--run", "nothing")
        assert answer.code == 2
        assert "plans no such run" in answer.text

    def test_of_a_partial_sweep(self, sweep: Path) -> None:
        gone = next((sweep / "runs" / "mulex").iterdir())
        gone.unlink()
        said = json.loads(mulex("status", str(sweep), "--json").text)
        assert {line["method"]: (line["done"], line["pending"]) for line in said["lines"]} == {
            "epsilon_greedy": (4, 0),
            "mulex": (3, 1),
        }
        assert "not trained yet" in mulex("status", str(sweep), "--run", gone.stem).text
        answer = mulex("verify", str(sweep))
        assert answer.code == 1
        assert f"({gone.stem})" in answer.text
        assert "7 done, 0 diverged, 0 failed, 1 missing, 0 damaged" in answer.text

    def test_of_a_damaged_sweep(self, sweep: Path) -> None:
        hurt = next((sweep / "runs" / "mulex").iterdir())
        hurt.write_bytes(hurt.read_bytes()[:-7])
        name = f"runs/mulex/{hurt.name}"
        assert f"damaged: {name}" in mulex("status", str(sweep)).text
        assert json.loads(mulex("status", str(sweep), "--json").text)["damaged"] == [name]
        answer = mulex("status", str(sweep), "--run", hurt.stem)
        assert (answer.code, "damaged" in answer.text) == (2, True)
        answer = mulex("verify", str(sweep))
        assert (answer.code, f"damaged: {name}" in answer.text) == (1, True)
        answer = mulex("collect", str(sweep))
        assert answer.code == 1
        assert f"left out, damaged: {name}" in answer.text
        assert len(tables(sweep)["runs"]) == 7

    def test_verify_of_a_whole_one_and_of_one_with_a_stranger(self, sweep: Path) -> None:
        answer = mulex("verify", str(sweep))
        assert (answer.code, answer.text) == (0, "8 done, 0 diverged, 0 failed, 0 missing, 0 damaged\n")
        shutil.copy(next((sweep / "runs" / "mulex").iterdir()), sweep / "runs" / "mulex" / "copy.parquet")
        answer = mulex("verify", str(sweep))
        assert (answer.code, "not of this spec: runs/mulex/copy.parquet" in answer.text) == (1, True)

    def test_collect_makes_the_same_tables_again(self, sweep: Path, finished: Path) -> None:
        for name in ("runs.parquet", "curves.parquet"):
            (sweep / name).unlink()
        answer = mulex("collect", str(sweep))
        assert (answer.code, answer.text) == (0, "8 runs, 32 rows of curves\n")
        assert_same_tables(sweep, finished)

    @pytest.mark.parametrize("command", ["status", "verify", "collect", "resume"])
    def test_of_a_folder_that_is_no_sweep(self, command: str, tmp_path: Path) -> None:
        answer = mulex(command, str(tmp_path))
        assert answer.code == 2
        assert answer.text.startswith("Error: ")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("command", ["status", "verify", "collect", "resume", "starts"])
    def test_of_what_is_no_folder(self, command: str, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_text("mine")
        for place in (str(file), "nowhere://bucket/x"):
            answer = mulex(command, place)
            assert answer.code == 2, answer.text
            assert answer.text.startswith(f"Error: {place}: ")
        assert file.read_text() == "mine"


class TestDryRun:
    """`--dry-run` counts and prices, and trains nothing."""

    def test_of_a_new_sweep(self, tmp_path: Path) -> None:
        answer = launch(tiny(), tmp_path / "out", "--dry-run", "--cpus", "2")
        assert answer.code == 0
        assert "8 runs to train, 0 done" in answer.text
        found = re.search(r"([0-9.]+) to ([0-9.]+) core-hours: .* on 1 workers that nobody else uses", answer.text)
        assert found is not None
        assert float(found[1]) <= float(found[2])
        assert "on 1 workers" in answer.text
        assert not (tmp_path / "out").exists()

    def test_of_a_search_that_has_yet_to_ask(self, tmp_path: Path) -> None:
        answer = launch(tiny(search={"algorithm": "tpe", "draws": 3}), tmp_path / "out", "--dry-run")
        assert answer.code == 0
        assert "12 runs to train, 0 done" in answer.text

    def test_of_a_finished_one(self, sweep: Path) -> None:
        before = files(sweep)
        answer = launch(tiny(search={"draws": 3}), sweep, "--dry-run")
        assert answer.code == 0
        assert "4 runs to train, 8 done" in answer.text
        assert files(sweep) == before

    def test_it_refuses_what_the_launch_would_refuse(self, sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = files(sweep)
        changed = launch(tiny(training={"iterations": 3}), sweep, "--dry-run")
        assert (changed.code, files(sweep)) == (2, before)
        assert "was launched with another spec" in changed.text
        monkeypatch.setattr("sweeps.trackers.targets.importlib.util.find_spec", lambda name: None)
        assert launch(tiny(execution={"trackers": ["wandb"]}), sweep, "--dry-run").code == 2


class TestGrowing:
    """Only what is new is trained; whatever else would change is refused."""

    def test_draws_seeds_a_method_and_a_world_are_added(self, sweep: Path, tmp_path: Path) -> None:
        """The 8 old runs stay as they are; the tables are those of the grown sweep."""
        larger = {"map": "two_rooms", "room_size": 4, "time_limit": 30, "training": {"iterations": 2}}
        worlds = {**tiny()["worlds"], "larger": larger}
        methods = {**tiny()["methods"], "two_task_heads": {"p_1": {"uniform": [0.3, 0.7]}}}
        grown = tiny(search={"draws": 3, "seeds": 3}, worlds=worlds, methods=methods)
        before = run_files(sweep)
        answer = launch(grown, sweep)
        assert answer.code == 0, answer.text
        for word in ("search.draws: 2 -> 3", "search.seeds: 2 -> 3", "worlds.larger", "methods.two_task_heads"):
            assert f"added: {word}" in answer.text
        after = run_files(sweep)
        assert len(after) == 3 * 2 * 3 * 3
        assert before.items() <= after.items()
        assert mulex("verify", str(sweep)).code == 0
        old = tables(sweep)["curves"]
        old = old[old["run"].isin(before)].dropna(axis=1, how="all").reset_index(drop=True)
        train_alone(tiny(), tmp_path / "alone")
        assert_same_bits(old, tables(tmp_path / "alone")["curves"].dropna(axis=1, how="all"))

    def test_a_pack_that_was_begun_goes_on_when_seeds_are_added(self, tmp_path: Path) -> None:
        """Two seeds were stopped half way. They go on as the pack they were, and the third has a pack of its own."""
        out, folder = tmp_path / "out", open_folder(tmp_path / "out")
        plan = plan_of(tiny())
        begun = list(plan.runs())[:2]
        before = begin_pack(plan, begun, folder, iterations=2)
        grown = tiny(search={"seeds": 3})
        answer = launch(grown, out)
        assert answer.code == 0, answer.text
        starts = pd.read_parquet(out / "runs.parquet").set_index("run")["started_at"]
        assert all(starts[run.run_id].isoformat() == before for run in begun)
        assert (starts > starts[begun[0].run_id]).sum() == len(starts) - 2
        assert not list(out.glob("checkpoints/*/*"))
        train_alone(grown, tmp_path / "alone")
        assert_same_tables(out, tmp_path / "alone")

    def test_draws_that_repeat_each_other_are_not_missed(self, tmp_path: Path) -> None:
        """Eight draws of two values are two."""
        methods = {"epsilon_greedy": {"epsilon": {"choice": [0.1, 0.2]}}}
        assert launch(tiny(methods=methods, search={"draws": 8, "seeds": 1}), tmp_path / "out").code == 0
        answer = mulex("stats", str(tmp_path / "out"), "--json")
        (counts,) = json.loads(answer.text)["counts"]
        assert (counts["done"], counts["missing"], counts["perhaps"]) == (2, 0, 0)

    def test_checkpoints_of_runs_that_are_done_are_cleared_away(self, sweep: Path) -> None:
        plan = plan_of(tiny())
        begin_pack(plan, list(plan.runs())[:2], open_folder(sweep), iterations=1)
        assert len(list(sweep.glob("checkpoints/*/*"))) == 2
        assert launch(tiny(), sweep).code == 0
        assert not list(sweep.glob("checkpoints/*/*"))

    def test_any_other_change_is_refused_with_the_difference(self, sweep: Path) -> None:
        before = files(sweep)
        answer = launch(tiny(training={"iterations": 5}), sweep)
        assert answer.code == 2
        assert "training.iterations: 4 -> 5" in answer.text
        assert "use another --out" in answer.text
        assert files(sweep) == before

    def test_a_second_launcher_is_refused(self, sweep: Path) -> None:
        before = files(sweep)
        with lease_module.Lease(open_folder(sweep)):
            answer = launch(tiny(search={"draws": 3}), sweep)
        assert answer.code == 2
        assert f"another launcher has this sweep (process {os.getpid()}" in answer.text
        assert files(sweep) == before


class TestDamage:
    """A damaged run is found by the next launch, moved aside, and trained again."""

    def test_damaged_and_missing_runs_are_trained_again_and_are_equal(self, sweep: Path, finished: Path) -> None:
        cut, flipped, gone = (sweep / "runs" / "mulex").iterdir(), (sweep / "runs" / "epsilon_greedy").iterdir(), []
        victims = [next(cut), next(flipped), next(flipped)]
        victims[0].write_bytes(victims[0].read_bytes()[:100])
        content = bytearray(victims[1].read_bytes())
        content[len(content) // 2] ^= 16
        victims[1].write_bytes(content)
        victims[2].unlink()
        gone = {path.stem for path in victims}
        before = run_files(sweep)
        answer = mulex("resume", str(sweep))
        assert answer.code == 0, answer.text
        after = run_files(sweep)
        assert {run for run in after if after[run] != before.get(run)} == gone
        assert {path.stem for path in (sweep / "damaged").iterdir()} == {path.stem for path in victims[:2]}
        assert_same_tables(sweep, finished)
