"""Whether a process that left a note about itself is still alive, as far as this machine can tell."""

import os
import platform
from pathlib import Path
from typing import Any


def this_process() -> dict[str, Any]:
    """Describe this process so that others can find out whether it is alive.

    Process ids repeat: on other hosts, after a restart, in other containers, and after a process has ended. So the
    host's name, its boot, its namespace of process ids and the start of the process are noted, too.
    """
    pid = os.getpid()
    return {"pid": pid, "host": platform.node(), "boot": _boot(), "namespace": _namespace(), "began": _began(pid)}


def is_certainly_dead(about: dict[str, Any]) -> bool:
    """Whether a process is described that ran here and has ended; of processes elsewhere nothing is certain."""
    here = this_process()
    if not here["boot"] or any(about.get(key) != here[key] for key in ("host", "boot", "namespace")):
        return False
    pid = about.get("pid")
    return isinstance(pid, int) and _began(pid) != about.get("began")


def _began(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty if there is none, or one that has ended already."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
