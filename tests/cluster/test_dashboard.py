"""What a user sees of a sweep in Ray's own dashboard: the job with its metadata, and the packs by name.

MULEX_SLOW_TESTS=1 MULEX_PICTURE=docs/pictures/ray-dashboard.png pytest tests/cluster/test_dashboard.py
"""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.support.browser import CHROMIUM, Browser
from tests.support.ray_cluster import RayCluster
from tests.support.slow import SLOW
from tests.support.sweeps import Plain, progress, tiny, wait_until, write_spec

pytest_plugins = ["tests.support.cluster_plugin"]
pytestmark = [
    SLOW,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
]

COOKIE = "ray-authentication-token"
LONG: Plain = {
    **tiny(training={"iterations": 100_000}, search={"draws": 1, "seeds": 2}, execution={"max_concurrent": None}),
    "name": "seen",
}


def test_job_metadata_and_packs_are_seen(cluster: RayCluster, tmp_path: Path) -> None:
    nodes = [cluster.add_node(), cluster.add_node()]
    cluster.wait_for_nodes(3)
    out = cluster.place / "sweeps" / "seen"
    submit = ("submit", write_spec(tmp_path, LONG), "--address", cluster.url, "--storage", str(out))
    assert cluster.mulex(*submit).code == 0
    packs = wait_until(lambda: len(found := progress(out)) == 2 and [pack["pack"] for pack in found], 90, "two packs")
    (job,) = (job for job in json.loads(cluster.get("/api/jobs/", cluster.token)[1]) if "seen" in job["submission_id"])
    picture = Path(os.environ.get("MULEX_PICTURE") or tmp_path / "dashboard.png")
    asyncio.run(look(cluster, job, packs, picture))
    assert picture.stat().st_size > 10_000
    import requests

    stop = f"{cluster.url}/api/jobs/{job['submission_id']}/stop"
    assert requests.post(stop, headers={"Authorization": f"Bearer {cluster.token}"}, timeout=10).ok
    wait_until(lambda: len(list(out.glob("checkpoints/*"))) == 2, 60, "checkpoints of both packs")
    for node in nodes:
        node.end()


async def look(cluster: RayCluster, job: Plain, packs: list[str], picture: Path) -> None:
    """As a person would: without the token, then with it; the job's page, with its metadata open, and its actors."""
    async with Browser(height=1420) as browser:
        locked = await browser.text_of(f"{cluster.url}/#/jobs", ["oken"])
        assert job["submission_id"] not in locked
        await browser.set_cookie(cluster.url, COOKIE, cluster.token)
        await browser.text_of(f"{cluster.url}/?again#/jobs", [job["submission_id"], "RUNNING", "seen: 2 methods"])
        await browser.text_of(f"{cluster.url}/?actors#/actors", ["PackTrainable", *[f"pack {pack}" for pack in packs]])
        page = f"{cluster.url}/?job#/jobs/{job['job_id']}"
        name = '"job_name": "seen: 2 methods x 1 draw x 2 seeds in 1 world = 4 runs"'
        await browser.text_of(page, [job["submission_id"], "RUNNING", "User-provided metadata", name, "Actor Table"])
        for section in ("Logs", "Task Timeline (beta)", "Cluster status and autoscaler", "Actor Table"):
            await browser.click(section)  # closes it, or opens it
        await browser.wait_for(["PackTrainable", *[f"pack {pack}" for pack in packs]])
        await asyncio.sleep(2)  # sections close and open slowly
        await browser.picture(picture)
