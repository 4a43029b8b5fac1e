"""The Python API: launch, resume and status without a command, in a thread, and from a dict."""

import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

import sweeps
from mulex.errors import UserError
from mulex.store.folder import open_folder
from mulex.store.layout import run_name
from mulex.store.lease import Lease, SweepBusy
from tests.support.broken_env import arm, reset_seed
from tests.support.sweeps import (
    RAY_MARKS,
    assert_same_tables,
    begin_pack,
    gym_spec,
    plan_of,
    run_files,
    tiny,
    train_alone,
)

pytest_plugins = ["tests.support.ray_plugin"]


class TestImporting:
    """The packages' front doors are documented, complete and light."""

    def test_it_loads_nothing_until_it_is_used(self) -> None:
        code = "import sys, sweeps; print(dir(sweeps)); print(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        names, modules = done.stdout.splitlines()
        assert {"launch", "load_spec", "resume", "status"} <= set(eval(names))
        assert not set(modules.split()) & {"torch", "ray", "pandas", "sweeps.api", "rich"}

    def test_every_name_is_there_and_documented(self) -> None:
        for name in sweeps.__all__:
            assert getattr(sweeps, name).__doc__, name
        with pytest.raises(AttributeError, match="no_such_name"):
            sweeps.no_such_name  # noqa: B018


class TestStatus:
    """What is known of a sweep without training anything."""

    def test_a_folder_that_is_no_sweep_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="not a sweep's folder"):
            sweeps.status(tmp_path)

    def test_every_planned_run_has_a_row(self, tmp_path: Path) -> None:
        folder, plan = open_folder(tmp_path), plan_of(tiny())
        train_alone(tiny(), tmp_path)
        sweeps_spec = sweeps.load_spec(tiny())
        from sweeps.inventory import freeze_spec, record_failure

        freeze_spec(folder, sweeps_spec)
        runs = list(plan.runs())
        for run in runs[:3]:
            folder.remove(run_name(run.method, run.run_id))
        record_failure(folder, plan, runs[0], "ValueError: no", "hash", 1)
        begin_pack(plan, [runs[1]], folder, iterations=1)
        status = sweeps.status(tmp_path)
        table = status.runs.set_index("run")
        names = ["run", "world", "method", "draw", "seed", "role", "status", "score", "iteration", "error"]
        assert list(status.runs) == names
        assert len(table) == 8
        assert table.loc[runs[0].run_id, ["status", "error"]].tolist() == ["failed", "ValueError: no"]
        assert table.loc[runs[2].run_id, "status"] == "pending"
        done = table[table["status"] == "done"]
        assert len(done) == 5
        assert (done["iteration"] == 4).all()
        collected = pd.read_parquet(tmp_path / "runs.parquet").set_index("run")["normalised_auc"]
        pd.testing.assert_series_equal(done["score"], collected[done.index], check_names=False)
        assert (status.count("done"), status.count("failed"), status.count("pending"), status.total) == (5, 1, 2, 8)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestLaunching:
    """On the tests' Ray."""

    pytestmark = RAY_MARKS

    def test_a_sweep_from_a_dict_prints_nothing_and_says_what_came_of_it(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        outcome = sweeps.launch(tiny(), tmp_path / "out")
        assert capfd.readouterr().out == ""
        assert (outcome.done, outcome.failed, outcome.diverged, outcome.missing) == (8, 0, 0, 0)
        assert (outcome.interrupted, outcome.storage_error, outcome.exit_code) == (False, None, 0)
        assert outcome.folder == str(tmp_path / "out")
        assert (outcome.status.runs["status"] == "done").all()
        train_alone(tiny(), tmp_path / "alone")
        assert_same_tables(tmp_path / "out", tmp_path / "alone")
        before = run_files(tmp_path / "out")
        assert sweeps.resume(tmp_path / "out").exit_code == 0
        assert run_files(tmp_path / "out") == before

    def test_it_runs_in_a_thread(self, tmp_path: Path) -> None:
        """Where no signal can be listened to."""
        outcomes: list[sweeps.Outcome] = []
        spec = tiny(search={"draws": 1, "seeds": 1})
        thread = threading.Thread(target=lambda: outcomes.append(sweeps.launch(spec, tmp_path)))
        thread.start()
        thread.join(120)
        assert [outcome.exit_code for outcome in outcomes] == [0]

    def test_progress_is_shown_where_it_is_asked_for(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        spec = tiny(search={"draws": 1, "seeds": 1})
        sweeps.launch(spec, tmp_path)
        more = {**spec, "search": {"draws": 2, "seeds": 1}}
        sweeps.launch(more, tmp_path, progress=True)
        assert "added: search.draws: 1 -> 2" in capsys.readouterr().out

    def test_failures_are_counted_and_named(self, tmp_path: Path) -> None:
        control = tmp_path / "control.json"
        spec = gym_spec(control, search={"draws": 1, "seeds": 2}, training={"iterations": 2})
        victim = list(plan_of(spec).runs())[1]
        arm(control, {reset_seed(victim.run_id, 12): "raise"})
        outcome = sweeps.launch(spec, tmp_path / "out")
        assert (outcome.done, outcome.failed, outcome.exit_code) == (1, 1, 1)
        assert [run.run_id for run, _ in outcome.status.failures] == [victim.run_id]

    def test_another_launcher_is_an_error(self, tmp_path: Path) -> None:
        with Lease(open_folder(tmp_path)), pytest.raises(SweepBusy):
            sweeps.launch(tiny(), tmp_path)
