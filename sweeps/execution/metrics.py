"""Numbers of a launch for Ray's metrics page: packs by state, as `cluster/grafana.json` draws them."""

import time
from collections import Counter
from typing import Any

import ray
from ray import tune
from ray.util.metrics import Gauge

STATES = {"RUNNING": "running", "TERMINATED": "done", "ERROR": "failed", "PAUSED": "pending", "PENDING": "pending"}
"""Our word for each of Tune's."""


AGAIN_SECONDS = 5.0


class Numbers:
    """Holds the gauge in a worker of its own: Ray exports the metrics of workers, and not those of a driver."""

    def __init__(self, sweep: str) -> None:
        self._sweep = sweep
        self._gauge = Gauge("mulex_packs", "Packs of a launch by state", tag_keys=("sweep", "state"))

    def set(self, counts: dict[str, int]) -> None:
        """Take over new counts."""
        for state, count in counts.items():
            self._gauge.set(count, {"sweep": self._sweep, "state": state})


class PackMetrics(tune.Callback):
    """Counts the packs of a fit by their state after every step of Tune's."""

    def __init__(self, sweep: str, total: int) -> None:
        self._total, self._told, self._moment = total, dict[str, int](), 0.0
        self._numbers: Any = ray.remote(num_cpus=0, max_restarts=-1)(Numbers).remote(sweep)

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Tell the counts now and then, changed or not: Ray forgets a gauge that is not set again."""
        found = Counter(STATES.get(trial.status, "pending") for trial in trials)
        counts = {state: found[state] for state in dict.fromkeys(STATES.values())}
        counts["pending"] = max(0, self._total - sum(count for state, count in counts.items() if state != "pending"))
        if counts != self._told or time.monotonic() - self._moment > AGAIN_SECONDS:
            self._numbers.set.remote(counts)
            self._told, self._moment = counts, time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune saves its parts for a Tuner.restore that never happens
