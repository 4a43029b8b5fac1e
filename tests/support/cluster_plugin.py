"""A pytest plugin: the one Ray cluster that the tests of the cluster layer share."""

from collections.abc import Iterator

import pytest

from tests.support.ray_cluster import RayCluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayCluster]:
    """A head that trains nothing itself; tests add nodes, and take them away again."""
    started = RayCluster(cpus=0)
    yield started
    started.close()
