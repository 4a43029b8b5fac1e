"""Ray's autoscaler really starts and stops nodes for a sweep: from none to two and back; they are processes here.

MULEX_SLOW_TESTS=1 pytest tests/cluster/test_autoscaler.py
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ray_cluster import RayCluster
from tests.support.slow import SLOW
from tests.support.sweeps import ROOT, Plain, Process, run_files, tiny, write_spec

pytestmark = SLOW

HEAD = "f" * 51 + "00000"  # the id that Ray's fake provider gives its head
PROVIDER = "ray.autoscaler._private.fake_multi_node.node_provider.FakeMultiNodeProvider"
SPEC: Plain = tiny(training={"iterations": 200}, search={"draws": 1, "seeds": 1}, execution={"max_concurrent": None})
CONFIG: Plain = {
    "cluster_name": "fake",
    "max_workers": 2,
    "upscaling_speed": 10,
    "idle_timeout_minutes": 0.05,
    "provider": {"type": "external", "module": PROVIDER, "launch_multiple": True, "head_node_id": HEAD},
    **{f"{who}_commands": [] for who in ("initialization", "setup", "head_setup", "worker_setup")},
    **{f"{who}_start_ray_commands": [] for who in ("head", "worker")},
    "cluster_synced_files": [],
    "file_mounts": {},
    "file_mounts_sync_continuously": False,
    "rsync_exclude": [],
    "rsync_filter": [],
    "docker": {},
    "auth": {},
    "head_node_type": "ray.head.default",
    "available_node_types": {
        "ray.head.default": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
        "worker": {"resources": {"CPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": 2},
    },
}


@pytest.fixture
def cluster() -> Iterator[RayCluster]:
    """A head that asks for nodes as they are needed."""
    env = {"AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_FAKE_CLUSTER": "1"}
    env["PYTHONPATH"] = str(ROOT)
    env |= {"RAY_enable_autoscaler_v2": "1", "RAY_CLOUD_INSTANCE_ID": HEAD, "RAY_OVERRIDE_NODE_ID_FOR_TESTING": HEAD}
    started = RayCluster(0, env, CONFIG)
    yield started
    started.close()


def test_nodes_come_for_a_sweep_and_go_after_it(cluster: RayCluster, tmp_path: Path) -> None:
    """Not as a job: the fake nodes share a folder for what jobs bring, and take it away from each other."""
    out = tmp_path / "out"
    cluster.wait_for_nodes(1)
    sweep = ("sweep", write_spec(tmp_path, SPEC), "--out", str(out), "--address", cluster.address)
    with Process(*sweep, env=cluster.env) as process:
        cluster.wait_for_nodes(3)
        answer = process.wait()
    assert answer.code == 0, answer.text
    assert len(run_files(out)) == 2
    cluster.wait_for_nodes(1)
