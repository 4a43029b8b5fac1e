"""Packs that fall silent: a worker that hangs or is frozen is killed, and its pack is tried again."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray import tune
from ray.exceptions import RayError
from ray.tune.experiment import Trial

from sweeps.execution.task import task_of

LOOK_SECONDS = 1.0
START_SECONDS = 120.0  # a worker that has not reported yet has at least this time: it starts, and imports torch
LEAST_LIMIT = 600.0  # seconds; no default is shorter
FIRST_LIMIT = 3600.0  # seconds; the default before any pack of a launch has reported
PACE_FACTOR = 20.0  # the default is this many times the longest time between two reports so far


@dataclass
class _Heard:
    trial: Trial
    at: float
    has_reported: bool = False


class SilenceWatch(tune.Callback):
    """Kills workers that have not reported for longer than a limit; Tune then tries their packs again."""

    def __init__(self, limit: float | None, say: Callable[[str], None]) -> None:
        """`limit` is in seconds; None derives it from the pace of the reports."""
        self._limit, self._say = limit, say
        self._heard: dict[str, _Heard] = {}
        self._longest: float | None = None
        self._looked = time.monotonic()
        self.silent: dict[str, str] = {}
        """What to say of packs whose last worker was killed here, by the pack's name."""

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune saves its parts for a Tuner.restore that never happens

    @property
    def limit(self) -> float:
        """The seconds of silence that are allowed now."""
        if self._limit is not None:
            return self._limit
        return FIRST_LIMIT if self._longest is None else max(LEAST_LIMIT, PACE_FACTOR * self._longest)

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._heard[trial.trial_id] = _Heard(trial, time.monotonic())

    def on_trial_result(
        self, iteration: int, trials: list[Trial], trial: Trial, result: dict[str, Any], **info: Any
    ) -> None:
        now, heard = time.monotonic(), self._heard.get(trial.trial_id)
        if heard is not None:
            self._longest = max(self._longest or 0.0, now - heard.at)
            heard.at, heard.has_reported = now, True
            self.silent.pop(task_of(trial.config).name, None)

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._heard.pop(trial.trial_id, None)

    def on_trial_recover(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._heard.pop(trial.trial_id, None)

    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._heard.pop(trial.trial_id, None)

    def on_step_begin(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """Look for silent workers about once a second; Tune calls this many times a second."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        if now - self._looked > 10 * LOOK_SECONDS:  # this process stood still, so it could not hear anybody
            for heard in self._heard.values():
                heard.at += now - self._looked
        self._looked = now
        for heard in list(self._heard.values()):
            if now - heard.at > (self.limit if heard.has_reported else max(self.limit, START_SECONDS)):
                self._kill(heard)

    def _kill(self, heard: _Heard) -> None:
        self._heard.pop(heard.trial.trial_id)
        name, seconds = task_of(heard.trial.config).name, f"{self.limit:.0f} s"
        self.silent[name] = f"no sign of life for {seconds}, so its worker was killed"
        self._say(f"pack {name}: {self.silent[name]}")
        if (actor := heard.trial.temporary_state.ray_actor) is not None:
            with suppress(RayError):
                ray.kill(actor)
