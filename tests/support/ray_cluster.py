"""A real Ray cluster on this machine, made of `ray start` as on any other: a head, and nodes that come and go.

Each cluster has a home with a token of its own, ports of its own and a folder of its own, so it meets no other Ray.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ray.util import get_node_ip_address

from tests.support.sweeps import FAULTS, Answer, Plain, clean_environment, end_session, processes_of, wait_until

RAY = str(Path(sys.executable).with_name("ray"))
STORE = "--object-store-memory=80000000"  # bytes; Ray's own default is a third of the machine


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Node:
    """One `ray start --block` in a session of its own."""

    def __init__(self, arguments: Sequence[str], env: dict[str, str], log: Path, before: Sequence[str] = ()) -> None:
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [*before, RAY, "start", "--block", "--disable-usage-stats", STORE, *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )

    @property
    def raylet(self) -> int | None:
        """The process that keeps its workers, once there is one."""
        for pid in processes_of(self.process.pid):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == "raylet":
                    return pid
        return None

    def kill_raylet(self) -> None:
        """As when a spot machine is taken away: no word of goodbye."""
        os.kill(wait_until(lambda: self.raylet, what="a raylet"), signal.SIGKILL)

    def end(self) -> None:
        """And everything that it started; a node that says goodbye is missed at once."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        end_session(self.process.pid)
        self.process.wait()


class RayCluster:
    """A head with its dashboard and its token; `close` ends all of it."""

    def __init__(self, cpus: int = 0, env: dict[str, str] | None = None, autoscaling: Plain | None = None) -> None:
        self.place = Path(tempfile.mkdtemp(dir="/tmp", prefix="c"))
        self.home = self.place / "home"
        self.home.mkdir()
        self.nodes: list[Node] = []
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # a job runs the python of its head's PATH
        own = {"HOME": str(self.home), "RAY_TMPDIR": str(self.place), "PATH": path}
        self.env = {**clean_environment(), **own, **(env or {})}
        self.slow = self.place / "slow"
        """While there is this file, workers rest after each iteration."""
        nodes = {"RAY_AUTH_MODE": "token", "PYTHONPATH": str(self._without_mulex()), "MULEX_SLOW_WHILE": str(self.slow)}
        self.node_env = {**self.env, **nodes, **(env or {})}
        made = self.mulex("token")
        assert made.code == 0, made.text
        self.port, self.dashboard_port = free_port(), free_port()
        head = ["--head", f"--port={self.port}", f"--dashboard-port={self.dashboard_port}"]
        head += [f"--autoscaling-config={self._write(autoscaling)}"] if autoscaling else []
        self.head = self._start([*head, f"--temp-dir={self.place}", f"--num-cpus={cpus}"])
        self.url = f"http://127.0.0.1:{self.dashboard_port}"
        wait_until(self._answers, what="the head's dashboard")

    def _write(self, autoscaling: Plain) -> Path:
        """For a provider whose nodes are processes here, which must be told where the head is."""
        path = self.place / "autoscaling.json"
        provider = {**autoscaling["provider"], "gcs_address": f"{get_node_ip_address()}:{self.port}"}
        path.write_text(json.dumps({**autoscaling, "provider": provider}))
        return path

    def _without_mulex(self) -> Path:
        """Nodes where the package is broken, so that what they run is what a job brings."""
        for package in ("mulex", "sweeps", "cluster"):
            broken = self.place / "broken" / package
            broken.mkdir(parents=True)
            (broken / "__init__.py").write_text("raise ImportError('this node has a broken mulex')")
        shutil.copy(FAULTS / "sitecustomize.py", self.place / "broken")
        return self.place / "broken"

    @property
    def address(self) -> str:
        """For `ray.init`, and for nodes that join."""
        return f"{get_node_ip_address()}:{self.port}"

    @property
    def token(self) -> str:
        return (self.home / ".ray" / "auth_token").read_text()

    def add_node(self, cpus: int = 1, *options: str, before: Sequence[str] = ()) -> Node:
        """Another machine, as far as Ray knows."""
        folder = f"--temp-dir={self.place}/n{len(self.nodes)}"  # nodes that start together would share sockets
        return self._start([f"--address={self.address}", folder, f"--num-cpus={cpus}", *options], before)

    def _start(self, arguments: list[str], before: Sequence[str] = ()) -> Node:
        ports = ["--dashboard-agent-listen-port=0"]
        log = self.place / f"node-{len(self.nodes)}.log"
        node = Node([*arguments, *ports], self.node_env, log, before)
        self.nodes.append(node)
        return node

    def _answers(self) -> bool:
        assert self.head.process.poll() is None, (self.place / "node-0.log").read_text()
        return self.get("/api/version", self.token)[0] == 200

    def get(self, path: str, token: str | None = None) -> tuple[int, str]:
        """A plain HTTP request to the dashboard: status and body; 0 if nobody answers."""
        import requests

        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            answer = requests.get(self.url + path, headers=headers, timeout=10)
        except requests.ConnectionError:
            return 0, ""
        return answer.status_code, answer.text

    def mulex(self, *arguments: str, env: dict[str, str] | None = None, seconds: float = 120) -> Answer:
        """The command as its user meets it, in a process of its own."""
        return run([sys.executable, "-m", "cluster.cli", *arguments], {**self.env, **(env or {})}, seconds)

    def alive_nodes(self) -> list[dict[str, Any]]:
        """As the dashboard lists them."""
        status, text = self.get("/api/v0/nodes", self.token)
        assert status == 200, text
        found: list[dict[str, Any]] = json.loads(text)["data"]["result"]["result"]
        return [node for node in found if node["state"] == "ALIVE"]

    def wait_for_nodes(self, number: int, seconds: float = 60) -> None:
        """The head among them."""
        wait_until(lambda: len(self.alive_nodes()) == number, seconds, f"a cluster of {number} nodes")

    def close(self) -> None:
        for node in reversed(self.nodes):
            node.end()
        shutil.rmtree(self.place, ignore_errors=True)


def run(command: Sequence[str], env: dict[str, str], seconds: float = 120) -> Answer:
    """A command to its end; what it says on both channels, in order."""
    began = time.monotonic()
    ended = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False
    )
    assert time.monotonic() - began < seconds
    return Answer(ended.returncode, ended.stdout)
