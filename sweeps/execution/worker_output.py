"""The last output of a worker that died on this machine, from the logs of the Ray that the launcher is connected to."""

import platform
from pathlib import Path

import ray

from mulex.store.folder import open_folder
from mulex.store.progress import read_progress
from sweeps.execution.task import PackTask

MOST_CHARACTERS = 4000
_RAYS_OWN = (":job_id:", ":actor_name:", ":task_name:")


def last_output(task: PackTask) -> str:
    """Return the end of what a pack's worker printed; empty if it ran on another machine or printed nothing."""
    for said in read_progress(open_folder(task.folder)):
        if said["pack"] == task.name and said.get("host") == platform.node():
            return output_of(_logs(), int(said["pid"]))
    return ""


def output_of(logs: Path, pid: int) -> str:
    """Return the end of what a process of a Ray session printed."""
    lines: list[str] = []
    for path in sorted(logs.glob(f"worker-*-{pid}.*"), reverse=True):  # .out, then .err
        text = path.read_text(errors="replace")
        lines += [line for line in text.splitlines() if line.strip() and not line.startswith(_RAYS_OWN)]
    return "\n".join(lines)[-MOST_CHARACTERS:]


def _logs() -> Path:
    node = ray._private.worker.global_worker.node
    return Path(node.get_session_dir_path() if node else "/nonexistent") / "logs"
