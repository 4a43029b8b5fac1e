"""Ray Tune's schedulers and loggers, for specs that name them."""

from collections.abc import Sequence
from typing import Any

from ray import tune
from ray.tune.schedulers import ASHAScheduler, MedianStoppingRule, TrialScheduler

from mulex.errors import UserError
from sweeps.spec import Spec


def make_scheduler(spec: Spec) -> TrialScheduler | None:
    """By its name in the spec; it sees the mean return so far, after each report of a pack."""
    most = max(spec.training_in(world).iterations for world in spec.worlds)
    least = max(1, most // 10)
    common: dict[str, Any] = {"time_attr": "iteration", "metric": "score", "mode": "max"}
    if spec.execution.scheduler == "asha":
        return ASHAScheduler(**common, max_t=most, grace_period=least)
    if spec.execution.scheduler == "median_stopping":
        return MedianStoppingRule(**common, grace_period=least)
    return None


def make_callbacks(names: Sequence[str], sweep: str) -> list[tune.Callback]:
    """Tune's own loggers by name, or what to install for one."""
    return [_callback(name, sweep) for name in names]


def _callback(name: str, sweep: str) -> tune.Callback:
    from ray.tune import logger

    try:
        if name == "tensorboard":
            return logger.TBXLoggerCallback()
        if name == "json":
            return logger.JsonLoggerCallback()
        if name == "csv":
            return logger.CSVLoggerCallback()
        if name == "mlflow":
            from ray.air.integrations.mlflow import MLflowLoggerCallback

            return MLflowLoggerCallback(experiment_name=sweep)
        from ray.air.integrations.wandb import WandbLoggerCallback

        return WandbLoggerCallback(project=sweep)
    except (ImportError, RuntimeError) as error:
        raise UserError(f"execution.callbacks: {name} cannot be used here: {error}") from None
