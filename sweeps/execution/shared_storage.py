"""A sweep on several nodes needs a folder that all of them share: every node is asked before anything is trained."""

import platform
import uuid
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from mulex.errors import UserError
from mulex.store.folder import open_folder
from mulex.store.layout import SPEC

PATIENCE = 20.0  # seconds; a node that is too busy to answer is found out by its first pack
ADVICE = (
    "a sweep on several nodes needs storage that all of them share: use a folder of a shared file system such as NFS, "
    "or a URL such as s3://bucket/sweep"
)


def is_path(url: str) -> bool:
    """Whether a folder is a path, which may be another folder on another machine, unlike object storage."""
    return "://" not in url or url.startswith("file://")


def check_shared(url: str) -> None:
    """Refuse a folder that some node of the cluster does not see."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    if not is_path(url) or len(nodes) < 2:
        return
    folder, name = open_folder(url), f"seen-{uuid.uuid4().hex}"
    folder.write(name, b"")
    try:
        blind = _blind(nodes, str(Path(folder.url).resolve() / name))
    finally:
        folder.remove(name)
    if blind:
        raise UserError(f"{url}: {len(blind)} of {len(nodes)} nodes do not see it ({', '.join(blind)}); {ADVICE}")


def _blind(nodes: list[dict[str, Any]], path: str) -> list[str]:
    """List the hosts on which a file that was just written is not there."""
    asked = {}
    for node in nodes:
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        asked[_sees.options(scheduling_strategy=there).remote(path)] = node["NodeManagerHostname"]
    answered, _ = ray.wait(list(asked), num_returns=len(asked), timeout=PATIENCE)
    return [asked[answer] for answer in answered if _said_no(answer)]


@ray.remote(num_cpus=0)
def _sees(path: str) -> bool:
    return Path(path).is_file()


def _said_no(answer: Any) -> bool:
    try:
        return not ray.get(answer)
    except RayError:
        return False  # the node has gone


def why_not_shared(url: str) -> str | None:
    """Say what is wrong on a node that joined later, if it does not see the folder of its first pack."""
    if not is_path(url) or open_folder(url).exists(SPEC):
        return None
    return f"{url}: node {platform.node()} does not see it; {ADVICE}"
