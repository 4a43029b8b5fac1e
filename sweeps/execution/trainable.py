"""The worker: one Ray Tune trial trains one pack, in one process with one thread."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any, TypeVar

from ray import tune
from ray.util.metrics import Counter, Gauge

from mulex.learners.dqn.engines import make_engine
from mulex.learners.run_config import LearnerRun
from mulex.learners.runs import learner_pack
from mulex.learners.shipping import fetch_code
from mulex.learners.training import LearnerTraining
from mulex.store.folder import StorageError, open_folder
from mulex.store.lease import newest_number
from mulex.training import Pack, PackTraining
from sweeps.execution.shared_storage import why_not_shared
from sweeps.execution.task import PackTask, task_of
from sweeps.rung_scores import score_after, scores_at

REPORT_SECONDS = 5.0  # Tune's driver needs about 1.3 ms for a report, so reports are few
OUTAGE_PATIENCE = 30.0  # seconds of trouble with object storage that a pack waits for
Result = TypeVar("Result")
GAUGE_LABELS = ("method", "world", "draw")
COUNTER_LABELS = ("method", "world")


class Fenced(Exception):  # noqa: N818
    """Another launcher has the sweep, so this worker may not write to it."""


class PackTrainable(tune.Trainable):
    """Trains a pack. Checkpoints and results go to the sweep's own folder; Tune only decides where and when."""

    def setup(self, config: dict[str, Any]) -> None:
        self._task = task_of(config)
        self._reused = False
        self._training: PackTraining | None = None
        self._saved = time.monotonic()
        self._gauges: dict[str, Gauge] = {}
        self._counter: Counter | None = None
        self._counted = 0
        self._passed: list[tuple[int, float]] = []  # the rungs before its checkpoint, with its scores there

    def __repr__(self) -> str:
        return f"worker {os.getpid()}" if self._reused else f"pack {self._task.name}"

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take up another pack in the same process."""
        self._leave()
        self._task, self._reused = task_of(new_config), True
        return True

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> tune.PlacementGroupFactory:
        task = task_of(config)
        labels: dict[str, Any] = {"bundle_label_selector": [task.placement]} if task.placement else {}
        return tune.PlacementGroupFactory([dict(task.resources)], "PACK", **labels)

    def step(self) -> dict[str, Any]:
        """Train for some seconds, then report. Trouble with the sweep's folder stops the sweep, not this pack alone."""
        try:
            if self._training is None and (trouble := why_not_shared(self._task.folder)):
                return {"done": True, "storage_error": trouble}
            return self._train_for(REPORT_SECONDS)
        except Fenced:
            return {"done": True, "fenced": True}
        except StorageError as error:
            return {"done": True, "storage_error": str(error)}

    def _train_for(self, seconds: float) -> dict[str, Any]:
        training = self._begun()
        until = time.monotonic() + seconds
        while not training.finished:
            self._iterate(training)
            if time.monotonic() - self._saved > self._task.checkpoint_every:
                self._write(training.checkpoint)
                self._saved = time.monotonic()
            if time.monotonic() > until or training.engine.iterations in self._task.rungs:
                break
        if training.finished:
            self._write(training.finish)
        return self._report(training)

    def _iterate(self, training: PackTraining) -> None:
        try:
            training.iterate()
        except StorageError as error:  # of the progress, which nothing depends on; the iteration itself is done
            print(f"no progress written: {error}", flush=True)

    def _write(self, operation: Callable[[], None]) -> None:
        """Write something of a pack, unless another launcher has the sweep."""

        def write_unless_fenced() -> None:
            if newest_number(open_folder(self._task.folder)) > self._task.launch:
                raise Fenced("another launcher has the sweep")
            operation()

        self._patiently(write_unless_fenced)

    def _patiently(self, operation: Callable[[], Result]) -> Result:
        """Retry for a while when object storage does not answer; a disk that fails is not waited for."""
        until = time.monotonic() + (OUTAGE_PATIENCE if "://" in self._task.folder else 0.0)
        while True:
            try:
                return operation()
            except StorageError:
                if time.monotonic() > until:
                    raise
                time.sleep(1.0)

    def _begun(self) -> PackTraining:
        """Return the training of the current pack, which continues from its checkpoint the first time."""
        if self._training is None:
            training = make_training(self._task)
            for message in self._patiently(training.begin):
                print(message, flush=True)
            self._training, self._saved = training, time.monotonic()
            self._counted = training.engine.iterations
            self._passed = list(scores_at(_returns(training), self._task.rungs, self._counted).items())
        return self._training

    def _report(self, training: PackTraining) -> dict[str, Any]:
        all_returns = _returns(training)
        returns = [float(of_run[-1] or 0.0) for of_run in all_returns]
        self._set_gauge("mulex_iteration", "Iterations done by a pack", training.engine.iterations)
        self._set_gauge("mulex_eval_return", "Mean evaluation return of a pack", statistics.fmean(returns))
        self._count(training)
        return {
            "iteration": training.engine.iterations,
            "score": score_after(all_returns, training.engine.iterations),
            "passed": self._passed,
            "eval_return": statistics.fmean(returns),
            "finished": training.finished,  # Tune sets `done` also for packs that a scheduler stopped
            "done": training.finished,
        }

    def _count(self, training: PackTraining) -> None:
        """Add the iterations since the last report, of all runs of the pack, to those of the method."""
        done = training.engine.iterations - self._counted
        if done > 0:
            self._counter = self._counter or Counter("mulex_iterations", "Iterations of runs", tag_keys=COUNTER_LABELS)
            values = (self._task.method, self._task.labels.world)
            self._counter.inc(done * len(training.pack.runs), dict(zip(COUNTER_LABELS, values, strict=True)))
            self._counted = training.engine.iterations

    def _set_gauge(self, name: str, description: str, value: float) -> None:
        if name not in self._gauges:
            self._gauges[name] = Gauge(name, description, tag_keys=GAUGE_LABELS)
        labels = self._task.labels
        values = (self._task.method, labels.world, str(labels.draws[0]))
        self._gauges[name].set(value, dict(zip(GAUGE_LABELS, values, strict=True)))

    def cleanup(self) -> None:
        """Leave a checkpoint of a pack that is stopped before its end, so that nothing is trained twice."""
        self._leave()

    def _leave(self) -> None:
        training, self._training = self._training, None
        if training is None:
            return
        try:
            if not training.finished:
                self._write(training.leave)
        except (StorageError, Fenced) as error:
            print(f"no checkpoint: {error!r}", flush=True)
        finally:
            training.engine.close()


def _returns(training: PackTraining) -> list[list[Any]]:
    return [[row["eval_return"] for row in curve] for curve in training.pack.curves]


def make_training(task: PackTask) -> PackTraining:
    """Make the training of a pack from what a worker was given."""
    runs, folder = list(task.runs), open_folder(task.folder)
    if code := getattr(runs[0].world, "code", None):
        fetch_code(folder, code)
    if isinstance(runs[0], LearnerRun):
        learners = learner_pack(runs, task.device, folder, task.limits)
        return LearnerTraining(Pack(runs, task.labels), learners, folder, task.keep_checkpoints, task.source)
    engine = make_engine(task.engine, task.device, runs)
    pack = Pack(runs, task.labels)
    return PackTraining(pack, engine, folder, task.keep_policies, task.keep_checkpoints, task.source)
