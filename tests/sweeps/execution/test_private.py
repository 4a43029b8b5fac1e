"""An embedded Ray is its user's alone: its folder is closed to others, and its ports are on loopback."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from mulex.errors import UserError
from sweeps.execution.private_folder import is_private, private_ray_folder
from sweeps.execution.scratch import PREFIX, remove_leftovers, scratch_folder
from tests.support.sweeps import clean_environment, end_session

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
needs_root = pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs a second user")

STARTS_RAY = """
import sys
from sweeps.execution.cluster import Cluster, connected
with connected(Cluster(cpus=1, dashboard=True)):
    print("up", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def like_tmp() -> Iterator[Path]:
    """A folder in which everybody may write."""
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="o"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One for a test alone."""
    with like_tmp() as folder:
        yield folder


@pytest.fixture(scope="module")
def ray_folder() -> Iterator[Path]:
    """The one in which the tests' Ray makes its private folder."""
    with like_tmp() as folder:
        yield folder


@pytest.fixture(scope="module")
def ray(ray_folder: Path) -> Iterator[subprocess.Popen]:
    """A process with an embedded Ray and its dashboard."""
    env = {**clean_environment(), "RAY_TMPDIR": str(ray_folder)}
    command = [sys.executable, "-c", STARTS_RAY]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
        process.communicate("end\n", timeout=60)
        end_session(process.pid)


@needs_root
def test_another_user_cannot_enter_the_sessions(ray: subprocess.Popen, ray_folder: Path) -> None:
    folder = ray_folder / f"mulex-{os.getuid()}"
    session = (folder / "ray" / "session_latest").resolve()
    assert session.stat().st_mode & 0o002, "Ray itself would let everybody in"
    for attempt in (["ls", str(folder)], ["touch", str(session / "x")], ["cat", str(session / "logs" / "raylet.out")]):
        tried = subprocess.run([*AS_NOBODY, *attempt], capture_output=True, text=True, check=False)
        assert tried.returncode != 0
        assert "Permission denied" in tried.stderr


def test_every_port_is_on_loopback(ray: subprocess.Popen) -> None:
    """Those for metrics, which the dashboard brings along, among them."""
    here = psutil.Process(ray.pid)
    processes = [here, *here.children(recursive=True)]
    listening = {
        (process.name(), connection.laddr.ip, connection.laddr.port)
        for process in processes
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert len(listening) > 5
    assert {ip.removeprefix("::ffff:") for _, ip, _ in listening} == {"127.0.0.1"}, listening


def test_a_private_folder_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert private_ray_folder() == tmp_path


def test_a_private_folder_is_made_in_one_that_is_not(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(open_folder))
    folder = private_ray_folder()
    assert folder.parent == open_folder
    assert is_private(folder)
    folder.chmod(0o777)
    assert is_private(private_ray_folder())


@needs_root
def test_a_folder_of_another_user_is_refused(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(open_folder))
    folder = open_folder / f"mulex-{os.getuid()}"
    folder.mkdir(0o700)
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(UserError, match="belongs to another user; set RAY_TMPDIR"):
        private_ray_folder()


def test_a_link_is_refused(open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may lead to a folder that its maker can exchange."""
    monkeypatch.setenv("RAY_TMPDIR", str(open_folder))
    (open_folder / f"mulex-{os.getuid()}").symlink_to(tmp_path)
    with pytest.raises(UserError, match="set RAY_TMPDIR"):
        private_ray_folder()


class TestScratch:
    """The launcher's temporary folders."""

    HOLDS = (
        "from sweeps.execution.scratch import scratch_folder\nwith scratch_folder() as f: print(f, flush=True); input()"
    )

    @pytest.fixture(autouse=True)
    def _own_temporary_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr(tempfile, "tempdir", None)

    def test_it_goes_with_the_block(self, tmp_path: Path) -> None:
        with scratch_folder() as folder:
            assert folder.parent.parent == tmp_path
        assert not list(tmp_path.iterdir())

    def test_one_that_a_dead_launcher_left_is_removed_and_a_living_ones_is_not(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", self.HOLDS]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            held = Path(process.stdout.readline().strip()).parent
            remove_leftovers()
            assert held.is_dir()
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert held.is_dir()
            remove_leftovers()
            assert not held.exists()

    def test_one_without_a_lock_is_removed_when_it_is_old(self, tmp_path: Path) -> None:
        old, new = tmp_path / f"{PREFIX}old", tmp_path / f"{PREFIX}new"
        for folder in (old, new):
            folder.mkdir()
        os.utime(old, (0, 0))
        remove_leftovers()
        assert not old.exists()
        assert new.exists()
