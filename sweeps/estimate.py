"""`mulex sweep --dry-run`: what would be trained, and what it would cost, from a short calibration on this machine."""

import os
import time

from rich.console import Console
from rich.table import Table

from mulex.engines import make_engine
from mulex.folder import Folder
from sweeps.cluster_choice import Cluster
from sweeps.draws import draw_values
from sweeps.engine_choice import engine_lines, engine_of
from sweeps.launch import make_plan
from sweeps.plan import Family, Plan, PlannedRun
from sweeps.spec import Spec
from sweeps.store import take_stock
from sweeps.view import duration

CALIBRATION = {"torch": (40, 240), "native": (500, 4500)}  # steps of the two calibration iterations
LIVED = {"torch": 0, "native": 20_000}  # random steps before them: what is met again and again is cheaper there
BYTES_A_ROW, BYTES_A_RUN = 60, 12_000  # of a run file: measured on curves of 3 to 800 iterations, compressed


def print_estimate(spec: Spec, folder: Folder, cluster: Cluster, console: Console) -> None:
    """Counts, packs, bytes, core-hours, and the time on the cores there are."""
    plan = _whole_plan(spec, folder)
    stock = take_stock(folder, plan)
    wanted = [*stock.missing, *stock.failed]
    slots = _slots(spec, cluster)
    table = Table("method", "world", "runs", "to train", "packs", "core-hours", title=spec.name, title_justify="left")
    seconds, size = 0.0, 0
    for (world, method), family in plan.families.items():
        planned = [run for run in plan.runs() if (run.world, run.method) == (world, method)]
        missing = [run for run in wanted if (run.world, run.method) == (world, method)]
        packs = plan.packs(missing, spec.execution.draws_per_pack)
        cost = len(missing) * seconds_a_run(spec, plan, family, missing) if missing else 0.0
        counts = (str(len(planned)), str(len(missing)), str(len(packs)))
        table.add_row(method, world, *counts, f"{cost * spec.execution.cpus_per_pack / 3600:.2f}")
        seconds += cost
        size += len(missing) * (BYTES_A_RUN + BYTES_A_ROW * family.training.iterations)
    console.print(table)
    for line in engine_lines(spec):
        console.print(line, highlight=False, soft_wrap=True)
    hours = seconds * spec.execution.cpus_per_pack / 3600
    console.print(f"{len(wanted)} runs to train, {len(stock.done)} done; about {size / 2**20:.1f} MB of results")
    console.print(f"about {hours:.1f} core-hours: {duration(seconds / slots)} on {slots} workers", highlight=False)


def _whole_plan(spec: Spec, folder: Folder) -> Plan:
    """With random draws in place of those that an adaptive search has yet to ask for: they cost as much."""
    plan = make_plan(spec, folder)
    for method, asked in plan.values.items():
        stand_ins = draw_values("random", spec.search.seed, method, spec.space(method), spec.search.draws)
        plan.values[method] = asked + stand_ins[len(asked) :]
    return plan


def seconds_a_run(spec: Spec, plan: Plan, family: Family, runs: list[PlannedRun]) -> float:
    """Of a run in a pack like those that would be trained: two short iterations tell steps from evaluation."""
    pack = plan.packs(runs, spec.execution.draws_per_pack)[0]
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
        began = time.perf_counter()
        engine.iterate()
        return time.perf_counter() - began
    finally:
        engine.close()


def _slots(spec: Spec, cluster: Cluster) -> int:
    """How many packs are trained at once."""
    cores = float(cluster.cpus or os.cpu_count() or 1)
    if cluster.address:
        import ray

        from sweeps.tuning import connected

        with connected(cluster):
            cores = ray.cluster_resources().get("CPU", 1.0)
    slots = max(1, int(cores // spec.execution.cpus_per_pack))
    return min(slots, spec.execution.max_concurrent or slots)
