"""`mulex sweep --dry-run`: what would be trained, and what it would cost, from a short calibration on this machine."""

import time
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from mulex.learners.dqn.engines import make_engine
from mulex.store.folder import Folder
from mulex.store.run_store import RunStore
from sweeps.confirmation import Confirmation
from sweeps.engine_check import check_engines, engine_lines, engine_of
from sweeps.execution.cluster import Cluster, cores_of
from sweeps.growth import with_growth
from sweeps.inventory import additions, take_stock
from sweeps.learners import seconds_of_learner
from sweeps.monitor.terminal import duration, say
from sweeps.plan import Family, Plan, PlannedPack, PlannedRun, forecast_plan
from sweeps.spec import Spec
from sweeps.trackers.live import open_trackers

CALIBRATION = {"torch": (40, 240), "native": (500, 4500)}  # steps of the two calibration iterations
LIVED = {"torch": 0, "native": 20_000}  # random steps before them: the native engine is faster in states it has seen
ROUNDS = 3
UNSEEN, LEARNERS_UNSEEN = 0.1, 0.25  # shares by which a run may differ from its first moments, beside their spread
BYTES_A_ROW, BYTES_A_RUN = 60, 12_000  # of a run file: measured on curves of 3 to 800 iterations, compressed


@dataclass(frozen=True)
class Line:
    """What is left of one method in one world; of core-hours the least and the most that are expected."""

    method: str
    world: str
    runs: int
    to_train: int
    packs: int
    core_hours: tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """What a launch would train, and what that would cost."""

    sweep: str
    lines: list[Line]
    done: int
    bytes: int
    workers: int
    """How many packs are trained at once."""
    cores_a_pack: float
    engines: list[str]

    @property
    def to_train(self) -> int:
        """The number of runs to train."""
        return sum(line.to_train for line in self.lines)

    @property
    def core_hours(self) -> tuple[float, float]:
        """The least and the most for the whole sweep."""
        return sum(line.core_hours[0] for line in self.lines), sum(line.core_hours[1] for line in self.lines)

    @property
    def seconds(self) -> tuple[float, float]:
        """The least and the most wall time, on workers that nobody else uses."""
        low, high = (3600 * hours / self.cores_a_pack / self.workers for hours in self.core_hours)
        return low, high

    def plain(self) -> dict[str, Any]:
        """Return it for other programs."""
        return asdict(self) | {"to_train": self.to_train, "core_hours": self.core_hours, "seconds": self.seconds}

    def show(self, console: Console) -> None:
        """Print it."""
        titles = ("method", "world", "runs", "to train", "packs", "core-hours")
        table = Table(*titles, title=self.sweep, title_justify="left")
        for line in self.lines:
            counts = (str(line.runs), str(line.to_train), str(line.packs))
            table.add_row(line.method, line.world, *counts, _range(*line.core_hours))
        console.print(table)
        for text in self.engines:
            say(console, text)
        console.print(f"{self.to_train} runs to train, {self.done} done; about {self.bytes / 2**20:.1f} MB of results")
        low, high = (duration(seconds) for seconds in self.seconds)
        workers = f"{self.workers} workers that nobody else uses"
        say(console, f"{_range(*self.core_hours)} core-hours: {low} to {high} on {workers}")


def estimate(spec: Spec, folder: Folder, cluster: Cluster, confirmation: Confirmation | None = None) -> Estimate:
    """Estimate packs, bytes, core-hours, and the time that they take on the cores of a cluster.

    With a confirmation only its test runs count as runs to train.
    """
    spec = with_growth(folder, spec)
    plan = forecast_plan(spec, folder)
    if confirmation is not None:
        plan.confirmation = confirmation
    stock = take_stock(RunStore(folder), plan)
    wanted = list(stock.wanted(tests_alone=confirmation is not None))
    counts = plan.counts()
    lines, size = [], 0
    for (world, method), family in plan.families.items():
        missing = [run for run in wanted if (run.world, run.method) == (world, method)]
        packs = plan.packs(missing, spec.execution.draws_per_pack)
        one = seconds_a_run(spec, plan, family, missing) if missing else (0.0, 0.0)
        low, high = (len(missing) * cost * spec.execution.cpus_per_pack / 3600 for cost in one)
        lines.append(Line(method, world, counts[world, method], len(missing), len(packs), (low, high)))
        size += len(missing) * (BYTES_A_RUN + BYTES_A_ROW * family.training.iterations)
    return Estimate(
        sweep=spec.name,
        lines=lines,
        done=len(stock.done),
        bytes=size,
        workers=_slots(spec, cluster),
        cores_a_pack=spec.execution.cpus_per_pack,
        engines=engine_lines(spec),
    )


def refuse_as_launch(spec: Spec, folder: Folder, cluster: Cluster) -> None:
    """Refuse what a launch would refuse before it trains anything: a changed spec, or what cannot be trained here."""
    additions(folder, spec)
    if not cluster.address:
        check_engines(spec)
    open_trackers(spec, folder)


def _range(low: float, high: float) -> str:
    digits = 1 if high >= 10 else 2
    return f"{low:.{digits}f} to {high:.{digits}f}"


def seconds_a_run(spec: Spec, plan: Plan, family: Family, runs: list[PlannedRun]) -> tuple[float, float]:
    """Estimate the least and the most that a run costs, in a pack like those that would be trained.

    It is processor time, which other work on this machine hardly changes.
    """
    pack = next(plan.pack_by_pack(runs, spec.execution.draws_per_pack))
    if family.is_learner:
        one = seconds_of_learner(family.run(plan.values[pack.method][pack.runs[0].draw], pack.runs[0].seed))
        return one / (1 + LEARNERS_UNSEEN), one * (1 + LEARNERS_UNSEEN)
    found = [_calibrate(spec, plan, family, pack) for _ in range(ROUNDS)]
    return min(found) / (1 + UNSEEN), max(found) * (1 + UNSEEN)


def _calibrate(spec: Spec, plan: Plan, family: Family, pack: PlannedPack) -> float:
    """Time two short iterations of different lengths, which tells the cost of a step from that of an evaluation."""
    engine = engine_of(spec, family)[0]
    short, long = CALIBRATION[engine]
    times = [_time(spec, plan, family, pack.runs, steps, LIVED[engine]) for steps in (short, long)]
    a_step = max(0.0, (times[1] - times[0]) / (long - short))
    evaluation = max(0.0, times[0] - a_step * short)
    whole = family.run(plan.values[pack.method][pack.runs[0].draw], 0)
    iteration = a_step * whole.steps_per_iteration + evaluation
    return iteration * family.training.iterations / len(pack.runs)


def _time(spec: Spec, plan: Plan, family: Family, runs: tuple[PlannedRun, ...], steps: int, lived: int) -> float:
    short = {"steps_per_iteration": steps, "evaluation_steps": 1, "warm_up": lived, "replay_size": lived + 10_000}
    training = family.training.model_copy(update=short)
    brief = Family(family.world_name, family.world, family.method, family.recipe, training)
    members = [brief.run(plan.values[run.method][run.draw], run.seed) for run in runs]
    engine = make_engine(spec.execution.engine, spec.execution.device, members)
    try:
        for _ in range(lived // steps + 1):
            engine.iterate()
        began = time.process_time()
        engine.iterate()
        return time.process_time() - began
    finally:
        engine.close()


def _slots(spec: Spec, cluster: Cluster) -> int:
    """Say how many packs are trained at once."""
    slots = max(1, int(cores_of(cluster) // spec.execution.cpus_per_pack))
    return min(slots, spec.execution.max_concurrent or slots)
