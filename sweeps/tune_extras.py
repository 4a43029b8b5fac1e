"""Ray Tune's schedulers and loggers, for specs that name them."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, MedianStoppingRule, TrialScheduler

from mulex.errors import UserError
from sweeps.spec import Spec


class AmongTheirLike(FIFOScheduler):
    """A scheduler of its own for each method in each world: returns of different worlds say nothing of each other, and
    a method that is behind is to be measured, not ended."""

    def __init__(self, make: Callable[[str], TrialScheduler]) -> None:
        """`make` gives a scheduler for a world."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._make = make
        self._by_family: dict[tuple[str, str], TrialScheduler] = {}

    def _of(self, trial: Trial) -> TrialScheduler:
        pack = trial.config["pack"]
        world, method = pack["world"], pack["shared"]["method"]
        if (world, method) not in self._by_family:
            self._by_family[world, method] = self._make(world)
        return self._by_family[world, method]

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        self._of(trial).on_trial_add(tune_controller, trial)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        self._of(trial).on_trial_error(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        return str(self._of(trial).on_trial_result(tune_controller, trial, result))

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        self._of(trial).on_trial_complete(tune_controller, trial, result)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        self._of(trial).on_trial_remove(tune_controller, trial)


def make_scheduler(spec: Spec) -> TrialScheduler | None:
    """By its name in the spec; it sees the mean return so far, after each report of a pack."""
    name = spec.execution.scheduler
    return AmongTheirLike(lambda world: _scheduler(name, spec.training_in(world).iterations)) if name else None


def _scheduler(name: str, iterations: int) -> TrialScheduler:
    least = max(1, iterations // 10)
    common: dict[str, Any] = {"time_attr": "iteration", "metric": "score", "mode": "max", "grace_period": least}
    if name == "asha":
        return ASHAScheduler(**common, max_t=iterations)
    never_pause = {"min_time_slice": math.inf}  # a pack, to let another one begin
    return MedianStoppingRule(**common | never_pause)


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
