"""What every test shares."""

import os
import signal
import threading

import pytest

from tests.support.s3_server import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]  # fixtures

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

# Shells start background jobs deaf to Ctrl-C, and nohup makes them deaf to a closed terminal. The commands that tests
# start and interrupt would inherit that.
if threading.current_thread() is threading.main_thread():
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, default)

LONG = {"local_ray", "cluster", "ray", "s3_bucket"}
"""Fixtures of tests that take long, because they start processes and wait for them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that none is left for last."""
    items.sort(key=lambda item: LONG.isdisjoint(getattr(item, "fixturenames", ())))
