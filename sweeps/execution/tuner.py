"""Ray Tune as the executor: a queue of packs goes in, and what became of those that failed comes out."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import ray
from ray import tune
from ray.exceptions import RayError
from ray.tune.search import Searcher

from mulex.learners.run_config import LearnerRun
from mulex.messages import printable
from mulex.store.folder import StorageError
from sweeps.execution.metrics import PackMetrics
from sweeps.execution.schedulers import make_scheduler
from sweeps.execution.scratch import scratch_folder
from sweeps.execution.silence import SilenceWatch
from sweeps.execution.task import PackTask, task_of
from sweeps.execution.trainable import PackTrainable, make_training
from sweeps.execution.worker_output import last_output
from sweeps.packs import Packs
from sweeps.plan import PlannedPack
from sweeps.rung_scores import RungScores
from sweeps.search import make_search
from sweeps.spec import Spec

RAISED = re.compile(r"(\w+\.)*\w*(Error|Exception|Exit|Interrupt|Refused|Failed)\b")
MOST_NOTES = 3  # lines after the one that names the error
LONGEST_ERROR = 2000  # characters
LONG_PACK = 500  # iterations of all runs of a pack together: minutes, at about a second each


@dataclass
class Fitted:
    """What came of a fit, besides what is in the store."""

    failed: dict[str, str] = field(default_factory=dict)
    """Why each pack failed, by its name."""
    storage_error: str | None = None
    is_fenced: bool = False
    """Whether a worker saw that another launcher has the sweep."""


@dataclass(frozen=True)
class Executor:
    """What the launcher gives to every fit of a launch."""

    spec: Spec
    to_task: Callable[[PlannedPack], PackTask]
    stops: Callable[[], bool]
    """Whether the launch is to end before its packs are trained."""
    say: Callable[[str], None]
    has_metrics: bool = False
    """Whether somebody may look at Ray's metrics."""
    stored: Callable[[], Iterable[RungScores]] = tuple
    """Gives what packs in the store scored at the rungs of the scheduler."""

    def fit(self, packs: Packs) -> Fitted:
        """Train packs with a fresh Tuner."""
        fitted, spec, execution = Fitted(), self.spec, self.spec.execution
        silence, scheduler = SilenceWatch(execution.silence_limit, self.say), make_scheduler(spec)
        if scheduler is not None and (known := scheduler.remember(self.stored())):
            self.say(f"{scheduler.settings.name} also compares with {known:,} packs that were trained before")
        with scratch_folder() as scratch:
            tuner = tune.Tuner(
                PackTrainable,
                tune_config=tune.TuneConfig(
                    search_alg=PackQueue(packs, self.to_task, fitted),
                    num_samples=packs.total(),
                    scheduler=scheduler,
                    max_concurrent_trials=_concurrency(spec),
                    reuse_actors=not _packs_are_long(spec),
                    trial_name_creator=_trial_name,
                    trial_dirname_creator=_trial_name,
                ),
                run_config=tune.RunConfig(
                    name="packs",
                    storage_path=str(scratch),
                    failure_config=tune.FailureConfig(max_failures=execution.max_failures),
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                    stop=Stopper(self.stops, fitted),
                    callbacks=[silence, *([PackMetrics(spec.name, packs.total())] if self.has_metrics else [])],
                    verbose=0,
                ),
            )
            results = tuner.fit()
            if scheduler is not None:
                self.say(f"{scheduler.settings.name} stopped {scheduler.stopped:,} of {len(results):,} packs")
            self._conclude(results, fitted, silence)
        return fitted

    def _conclude(self, results: tune.ResultGrid, fitted: Fitted, silence: SilenceWatch) -> None:
        ended = [(task_of(r.config), r) for r in (results[i] for i in range(len(results))) if r.config]
        for task, result in ended:
            if result.error:
                fitted.failed[task.name] = silence.silent.get(task.name) or _story(task, result.error)
        if fitted.storage_error is None and not self.stops():
            self._close([task for task, r in ended if not r.error and not (r.metrics or {}).get("finished")])

    def _close(self, stopped: list[PackTask]) -> None:
        """Have workers write the runs of packs that a scheduler stopped; if one cannot, its checkpoint stays."""
        closing = {task.name: _worker_like(task).remote(task) for task in stopped}
        for name, done in closing.items():
            try:
                ray.get(done)
            except RayError as error:
                why = printable(what_happened(error))
                self.say(f"pack {name} was stopped early but not closed: {why}; resume continues it")


class PackQueue(Searcher):
    """Hands one pack after another to Tune."""

    def __init__(self, packs: Packs, to_task: Callable[[PlannedPack], PackTask], fitted: Fitted) -> None:
        super().__init__()
        self._packs, self._to_task, self._fitted = packs, to_task, fitted
        self._names: dict[str, str] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {}  # see Stopper

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        try:
            pack = self._packs.next()
        except StorageError as error:
            self._fitted.storage_error = str(error)
            pack = None
        if pack is None:
            return Searcher.FINISHED  # type: ignore[return-value]  # a word that Tune looks for
        self._names[trial_id] = pack.name
        return self._to_task(pack).as_config()

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        if trial_id not in self._names:
            return
        try:
            self._packs.ended(self._names.pop(trial_id))
        except StorageError as trouble:
            self._fitted.storage_error = str(trouble)

    def save(self, checkpoint_path: str) -> None:
        """Save nothing: the store knows what is done."""

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing: every launch makes a fresh Tuner for what is missing."""


class Stopper(tune.Stopper):
    """Stops all packs when the launch is to end, when the storage fails, or when another launcher has the sweep."""

    def __init__(self, stops: Callable[[], bool], fitted: Fitted) -> None:
        self._stops, self._fitted = stops, fitted

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        self._fitted.storage_error = self._fitted.storage_error or result.get("storage_error")
        self._fitted.is_fenced = self._fitted.is_fenced or bool(result.get("fenced"))
        return False

    def stop_all(self) -> bool:
        return self._stops() or self._fitted.storage_error is not None or self._fitted.is_fenced

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune saves its parts for a Tuner.restore that never happens, and would save the whole launch


def _worker_like(task: PackTask) -> Any:
    """A remote function with the resources of the worker that trained a pack."""
    resources = dict(task.resources)
    cpus, gpus = resources.pop("CPU", 0), resources.pop("GPU", 0)
    return ray.remote(_close_early).options(
        num_cpus=cpus, num_gpus=gpus, resources=resources, label_selector=task.placement or None, max_retries=1
    )


def _close_early(task: PackTask) -> None:
    """Write the runs of a stopped pack from its checkpoint; without one, a later launch trains them."""
    training = make_training(task)
    try:
        training.begin()
        if training.pack.curves[0]:
            training.finish()
    finally:
        training.engine.close()


def what_happened(error: Exception) -> str:
    """Say in one short line what a worker died of: the end of its traceback, with the notes that may follow it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for i in range(len(lines) - 1, max(-1, len(lines) - 1 - MOST_NOTES), -1):
        if RAISED.match(lines[i]):
            return "; ".join(lines[i:])[:LONGEST_ERROR]
    return (lines[-1] if lines else repr(error))[:LONGEST_ERROR]


def _story(task: PackTask, error: Exception) -> str:
    """Say what a worker died of, in a line and then in full; the user's own code may have printed more."""
    output = last_output(task) if isinstance(task.runs[0], LearnerRun) else ""
    parts = [what_happened(error), *([str(error)] if "\n" in str(error).strip() else [])]
    return "\n".join([*parts, *(["its last output:", output] if output else [])])


def _trial_name(trial: Any) -> str:
    return task_of(trial.config).name


def _packs_are_long(spec: Spec) -> bool:
    """Whether packs are long enough to justify a fresh worker process (2 to 3 s), which the dashboard names by them."""
    runs = spec.search.seeds * spec.execution.draws_per_pack
    iterations = min(spec.training_in(world).iterations for world in spec.worlds)
    return runs * iterations >= LONG_PACK


def _concurrency(spec: Spec) -> int | None:
    """The most packs at a time. An adaptive search asks for no more than fit, so that each draw knows the most."""
    execution = spec.execution
    if not make_search(spec).adaptive or execution.max_concurrent is not None:
        return execution.max_concurrent
    return max(1, int(ray.cluster_resources().get("CPU", 1) // max(execution.cpus_per_pack, 1e-9)))
