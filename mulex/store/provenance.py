"""Where, when and by which version of the code a run was finished."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mulex.store.schema import SCHEMA_VERSION


def provenance() -> dict[str, Any]:
    """The columns of `runs` that say where, when and by which version a run was finished."""
    return {
        "finished_at": datetime.now(UTC),
        "host": platform.node(),
        "package_version": version("mulex"),
        "git_commit": git_commit(),
        "schema_version": SCHEMA_VERSION,
    }


COMMIT = "MULEX_GIT_COMMIT"  # for copies of a checkout, which do not know it themselves


@cache
def git_commit() -> str | None:
    """The commit of the checkout that this package runs from or was copied from, if it is known."""
    if os.environ.get(COMMIT):
        return os.environ[COMMIT]
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
