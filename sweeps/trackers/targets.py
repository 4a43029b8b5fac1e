"""Which tracker, and where: `tensorboard:DIR`, `mlflow:URI` and the like, in a spec and in `mulex export --to`."""

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from mulex.errors import UserError
from mulex.messages import nearest
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import LOGS
from sweeps.plan import Plan
from sweeps.spec.execution import EXPORTS
from sweeps.trackers.contract import Tracker

PACKAGES = {"tensorboard": "tensorboard", "mlflow": "mlflow-skinny", "wandb": "wandb"}
"""What has to be installed for a tracker: the package that is imported has the tracker's name."""


def split_target(target: str) -> tuple[str, str]:
    """Return the name of a target and the rest."""
    name, _, where = target.partition(":")
    if name not in EXPORTS:
        listed = ", ".join(EXPORTS)
        raise UserError(f"{target}: there is no target {name!r}, allowed is one of {listed}{nearest(name, EXPORTS)}")
    return name, where


def check_installed(targets: Sequence[str]) -> None:
    """Refuse a tracker whose package is not installed, with the command that installs it."""
    for target in targets:
        name, _ = split_target(target)
        if name in PACKAGES and importlib.util.find_spec(name) is None:
            raise UserError(
                f"{target}: {PACKAGES[name]} is not installed; install it with pip install 'mulex[trackers]'"
            )


def make_tracker(target: str, sweep: str, home: Folder, plan: Plan | None) -> Tracker:
    """Open a target. One without a place is kept in the sweep's folder."""
    check_installed([target])
    name, where = split_target(target)
    if name == "tensorboard":
        from sweeps.trackers.tensorboard_files import TensorBoardFiles

        return TensorBoardFiles(_local(target, where, home))
    if name == "mlflow":
        from sweeps.trackers.mlflow_runs import MLflowRuns

        return MLflowRuns(where or _mlflow_uri(home), sweep)
    if name == "wandb":
        return _make_wandb(target, where, sweep, home)
    if name in ("csv", "json"):
        from sweeps.trackers.plain_files import PlainFiles

        return PlainFiles(open_folder(where or f"{home.url}/{LOGS}/{name}"), "csv" if name == "csv" else "json")
    if not where:
        needed = "a database, such as optuna:sqlite:///sweep.db" if name == "optuna" else "a file: rliable:scores.npz"
        raise UserError(f"{target}: needs {needed}")
    return _make_export(name, where, sweep, plan)


def _make_export(name: str, where: str, sweep: str, plan: Plan | None) -> Tracker:
    if name == "optuna":
        from sweeps.trackers.optuna_studies import OptunaStudies

        return OptunaStudies(where, sweep, plan)
    from sweeps.trackers.rliable_scores import RliableScores

    return RliableScores(where)


def _make_wandb(target: str, where: str, sweep: str, home: Folder) -> Tracker:
    from sweeps.trackers.wandb_runs import WandbRuns

    if "/" in where:
        return WandbRuns(sweep, Path(where), offline=True)
    folder = os.environ.get("WANDB_DIR") or (f"{home.url}/{LOGS}/wandb" if "://" not in home.url else ".")
    return WandbRuns(where or sweep, Path(folder), offline=False)


def _local(target: str, where: str, home: Folder) -> Path:
    path = where or f"{home.url}/{LOGS}/{target}"
    if "://" in path:
        raise UserError(f"{target}: writes to a disk, not to {path}; name a folder on one, such as {target}:logs")
    return Path(path)


def _mlflow_uri(home: Folder) -> str:
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        return uri
    if "://" in home.url:
        raise UserError(
            f"mlflow: {home.url} cannot hold MLflow's database; name a server, mlflow:http://HOST:5000, here or in "
            "MLFLOW_TRACKING_URI"
        )
    return f"sqlite:///{(Path(home.url) / LOGS).resolve()}/mlflow.db"
