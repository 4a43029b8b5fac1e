"""One Ray Tune trial is one pack: this class trains it on a worker, in one process with one thread."""

import errno
import os
import statistics
import time
from typing import Any

from ray import tune
from ray.util.metrics import Gauge

from mulex.config import RunConfig
from mulex.engines import make_engine
from mulex.folder import open_folder
from mulex.train import Labels, Pack, PackTraining
from sweeps.shared_storage import why_not_shared

REPORT_SECONDS = 5.0  # Tune's driver needs about 1.3 ms for a report, so they are few
STORAGE_TROUBLE = {errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EPERM}


class PackTrainable(tune.Trainable):
    """Snapshots and results are in the sweep's own folder; Tune only says where and when a pack is trained."""

    def setup(self, config: dict[str, Any]) -> None:
        self._name = config["name"]
        self._training: PackTraining | None = None
        self._saved = time.monotonic()
        self._gauges: dict[str, Gauge] = {}

    def __repr__(self) -> str:
        return f"pack {self._name}" if not getattr(self, "_reused", False) else f"worker {os.getpid()}"

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take up another pack in the same process."""
        self._let_go()
        self._name, self._reused = new_config["name"], True
        return True

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> tune.PlacementGroupFactory:
        labels: dict[str, Any] = {"bundle_label_selector": [config["placement"]]} if config["placement"] else {}
        return tune.PlacementGroupFactory([dict(config["resources"])], "PACK", **labels)

    def step(self) -> dict[str, Any]:
        """Train for some seconds, then report."""
        if self._training is None and (trouble := why_not_shared(self.config["folder"])):
            return {"done": True, "storage_error": trouble}
        try:
            return self._train_for(REPORT_SECONDS)
        except OSError as error:
            if error.errno not in STORAGE_TROUBLE:
                raise
            return {"done": True, "storage_error": f"{self.config['folder']}: {error}"}

    def _train_for(self, seconds: float) -> dict[str, Any]:
        training = self._taken_up()
        until = time.monotonic() + seconds
        while not training.finished and time.monotonic() < until:
            training.iterate()
            if time.monotonic() - self._saved > self.config["checkpoint_every"]:
                training.snapshot()
                self._saved = time.monotonic()
        if training.finished:
            training.finish()
        return self._report(training)

    def _taken_up(self) -> PackTraining:
        if self._training is None:
            self._training = begin_training(self.config)
            for message in self._training.begin():
                print(message, flush=True)
            self._saved = time.monotonic()
        return self._training

    def _report(self, training: PackTraining) -> dict[str, Any]:
        pack = training.pack
        returns = [float(curve[-1]["eval_return"] or 0.0) for curve in pack.curves]
        means = [statistics.fmean(float(row["eval_return"] or 0.0) for row in curve) for curve in pack.curves]
        labels = {"method": pack.runs[0].method, "world": pack.labels.world, "draw": str(pack.labels.draws[0])}
        self._gauge("mulex_iteration", "Iterations done by a pack").set(training.engine.iterations, labels)
        self._gauge("mulex_eval_return", "Mean evaluation return of a pack").set(statistics.fmean(returns), labels)
        return {
            "iteration": training.engine.iterations,
            "score": statistics.fmean(means),
            "eval_return": statistics.fmean(returns),
            "finished": training.finished,  # Tune says `done` also of what a scheduler stopped
            "done": training.finished,
        }

    def _gauge(self, name: str, says: str) -> Gauge:
        if name not in self._gauges:
            self._gauges[name] = Gauge(name, says, tag_keys=("method", "world", "draw"))
        return self._gauges[name]

    def cleanup(self) -> None:
        """Stopped on the way: leave a snapshot, so that nothing is trained twice."""
        self._let_go()

    def _let_go(self) -> None:
        training, self._training = self._training, None
        if training is None:
            return
        try:
            if not training.finished:
                training.leave()
        except OSError as error:
            print(f"no snapshot: {error}", flush=True)
        finally:
            training.engine.close()


def begin_training(config: dict[str, Any]) -> PackTraining:
    """A pack from what a trial was given."""
    payload = config["pack"]
    runs = [RunConfig.model_validate({**payload["shared"], **member}) for member in payload["members"]]
    labels = Labels(config["sweep"], payload["world"], payload["draws"], config["spec_hash"])
    engine = make_engine(config["engine"], config["device"], runs)
    return PackTraining(Pack(runs, labels), engine, open_folder(config["folder"]), config["keep_policies"])
