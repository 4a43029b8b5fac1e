"""Ray Tune as the executor: a queue of packs in, the names of failed ones out."""

import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")  # they halve the rate and fill the disk
os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")  # Ctrl-C is heard by the launch
os.environ.setdefault("TUNE_GLOBAL_CHECKPOINT_S", "1000000")  # the store is the truth, not Tune's state
os.environ.setdefault("TUNE_MAX_PENDING_TRIALS_PG", "64")  # Tune's own is 1: a cluster would fill node by node
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
from ray import tune
from ray.exceptions import AuthenticationError, RayError
from ray.tune.search import Searcher

from mulex.errors import UserError
from sweeps.cluster_choice import Cluster
from sweeps.joining import check_cluster
from sweeps.packs import Packs
from sweeps.ray_token import use_token
from sweeps.spec import Spec
from sweeps.trainable import PackTrainable, begin_training
from sweeps.tune_extras import make_callbacks, make_scheduler

LONG_PACK = 500  # iterations of all its runs together: minutes, at about a second each


@contextmanager
def connected(cluster: Cluster) -> Iterator[None]:
    """Join a Ray cluster, or start an embedded one."""
    if ray.is_initialized():
        yield
        return
    use_token(make=cluster.address in (None, "local"))
    if cluster.address not in (None, "auto", "local"):
        check_cluster(str(cluster.address))
    # a failure is recorded and printed in a line; Ray would print its traceback once a try
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if cluster.address is None:
        settings |= {"num_cpus": cluster.cpus, "include_dashboard": cluster.dashboard}
    hears = signal.getsignal(signal.SIGTERM)
    try:
        context = ray.init(address=cluster.address or "local", **settings)
    except (OSError, ValueError, RuntimeError, AuthenticationError) as error:
        raise UserError(f"--address {cluster.address}: no Ray cluster answers there ({error})") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, hears)  # Ray's own would end us before any pack leaves a snapshot
    if cluster.dashboard and context.dashboard_url:
        print(f"Ray dashboard: http://{context.dashboard_url} (its token: ray get-auth-token)", flush=True)
    try:
        yield
    finally:
        ray.shutdown()


class PackQueue(Searcher):
    """Gives Tune one pack after another."""

    def __init__(self, packs: Packs) -> None:
        super().__init__()
        self._packs = packs
        self._names: dict[str, str] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as of Watch

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        config = self._packs.next()
        if config is None:
            return Searcher.FINISHED  # type: ignore[return-value]  # a word that Tune looks for
        self._names[trial_id] = config["name"]
        return config

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        if trial_id in self._names:
            self._packs.ended(self._names.pop(trial_id))

    def save(self, checkpoint_path: str) -> None:
        """The store knows what is done."""

    def restore(self, checkpoint_path: str) -> None:
        """A fresh Tuner is made for what is missing."""


@dataclass
class Fitted:
    """What Tune had to say."""

    failed: dict[str, str] = field(default_factory=dict)
    storage_error: str | None = None


class Watch(tune.Stopper):
    """Stops everything when asked to, or when the storage cannot be written."""

    def __init__(self, stops: Callable[[], bool], fitted: Fitted) -> None:
        self._stops, self._fitted = stops, fitted

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        if "storage_error" in result:
            self._fitted.storage_error = result["storage_error"]
        return False

    def stop_all(self) -> bool:
        return self._stops() or self._fitted.storage_error is not None

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune writes it down for a Tuner.restore that never happens, and would write the whole launch


def fit(packs: Packs, spec: Spec, logs: str, stops: Callable[[], bool]) -> Fitted:
    """Train packs with a fresh Tuner; what loggers write, if the spec names any, goes to `logs`."""
    fitted, execution = Fitted(), spec.execution
    with tempfile.TemporaryDirectory(prefix="mulex-tune-") as scratch:
        tuner = tune.Tuner(
            PackTrainable,
            tune_config=tune.TuneConfig(
                search_alg=PackQueue(packs),
                num_samples=packs.total(),
                scheduler=make_scheduler(spec),
                max_concurrent_trials=_concurrency(spec),
                reuse_actors=not _packs_are_long(spec),
                trial_name_creator=_trial_name,
                trial_dirname_creator=_trial_name,
            ),
            run_config=tune.RunConfig(
                name="packs",
                storage_path=logs if execution.callbacks else scratch,
                failure_config=tune.FailureConfig(max_failures=execution.max_failures),
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                stop=Watch(stops, fitted),
                callbacks=make_callbacks(execution.callbacks, spec.name),
                verbose=0,
            ),
        )
        results = tuner.fit()
        ended = [results[i] for i in range(len(results))]
        fitted.failed = {str(r.config["name"]): what_happened(r.error) for r in ended if r.config and r.error}
        if fitted.storage_error is None and not stops():
            stopped = [r.config for r in ended if r.config and not r.error and not (r.metrics or {}).get("finished")]
            _close(stopped)
    return fitted


def _close(stopped: list[dict[str, Any]]) -> None:
    """Workers like those that trained them close packs that a scheduler stopped; if one cannot, its snapshot stays."""
    closing = {config["name"]: _worker_like(config).remote(config) for config in stopped}
    for name, done in closing.items():
        try:
            ray.get(done)
        except RayError as error:
            print(
                f"pack {name}: stopped, and not closed: {what_happened(error)}; the next launch takes it up", flush=True
            )


def _worker_like(config: dict[str, Any]) -> Any:
    resources = dict(config["resources"])
    cpus, gpus = resources.pop("CPU", 0), resources.pop("GPU", 0)
    selector = config["placement"] or None
    return ray.remote(_close_early).options(
        num_cpus=cpus, num_gpus=gpus, resources=resources, label_selector=selector, max_retries=1
    )


def _close_early(config: dict[str, Any]) -> None:
    """Write what a stopped pack has by its snapshot; if its worker could leave none, a later launch trains it."""
    training = begin_training(config)
    try:
        training.begin()
        if training.pack.curves[0]:
            training.finish()
    finally:
        training.engine.close()


def what_happened(error: Exception) -> str:
    """The line of a worker's traceback that says it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else repr(error)


def _trial_name(trial: Any) -> str:
    return str(trial.config["name"])


def _packs_are_long(spec: Spec) -> bool:
    """Whether a worker process of its own, 2 to 3 s, is nothing to a pack; then the dashboard names it by its pack."""
    runs = spec.search.seeds * spec.execution.draws_per_pack
    iterations = min(spec.training_in(world).iterations for world in spec.worlds)
    return runs * iterations >= LONG_PACK


def _concurrency(spec: Spec) -> int | None:
    """An adaptive search asks only for as many draws as can be trained at once, so that it knows the most."""
    execution = spec.execution
    if spec.search.algorithm != "tpe" or execution.max_concurrent is not None:
        return execution.max_concurrent
    return max(1, int(ray.cluster_resources().get("CPU", 1) // max(execution.cpus_per_pack, 1e-9)))
