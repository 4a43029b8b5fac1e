"""Submit jobs to the head of a Ray cluster and follow them; every error is one line."""

import asyncio
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import click

from mulex.errors import UserError
from sweeps.execution.cluster import PATIENCE
from sweeps.execution.token import REFUSED, use_token

PORTS = {"http": 80, "https": 443}
LOOK_SECONDS = 1.0
INTERRUPTED = 130


class JobClient:
    """Ray's own job client, for a head that listens and accepts our token."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        _check_listens(self.address)
        use_token(make=False)
        from ray.job_submission import JobSubmissionClient

        for name in ("ray", "ray.dashboard.modules.dashboard_sdk", "ray.dashboard.modules.job.sdk"):
            logging.getLogger(name).setLevel(logging.WARNING)  # the files that it uploads need no mention
        with self._explained():
            self._client = JobSubmissionClient(self.address)

    def submit(self, request: dict[str, Any]) -> str:
        """Submit a job; returns its id."""
        with self._explained():
            return str(self._client.submit_job(**request))

    def follow(self, job: str) -> int:
        """Print a job's log until it ends; returns the exit code of the job's own process."""
        with self._explained():
            asyncio.run(self._print_log(job))
            while not (info := self._client.get_job_info(job)).status.is_terminal():
                time.sleep(LOOK_SECONDS)
        if info.status == "SUCCEEDED":
            return 0
        if info.status == "STOPPED":
            return INTERRUPTED
        if info.driver_exit_code is None:
            click.echo(f"the job did not start: {info.message}", err=True)
        return info.driver_exit_code or 1

    async def _print_log(self, job: str) -> None:
        async for lines in self._client.tail_job_logs(job):
            click.echo(lines, nl=False)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from ray.exceptions import AuthenticationError
        from requests.exceptions import RequestException

        try:
            yield
        except AuthenticationError:
            raise UserError(f"--address {self.address}: {REFUSED}") from None
        except (RuntimeError, ConnectionError, ValueError, RequestException) as error:
            lines = str(error).strip().splitlines() or [repr(error)]
            raise UserError(f"--address {self.address}: {lines[-1]}") from None


def _check_listens(address: str) -> None:
    """Refuse an address where nobody listens, for which Ray itself would wait for minutes."""
    try:
        parts = urlsplit(address)
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError("expected the head's dashboard, for example http://10.0.0.1:8265")
        socket.create_connection((parts.hostname, parts.port or PORTS[parts.scheme]), timeout=PATIENCE).close()
    except (OSError, ValueError) as error:
        raise UserError(f"--address {address}: no Ray head answers there ({error})") from None
