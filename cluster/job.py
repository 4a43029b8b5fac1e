"""A sweep as a Ray job: what is uploaded, what is run, and what the dashboard says about it."""

import math
import shlex
import shutil
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

from mulex.learners.shipping import copy_code
from mulex.store.layout import SPEC
from mulex.store.provenance import COMMIT, git_commit
from sweeps.spec import Spec, write_yaml
from sweeps.spec.summary import summary

CODE = "learner-code"
PACKAGES = ("mulex", "sweeps", "analysis", "cluster")
ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "COLUMNS": "120",
    "RAY_JOB_STOP_WAIT_TIME_S": "60",  # `ray job stop` gives packs the time to leave checkpoints; Ray's default is 3 s
}


def job_request(spec: Spec, storage: str, folder: Path, with_code: bool) -> dict[str, Any]:
    """Make the arguments of Ray's `submit_job`; the job's files are in `folder`."""
    copied = {COMMIT: git_commit() or ""} if with_code else {}
    return {
        "entrypoint": f"python -m cluster.cli sweep {SPEC} --out {shlex.quote(storage)} --address auto",
        "submission_id": f"{spec.name}-{datetime.now():%Y%m%d-%H%M%S}-{token_hex(2)}",
        "runtime_env": {"working_dir": str(folder), "env_vars": ENVIRONMENT | copied},
        "metadata": metadata(spec, storage),
    }


def metadata(spec: Spec, storage: str) -> dict[str, str]:
    """Make what the dashboard and `ray job list` show of a job; Ray keeps strings only."""
    packs = sum(math.ceil(spec.draws(method) / spec.execution.draws_per_pack) for method in spec.methods)
    return {
        "job_name": summary(spec),  # its title in the dashboard's list of jobs
        "sweep": spec.name,
        "runs": str(spec.run_count),
        "packs": str(packs * len(spec.worlds)),
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
    """Put a job's files into a folder: the spec with nothing left to defaults, the user's code, and ours if wanted."""
    plain = spec.resolved()
    if spec.execution.code:
        copy_code(spec.execution.code, folder / CODE)
        plain["execution"]["code"] = CODE  # a job is run in its own folder
    (folder / SPEC).write_text(write_yaml(plain), encoding="utf-8")
    if not with_code:
        return
    here = Path(__file__).parents[1]
    for package in PACKAGES:
        shutil.copytree(here / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    about = folder / f"mulex-{version('mulex')}.dist-info"  # runs say which version trained them
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mulex\nVersion: {version('mulex')}\n")
