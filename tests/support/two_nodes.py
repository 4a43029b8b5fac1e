"""A Ray cluster of two nodes on this machine: the head, with so many cores for workers, and another with one.

python -m tests.support.two_nodes 1

It prints the cluster's address, then the process id of the second node's raylet. Each line that it reads asks for
another second node, whose raylet it prints. When there is no more to read, it ends, and the cluster with it.
"""

import os
import sys
import tempfile
from pathlib import Path

from ray.cluster_utils import Cluster


def main() -> None:
    """Until the input ends."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="r", ignore_cleanup_errors=True) as folder:
        os.environ["RAY_TMPDIR"] = folder  # else Ray writes to /tmp/ray, and fails where that is not there
        (Path(folder) / "ray").mkdir()
        head = {"num_cpus": int(sys.argv[1]), "include_dashboard": False, "temp_dir": f"{folder}/ray"}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        print(cluster.address, flush=True)
        node = add(cluster)
        for _ in sys.stdin:
            cluster.remove_node(node, allow_graceful=False)
            node = add(cluster)
        cluster.shutdown()


def add(cluster: Cluster) -> object:
    """A second node; says which process keeps its workers."""
    node = cluster.add_node(num_cpus=1, wait=False)
    print(node.all_processes["raylet"][0].process.pid, flush=True)
    return node


if __name__ == "__main__":
    main()
