"""A sweep as a Ray job: what is uploaded, what is run, and what the dashboard says about it."""

import math
import shlex
import shutil
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

from mulex.provenance import COMMIT, git_commit
from sweeps.commands.validate import summary
from sweeps.spec import Spec, write_yaml

PACKAGES = ("mulex", "sweeps", "analysis", "cluster")
SPEC = "spec.yaml"
ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "COLUMNS": "120",
    "RAY_JOB_STOP_WAIT_TIME_S": "60",  # `ray job stop` gives packs the time to leave snapshots; Ray's own is 3 s
}


def job_request(spec: Spec, storage: str, folder: Path, with_code: bool) -> dict[str, Any]:
    """What Ray's `submit_job` takes; the job's files are in `folder`."""
    copied = {COMMIT: git_commit() or ""} if with_code else {}
    return {
        "entrypoint": f"python -m cluster.cli sweep {SPEC} --out {shlex.quote(storage)} --address auto",
        "submission_id": f"{spec.name}-{datetime.now():%Y%m%d-%H%M%S}-{token_hex(2)}",
        "runtime_env": {"working_dir": str(folder), "env_vars": ENVIRONMENT | copied},
        "metadata": metadata(spec, storage),
    }


def metadata(spec: Spec, storage: str) -> dict[str, str]:
    """What the dashboard and `ray job list` show of it; Ray keeps strings only."""
    packs = len(spec.methods) * len(spec.worlds) * math.ceil(spec.search.draws / spec.execution.draws_per_pack)
    return {
        "job_name": summary(spec),  # what the dashboard's list of jobs calls it
        "sweep": spec.name,
        "runs": str(spec.run_count),
        "packs": str(packs),
        "methods": ", ".join(spec.methods),
        "worlds": ", ".join(spec.worlds),
        "draws": str(spec.search.draws),
        "seeds": str(spec.search.seeds),
        "storage": storage,
        "spec_hash": spec.outcome_hash(),
        "package_version": version("mulex"),
        "git_commit": git_commit() or "",
        "spec": write_yaml(spec.resolved()),
    }


def fill(folder: Path, spec: Spec, with_code: bool) -> None:
    """Put the job's files there: the spec with nothing left to defaults, and this package's own code if wanted."""
    (folder / SPEC).write_text(write_yaml(spec.resolved()), encoding="utf-8")
    if not with_code:
        return
    here = Path(__file__).parents[1]
    for package in PACKAGES:
        shutil.copytree(here / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    about = folder / f"mulex-{version('mulex')}.dist-info"  # runs say which version trained them
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mulex\nVersion: {version('mulex')}\n")
