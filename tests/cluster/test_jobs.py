"""A sweep as a job on a head and its nodes, all real: machines die and join, nothing is lost and nothing differs."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from mulex.errors import UserError
from sweeps.execution.task import make_task
from sweeps.execution.trainable import PackTrainable, make_training
from tests.support.ray_cluster import Node, RayCluster
from tests.support.slow import SLOW
from tests.support.sweeps import (
    Answer,
    Plain,
    assert_same_tables,
    plan_of,
    progress,
    run_files,
    tiny,
    train_alone,
    wait_until,
    write_spec,
)

pytest_plugins = ["tests.support.cluster_plugin"]

MANY = {"max_concurrent": None, "max_failures": 20, "checkpoint_every": 0.2}
LONG: Plain = tiny(training={"iterations": 60}, search={"draws": 1, "seeds": 2}, execution=MANY)
SHORT: Plain = tiny(search={"draws": 1, "seeds": 1}, execution={"max_concurrent": None})
CAN_HIDE = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


def submit(cluster: RayCluster, plain: Plain, out: Path, *options: str) -> Answer:
    """`mulex submit`, from a terminal on another machine."""
    spec = write_spec(out.with_name(f"{out.name}-spec"), plain)
    return cluster.mulex("submit", spec, "--address", cluster.url, "--storage", str(out), *options)


def jobs(cluster: RayCluster) -> list[dict[str, Any]]:
    """As the dashboard has them."""
    status, text = cluster.get("/api/jobs/", cluster.token)
    assert status == 200
    found: list[dict[str, Any]] = json.loads(text)
    return found


def job_of(cluster: RayCluster, sweep: str) -> dict[str, Any]:
    """The last one of a sweep of this name."""
    return max(
        (job for job in jobs(cluster) if job["metadata"].get("sweep") == sweep), key=lambda job: job["start_time"]
    )


def ended_job(cluster: RayCluster, sweep: str, seconds: float = 120) -> dict[str, Any]:
    """Once it has."""
    wait_until(lambda: job_of(cluster, sweep)["status"] not in ("PENDING", "RUNNING"), seconds, "the end of the job")
    return job_of(cluster, sweep)


@pytest.fixture(scope="module")
def nodes(cluster: RayCluster) -> Iterator[list[Node]]:
    """Two of one core each, the first with more than that; what a test adds to the list ends with it, too."""
    special = ("--num-gpus=1", '--resources={"licence": 3}', "--labels=zone=east")
    started = [cluster.add_node(1, *special), cluster.add_node(1)]
    cluster.wait_for_nodes(3)
    yield started
    for node in started:
        node.end()


@SLOW
def test_resources_and_labels_reach_ray(cluster: RayCluster, nodes: list[Node], tmp_path: Path) -> None:
    asked = {"cpus_per_pack": 0.5, "gpus_per_pack": 0.5, "resources": {"licence": 2}, "placement": {"zone": "east"}}
    spec = {**SHORT, "name": "choosy", "execution": asked, "training": LONG["training"]}
    cluster.slow.touch()
    answer = submit(cluster, spec, tmp_path / "out")
    assert answer.code == 0, answer.text
    east = node_of_the_east(cluster)
    found = wait_until(lambda: placed(cluster), what="a pack that has its place")
    cluster.slow.unlink()
    assert {bundle["node_id"] for bundle in found} == {east}
    for bundle in found:
        assert bundle["unit_resources"] == {"CPU": 0.5, "GPU": 0.5, "licence": 2.0}
    assert ended_job(cluster, "choosy")["status"] == "SUCCEEDED"


def node_of_the_east(cluster: RayCluster) -> str:
    """The first of `nodes`, as Ray names it."""
    return next(str(node["node_id"]) for node in cluster.alive_nodes() if node["labels"].get("zone") == "east")


def trains_on(cluster: RayCluster, sweep: str, node: str) -> bool:
    """Whether a pack has a place there; a job that has ended already says what it printed."""
    job = job_of(cluster, sweep)
    assert job["status"] in ("PENDING", "RUNNING"), cluster.get(f"/api/jobs/{job['submission_id']}/logs", cluster.token)
    return node in {bundle["node_id"] for bundle in placed(cluster)}


def placed(cluster: RayCluster) -> list[dict[str, Any]]:
    """What packs hold on nodes at this moment."""
    status, text = cluster.get("/api/v0/placement_groups?detail=1", cluster.token)
    assert status == 200
    groups = json.loads(text)["data"]["result"]["result"]
    return [bundle for group in groups for bundle in group["bundles"] if bundle["node_id"]]


def test_a_node_dies_and_another_joins(cluster: RayCluster, nodes: list[Node], tmp_path: Path) -> None:
    out = tmp_path / "out"
    cluster.slow.touch()
    answer = submit(cluster, {**LONG, "name": "calm"}, out, "--set", "name=stormy")
    assert answer.code == 0, answer.text
    wait_until(lambda: trains_on(cluster, "stormy", node_of_the_east(cluster)) and progress(out), 120, "a pack there")
    nodes[0].kill_raylet()
    nodes.append(cluster.add_node())
    cluster.slow.unlink()
    status = cluster.mulex("status", str(out), "--json")
    assert json.loads(status.text)["total"] == 4
    job = ended_job(cluster, "stormy")
    assert job["status"] == "SUCCEEDED", job["message"]
    assert sorted(run_files(out)) == sorted(run.run_id for run in plan_of(LONG).runs())
    assert cluster.mulex("verify", str(out)).code == 0
    train_alone({**LONG, "name": "stormy"}, tmp_path / "alone")
    assert_same_tables(out, tmp_path / "alone")
    assert {"name: stormy", "  draws: 1"} <= set(job["metadata"]["spec"].splitlines())
    assert (job["metadata"]["runs"], job["metadata"]["packs"]) == ("4", "2")


@SLOW
@pytest.mark.skipif(not CAN_HIDE, reason="needs the right to mount a file system, which hides a folder from a node")
def test_storage_that_a_node_does_not_see_is_refused(cluster: RayCluster, nodes: list[Node], tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    hide = f'mount -t tmpfs none {hidden} && exec "$@"'
    nodes.append(cluster.add_node(1, before=["unshare", "--mount", "sh", "-c", hide, "sh"]))
    cluster.wait_for_nodes(4)
    answer = submit(cluster, {**SHORT, "name": "local"}, hidden / "out", "--follow")
    assert answer.code == 2
    assert f"{hidden}/out: 1 of 4 nodes do not see it" in answer.text
    assert "use a folder of a shared file system such as NFS, or a URL" in answer.text
    assert "Traceback" not in answer.text
    assert not run_files(hidden / "out")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_the_device_reaches_the_worker(tmp_path: Path) -> None:
    asked = {"device": "cuda", "engine": "torch", "gpus_per_pack": 0.25, "placement": {"zone": "east"}}
    plan = plan_of({**SHORT, "execution": asked})
    task = make_task(plan, plan.packs(list(plan.runs()), 1)[0], str(tmp_path), "hash", 1)
    request = PackTrainable.default_resource_request(task.as_config())
    assert request.bundles == [{"CPU": 1.0, "GPU": 0.25}]
    with pytest.raises(UserError, match="'cuda'"):
        make_training(task)


class TestMistakes:
    """Each is a line and exit code 2."""

    def refused(self, cluster: RayCluster, tmp_path: Path, *options: str) -> str:
        answer = cluster.mulex("submit", write_spec(tmp_path, SHORT), *options)
        assert answer.code == 2, answer.text
        assert "Traceback" not in answer.text
        return answer.text.strip().splitlines()[-1]

    @pytest.mark.parametrize("address", ["http://127.0.0.1:1", "127.0.0.1:8265"])
    def test_an_address_where_nobody_is(self, cluster: RayCluster, tmp_path: Path, address: str) -> None:
        said = self.refused(cluster, tmp_path, "--address", address, "--storage", str(tmp_path))
        assert said.startswith(f"Error: --address {address}: no Ray head answers there")

    def test_a_relative_folder(self, cluster: RayCluster, tmp_path: Path) -> None:
        said = self.refused(cluster, tmp_path, "--address", cluster.url, "--storage", "out/x")
        assert said.startswith("Error: --storage out/x: a relative path means nothing on a cluster")

    def test_the_port_of_another_service(self, cluster: RayCluster, tmp_path: Path) -> None:
        url = f"http://{cluster.address}"
        assert self.refused(cluster, tmp_path, "--address", url, "--storage", "/x").startswith(
            f"Error: --address {url}"
        )
