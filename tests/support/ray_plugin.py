"""A pytest plugin: the one Ray that all tests in a process share."""

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

from tests.support.sweeps import clean_environment


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """One Ray for all tests in this process. Its workers report often, and find the tests."""
    import ray

    import sweeps.execution  # noqa: F401  (settings that Ray reads when it is imported)

    folder = tempfile.mkdtemp(dir="/tmp", prefix="r")
    before = dict(os.environ)
    os.environ.update(clean_environment() | {"RAY_TMPDIR": folder, "MULEX_REPORT_SECONDS": "0.2"})
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="CRITICAL")
    yield
    ray.shutdown()
    os.environ.clear()
    os.environ.update(before)
    shutil.rmtree(folder, ignore_errors=True)
