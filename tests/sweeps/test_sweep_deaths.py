"""Workers that die, hang or are frozen, and environments with errors of their own: on a real Ray."""

import json
import signal
import time
from pathlib import Path

import pytest

from mulex.store.run_file import LONGEST_ERROR
from sweeps.execution import silence
from sweeps.execution.silence import FIRST_LIMIT, LEAST_LIMIT, PACE_FACTOR, SilenceWatch
from tests.support.broken_env import arm, reset_seed
from tests.support.slow import SLOW
from tests.support.sweeps import (
    RAY_MARKS,
    Plain,
    Process,
    assert_same_tables,
    gym_spec,
    launch,
    mulex,
    plan_of,
    progress,
    tables,
    tiny,
    train_alone,
    wait_until,
    write_spec,
)

pytest_plugins = ["tests.support.ray_plugin"]
pytestmark = RAY_MARKS


def broken(tmp_path: Path, how: str, **execution: object) -> tuple[Plain, Path]:
    """A sweep of two runs of which the second is broken in some way."""
    control = tmp_path / "control.json"
    one_alone = {"draws": 2, "seeds": 1}
    spec = gym_spec(control, search=one_alone, training={"iterations": 3}, execution=execution)
    arm(control, {reset_seed(list(plan_of(spec).runs())[1].run_id, 12): how})
    return spec, control


class TestDeaths:
    """The end of a launch is decided by the store alone, not by what a dead worker said last."""

    @pytest.mark.parametrize("how", ["exit", "sys.exit", "segfault", "kill"])
    def test_a_run_whose_worker_always_dies_has_failed(self, how: str, tmp_path: Path) -> None:
        spec, _ = broken(tmp_path, f"always {how}")
        out = tmp_path / "out"
        answer = launch(spec, out)
        assert answer.code == 1, answer.text
        victim = list(plan_of(spec).runs())[1]
        assert f"failed: epsilon_greedy in broken, draw 1, seed 0 ({victim.run_id})" in answer.text
        assert "2 of 2 runs, 0 running, 1 failed" in answer.text
        assert f"mulex status {out} --run {victim.run_id}" in answer.text
        assert not list((out / "progress").glob("*"))
        assert "1 failed" in mulex("status", str(out)).text
        assert mulex("verify", str(out)).code == 1

    @pytest.mark.parametrize(("how", "says"), [("denied", "Permission denied"), ("full", "No space left on device")])
    def test_an_environments_own_error_is_no_trouble_of_the_storage(self, how: str, says: str, tmp_path: Path) -> None:
        """Only the run that met it fails."""
        spec, _ = broken(tmp_path, how)
        answer = launch(spec, tmp_path / "out")
        assert answer.code == 1, answer.text
        runs = tables(tmp_path / "out")["runs"].set_index("draw")
        assert runs["status"].tolist() == ["done", "failed"]
        assert says in runs["error"][1]
        assert "stopped:" not in answer.text

    @SLOW
    def test_markup_and_escapes_in_a_long_error_are_shown_as_they_are(self, tmp_path: Path) -> None:
        """Of its five million characters 64,000 are kept, and fewer are shown."""
        spec, _ = broken(tmp_path, "markup")
        out = tmp_path / "[red]out[/nothing]"
        for answer in (launch(spec, out), mulex("status", str(out)), mulex("status", str(out), "--run", victim(spec))):
            assert "[/bold] [red]no[/nothing]" in answer.text
            assert "\x1b" not in answer.text
            assert len(answer.text) < 20_000
        assert tables(out)["runs"]["error"].str.len().max() == LONGEST_ERROR
        assert str(out) in launch(spec, out).text


def victim(spec: Plain) -> str:
    """The run that is broken."""
    return list(plan_of(spec).runs())[1].run_id


class TestSilence:
    """A worker that reports nothing for too long is killed, and its pack is tried again."""

    @SLOW
    @pytest.mark.parametrize("how", ["hang", "freeze"])
    def test_a_silent_worker_is_replaced_and_nothing_differs(self, how: str, tmp_path: Path) -> None:
        spec, control = broken(tmp_path, how, max_failures=1, silence_limit=8)
        out, often = tmp_path / "out", {"MULEX_REPORT_SECONDS": "0.01"}
        with Process("sweep", write_spec(tmp_path, spec), "--out", str(out), "--cpus", "1", env=often) as process:
            answer = process.wait(200)
        assert answer.code == 0, answer.text
        assert "no sign of life for 8 s, so its worker was killed" in answer.text
        assert json.loads(control.read_text()) == {}, "it struck"
        train_alone(spec, tmp_path / "alone")
        assert_same_tables(out, tmp_path / "alone")

    @SLOW
    def test_a_run_that_always_hangs_has_failed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(silence, "START_SECONDS", 10.0)
        spec, _ = broken(tmp_path, "always hang", max_failures=1, silence_limit=10)
        answer = launch(spec, tmp_path / "out")
        assert answer.code == 1, answer.text
        assert f"({victim(spec)}): no sign of life for 10 s, so its worker was killed" in answer.text

    def test_the_default_follows_the_pace_of_the_reports(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = [0.0]
        monkeypatch.setattr(time, "monotonic", lambda: clock[0])
        watch = SilenceWatch(None, print)
        assert watch.limit == FIRST_LIMIT
        watch._longest = 1.0
        assert watch.limit == LEAST_LIMIT
        watch._longest = 90.0
        assert watch.limit == 90.0 * PACE_FACTOR
        assert SilenceWatch(4.0, print).limit == 4.0


class TestSignals:
    """A closed terminal and a kill end a launch like Ctrl-C: with checkpoints, and exit code 130."""

    LONG: Plain = tiny(training={"iterations": 400, "steps_per_iteration": 2000}, search={"draws": 1, "seeds": 1})

    @SLOW
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_while_packs_are_trained(self, number: signal.Signals, tmp_path: Path) -> None:
        """A terminal that is closed tells everybody in it, Ray's processes too."""
        out = tmp_path / "out"
        with Process("sweep", write_spec(tmp_path, self.LONG), "--out", str(out), "--cpus", "1") as process:
            wait_until(lambda: progress(out), what="a pack in training")
            process.signal_all(number) if number == signal.SIGHUP else process.signal(number)
            answer = process.wait()
        assert answer.code == 130, answer.text
        assert "Traceback" not in answer.text
        assert len(list(out.glob("checkpoints/*/*.npz"))) == 1
        assert not list((out / "progress").glob("*"))

    @SLOW
    @pytest.mark.parametrize("moment", ["session_*", "session_*/logs/raylet.out"])
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    @pytest.mark.parametrize("everybody", [False, True])
    def test_while_ray_starts(self, moment: str, number: signal.Signals, everybody: bool, tmp_path: Path) -> None:
        """A batch system tells every process of a job, a terminal all in its foreground."""
        out = tmp_path / "out"
        with Process("sweep", write_spec(tmp_path, self.LONG), "--out", str(out), "--cpus", "1") as process:
            wait_until(lambda: list(process.ray_folder.glob(f"ray/{moment}")), what="a Ray that starts")
            process.signal_all(number) if everybody else process.signal(number)
            answer = process.wait()
        assert answer.code == 130, answer.text
        assert "Traceback" not in answer.text
        assert f"continue with: mulex resume {out}" in answer.text
        assert (out / "spec.yaml").exists()
        assert not list(out.glob("runs/*/*"))
