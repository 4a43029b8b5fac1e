"""The webhook at the end of a launch, on a real HTTP server."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from sweeps import notify as module
from sweeps.api import Outcome
from sweeps.notify import notify
from sweeps.spec.execution import Notify


class Server(HTTPServer):
    """Remembers what it is sent, and answers as it is told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.got: list[tuple[str, dict[str, Any]]] = []
        self.code = 200
        self.free = threading.Event()
        self.free.set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Answering(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, json.loads(body)))
        self.server.free.wait(10)
        self.send_response(self.server.code)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.free.set()
    server.shutdown()
    thread.join()
    server.server_close()


def outcome(**changes: Any) -> Outcome:
    failed = SimpleNamespace(error="ValueError: no\nmore of it")
    plain: dict[str, Any] = {"folder": "out/main", "done": 8, "failed": 0, "diverged": 0, "missing": 0}
    plain |= {"interrupted": False, "storage_error": None, "strangers": ()}
    failures = [(None, failed)] if changes.get("failed") else []
    return Outcome(**{**plain, **changes}, status=SimpleNamespace(failures=failures))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "event", "text"),
    [
        ({}, "done", "sweep main done: 8 done (out/main)"),
        ({"failed": 2, "diverged": 1}, "failed", "sweep main failed: 8 done, 2 failed, 1 diverged (out/main)"),
        ({"interrupted": True, "missing": 5}, "stopped", "sweep main stopped: 8 done, 5 missing (out/main)"),
        ({"storage_error": "disk full", "failed": 1}, "stopped", "sweep main stopped: 8 done, 1 failed (out/main)"),
    ],
)
def test_each_end_is_told(changes: dict[str, Any], event: str, text: str, server: Server) -> None:
    assert notify(Notify(webhook=server.address), "main", outcome(**changes)) is None
    [(path, got)] = server.got
    assert (path, got["event"], got["text"]) == ("/hook", event, text)
    wanted = {name: changes.get(name, {"done": 8}.get(name, 0)) for name in ("done", "failed", "diverged", "missing")}
    assert {name: got[name] for name in wanted} == wanted
    assert got["error"] == changes.get("storage_error", "ValueError: no" if changes.get("failed") else None)


def test_only_what_was_asked_for(server: Server) -> None:
    assert notify(Notify(webhook=server.address, on=["failed"]), "main", outcome()) is None
    assert notify(None, "main", outcome()) is None
    assert server.got == []


def test_an_address_in_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_HOOK", server.address)
    assert notify(Notify(webhook="$MY_HOOK"), "main", outcome()) is None
    assert len(server.got) == 1
    monkeypatch.delenv("MY_HOOK")
    assert "the environment variable MY_HOOK holds no" in (notify(Notify(webhook="$MY_HOOK"), "main", outcome()) or "")


def test_trouble_is_a_line_and_no_more(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that refuses, one that never answers, and none at all."""
    server.code = 500
    assert "HTTP Error 500" in (notify(Notify(webhook=server.address), "main", outcome()) or "")
    server.free.clear()
    monkeypatch.setattr(module, "TIME_LIMIT", 0.05)
    assert "timed out" in (notify(Notify(webhook=server.address), "main", outcome()) or "")
    assert "refused" in (notify(Notify(webhook="http://127.0.0.1:1/"), "main", outcome()) or "")
