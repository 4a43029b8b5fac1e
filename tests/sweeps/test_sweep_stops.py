"""However a sweep is stopped, by Ctrl-C, a lost lease or a disk, it leaves what the next launch goes on from."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mulex.store import lease as lease_module
from tests.support.slow import SLOW
from tests.support.sweeps import (
    RAY_MARKS,
    Plain,
    Process,
    assert_same_tables,
    gym_spec,
    launch,
    mulex,
    progress,
    run_files,
    tiny,
    train_alone,
    wait_until,
    write_spec,
)

pytest_plugins = ["tests.support.ray_plugin"]
pytestmark = RAY_MARKS


class TestStopping:
    """However a launch is stopped, the next one goes on, and the result is that of a sweep never stopped."""

    def test_ctrl_c_leaves_checkpoints_and_the_next_launch_goes_on(self, tmp_path: Path) -> None:
        long = tiny(training={"iterations": 250}, search={"draws": 1, "seeds": 1}, execution={"max_concurrent": 2})
        out, spec, slow = tmp_path / "out", write_spec(tmp_path, long), tmp_path / "slow"
        slow.touch()
        env = {"MULEX_SLOW_WHILE": str(slow)}
        with Process("sweep", spec, "--out", str(out), "--cpus", "2", env=env) as process:
            wait_until(lambda: len(progress(out)) == 2, 120, "two packs in training")
            process.signal(signal.SIGINT)
            answer = process.wait()
        assert answer.code == 130, answer.text
        assert f"continue with: mulex resume {out}" in answer.text
        assert "Traceback" not in answer.text
        assert len(list(out.glob("checkpoints/*/*.npz"))) == 2
        assert not run_files(out)
        assert json.loads((out / "leases/00000001.json").read_text())["released"]
        reached = {int(path.name[:8]) for path in out.glob("checkpoints/*/*.npz")}
        assert all(0 < iteration < 250 for iteration in reached)
        train_alone(long, tmp_path / "alone")
        answer = mulex("resume", str(out))
        assert answer.code == 0, answer.text
        assert_same_tables(out, tmp_path / "alone")
        assert not list(out.glob("checkpoints/*/*.npz"))

    def test_a_launch_that_lost_its_lease_stops_and_leaves_the_sweep_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As one that was frozen while another took over: it trains no more, and writes no tables."""
        monkeypatch.setattr(lease_module, "RENEW_SECONDS", 0.1)
        out = tmp_path / "out"
        control = tmp_path / "control.json"
        spec = gym_spec(control, search={"draws": 1, "seeds": 1}, training={"iterations": 100_000})
        with taken_over_when_training(out):
            answer = launch(spec, out)
        assert answer.code == 2, answer.text
        assert "this launcher no longer has the sweep (another launcher has taken it over)" in answer.text
        assert json.loads((out / "leases/00000002.json").read_text())["holder"] == "another"
        assert not (out / "runs.parquet").exists()
        assert not run_files(out)


@contextmanager
def taken_over_when_training(out: Path) -> Iterator[None]:
    """Another launcher's lease appears once a pack is in training."""
    text = (
        "import json, pathlib, sys, time; out = pathlib.Path(sys.argv[1])\n"
        "while not list(out.glob('progress/*.json')): time.sleep(0.05)\n"
        "found = json.loads((out / 'leases/00000001.json').read_text())\n"
        "(out / 'other').write_text(json.dumps(found | {'holder': 'another'}))\n"
        "(out / 'other').rename(out / 'leases/00000002.json')\n"
    )
    with subprocess.Popen([sys.executable, "-c", text, str(out)]) as process:
        yield
        assert process.wait(10) == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)]
    mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"mounting is not permitted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def remount(place: Path, options: str) -> bool:
    """Change a file system while it is used; not possible while a file of it is open for writing."""
    command = ["mount", "-o", f"remount,{options}", str(place)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class TestStorage:
    """A disk that is full or read-only stops a sweep with a message, and it goes on when there is room."""

    FULL: Plain = tiny(search={"draws": 1}, training={"iterations": 8}, execution={"checkpoint_every": 1e-3})

    def test_a_full_disk(self, small_disk: Path, tmp_path: Path) -> None:
        out = small_disk / "out"
        answer = launch(self.FULL, out)
        assert answer.code == 1, answer.text
        assert "No space left on device" in answer.text
        assert f"continue with: mulex resume {out}" in answer.text
        assert "Traceback" not in answer.text
        assert not list(small_disk.rglob("*.part"))
        assert remount(small_disk, "size=50m")
        answer = mulex("resume", str(out))
        assert answer.code == 0, answer.text
        train_alone(self.FULL, tmp_path / "alone")
        assert_same_tables(out, tmp_path / "alone")

    def test_a_disk_that_is_full_at_the_start(self, small_disk: Path, tmp_path: Path) -> None:
        (small_disk / "ballast").write_bytes(bytes(400_000))
        with (small_disk / "ballast").open("ab") as file, pytest.raises(OSError, match="No space"):
            file.write(bytes(40_000))
            file.flush()
        answer = mulex("sweep", write_spec(tmp_path, self.FULL), "--out", str(small_disk / "out"))
        assert answer.code == 2, answer.text
        assert "No space left on device" in answer.text
        assert "Traceback" not in answer.text

    @SLOW
    def test_storage_that_becomes_read_only(self, small_disk: Path, tmp_path: Path) -> None:
        """The launcher cannot even take its lease back; but a dead process's lease is in nobody's way."""
        assert remount(small_disk, "size=50m")
        out = small_disk / "out"
        some = {"draws": 1, "seeds": 1}
        long = tiny(
            search=some, training={"iterations": 30, "steps_per_iteration": 2000}, execution={"checkpoint_every": 0.1}
        )
        spec = write_spec(tmp_path, long)
        with Process("sweep", spec, "--out", str(out), "--cpus", "1") as process:
            wait_until(lambda: progress(out), what="a pack in training")
            wait_until(lambda: remount(small_disk, "ro"), what="a moment without a write")
            answer = process.wait()
        assert answer.code in (1, 2), answer.text
        assert "Read-only file system" in answer.text
        assert f"continue with: mulex resume {out}" in answer.text
        assert "Traceback" not in answer.text
        answer = mulex("resume", str(out))
        assert answer.code == 2
        assert "Read-only file system" in answer.text
        assert remount(small_disk, "rw")
        answer = mulex("resume", str(out))
        assert answer.code == 0, answer.text
        train_alone(long, tmp_path / "alone")
        assert_same_tables(out, tmp_path / "alone")
