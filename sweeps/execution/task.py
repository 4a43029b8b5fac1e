"""What a worker is given: one pack, and everything it needs to train it."""

from dataclasses import dataclass
from typing import Any

from mulex.config import RunConfig
from mulex.learners.limits import NO_LIMITS, Limits
from mulex.store.roles import TUNE
from mulex.training import Labels
from sweeps.plan import Plan, PlannedPack

_KEY = "task"


@dataclass(frozen=True)
class PackTask:
    """One pack for one worker. Only this crosses from the launcher into Ray."""

    name: str
    runs: tuple[RunConfig, ...]  # (P,)
    labels: Labels
    folder: str  # the sweep's folder, as every node finds it
    engine: str
    device: str
    keep_policies: bool
    checkpoint_every: float  # seconds
    resources: dict[str, float]  # by Ray's names, without those of which none is needed
    placement: dict[str, str]  # labels that the worker's node must have
    launch: int  # the fencing number of the launch; see mulex.store.lease
    limits: Limits = NO_LIMITS  # of external learners
    keep_checkpoints: bool = False
    rungs: tuple[int, ...] = ()  # iterations after which it must report, for a scheduler
    source: str = ""  # the pack whose checkpoints it begins with, where its runs were shorter before

    @property
    def method(self) -> str:
        """The method that all runs of the pack share."""
        return self.runs[0].method

    def as_config(self) -> dict[str, Any]:
        """Wrap the task in a dict, which is what Ray Tune hands to a trial."""
        return {_KEY: self}


def task_of(config: dict[str, Any]) -> PackTask:
    """Take the task out of a trial's configuration."""
    task = config[_KEY]
    assert isinstance(task, PackTask)
    return task


def make_task(plan: Plan, pack: PlannedPack, folder: str, spec_hash: str, launch: int) -> PackTask:
    """Describe a planned pack to the worker that will train it."""
    spec, family = plan.spec, plan.families[pack.world, pack.method]
    execution = spec.execution
    tracked = bool(execution.all_trackers)
    scheduling = execution.scheduling if pack.role == TUNE else None  # every test run is trained to its end
    amounts = {"CPU": execution.cpus_per_pack, "GPU": execution.gpus_per_pack, **execution.resources}
    return PackTask(
        name=pack.name,
        runs=tuple(family.run(plan.values[run.method][run.draw], run.seed) for run in pack.runs),
        labels=Labels(spec.name, pack.world, [run.draw for run in pack.runs], spec_hash, launch, pack.role, tracked),
        folder=folder,
        engine=execution.engine,
        device=execution.device,
        keep_policies=execution.keep_policies,
        checkpoint_every=execution.checkpoint_every,
        resources={name: amount for name, amount in amounts.items() if amount},
        placement=execution.placement,
        launch=launch,
        limits=Limits(execution.iteration_timeout, execution.memory_limit),
        keep_checkpoints=execution.keep_checkpoints,
        source=pack.source,
        rungs=scheduling.rungs_of(family.training.iterations) if scheduling else (),
    )
