"""A real S3 server on loopback (moto's), which can deny writes, answer slowly, or stop answering.

Tests use the fixtures `s3_server`, one a test process, and `s3_bucket`, a new bucket with its URL for each test. The
environment of the test names the server, so processes that the test starts find it too.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

WRITES = ("PUT", "POST", "DELETE")
DENIED = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
Environ = dict[str, Any]


class S3Server:
    """The server and its faults; faults may be changed while it runs."""

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app  # a second that most tests don't need
        from werkzeug.serving import WSGIRequestHandler, make_server

        class QuietHandler(WSGIRequestHandler):
            """Keeps connections open, and logs nothing."""

            protocol_version = "HTTP/1.1"

            def log(self, type: str, message: str, *args: object) -> None:
                """Say nothing."""

        self.deny_writes = False
        """Answer every write with 403."""
        self.deny_all = False
        """Answer everything with 403."""
        self.latency: Callable[[str, str], float] = lambda method, path: 0.0
        """The seconds to wait before a request, given its HTTP method and path, is served."""
        self.requests = 0
        self._silent_until = 0.0
        self._hangs = False
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=QuietHandler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="s3", daemon=True)
        self._thread.start()

    def stop_answering(self, seconds: float, hang: bool = False) -> None:
        """Close every connection unanswered for some seconds, or let requests hang until then."""
        self._silent_until, self._hangs = time.monotonic() + seconds, hang

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which clients find this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def make_bucket(self) -> str:
        """Make a new bucket and return its name."""
        import boto3

        name = f"bucket-{uuid.uuid4().hex[:12]}"
        client = boto3.client("s3", endpoint_url=self.endpoint, region_name="us-east-1",
                              aws_access_key_id="test", aws_secret_access_key="test")  # fmt: skip
        with _closing(client):
            client.create_bucket(Bucket=name)
        return name

    def heal(self) -> None:
        """End all faults."""
        self.deny_writes = self.deny_all = False
        self.latency, self._silent_until = lambda method, path: 0.0, 0.0

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.requests += 1
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        time.sleep(self.latency(method, path))
        while time.monotonic() < self._silent_until:
            if not self._hangs:
                with suppress(OSError):
                    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
                raise ConnectionResetError("out of order")  # werkzeug then says nothing
            time.sleep(0.05)
        if self.deny_all or (self.deny_writes and method in WRITES):
            with suppress(OSError):
                environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("403 Forbidden", [("Content-Type", "application/xml"), ("Content-Length", str(len(DENIED)))])
            return [b"" if method == "HEAD" else DENIED]
        answer: Iterable[bytes] = self._moto(environ, start_response)
        return answer


@contextmanager
def _closing(client: Any) -> Iterator[None]:
    try:
        yield
    finally:
        client.close()


@contextmanager
def found_by_clients(server: S3Server) -> Iterator[None]:
    """Point this process, and those that it starts, to the server."""
    import s3fs

    before = {name: os.environ.get(name) for name in server.environment}
    os.environ.update(server.environment)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        yield
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One server for all tests of this process."""
    server = S3Server()
    yield server
    server.close()


@pytest.fixture
def s3_bucket(s3_server: S3Server) -> Iterator[str]:
    """The URL of a new, empty bucket, such as s3://bucket-0123456789ab."""
    s3_server.heal()
    with found_by_clients(s3_server):
        yield f"s3://{s3_server.make_bucket()}"
        s3_server.heal()
