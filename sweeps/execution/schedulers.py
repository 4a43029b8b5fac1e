"""Schedulers, for specs that name one in `execution.scheduler`: packs that are behind at a rung are stopped.

A rung is a number of iterations. Every pack reports exactly at the rungs, so packs are compared after equal iterations,
and only with packs of the same method in the same world: returns of different worlds cannot be compared, and a method
that is behind another must be measured, not stopped.
"""

import statistics
from collections.abc import Iterable
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from mulex.streams import stream_key
from sweeps.execution.task import task_of
from sweeps.rung_scores import RungScores
from sweeps.spec import Spec
from sweeps.spec.execution import Scheduler

LEAST_FOR_MEDIAN = 3
"""Other packs that must have been at a rung before a median of them is worth anything."""


class RungScheduler(FIFOScheduler):
    """Stops packs at rungs, by the mean return that they and others of their family had there."""

    def __init__(self, settings: Scheduler) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.settings = settings
        self.stopped = 0
        self._scores: dict[tuple[str, str, int, int], dict[str, float]] = {}  # by pack

    def remember(self, packs: Iterable[RungScores]) -> int:
        """Compare later packs with these too; returns how many of them have been at a rung."""
        return sum(sum(self._add(pack, rung) for rung in pack.scores) > 0 for pack in packs)

    def _add(self, pack: RungScores, rung: int) -> bool:
        """Note a pack's score at a rung, unless its bracket passes it by; says whether it was new."""
        bracket = self._bracket(pack.pack, len(pack.rungs))
        if rung not in pack.rungs[bracket:]:
            return False
        known = self._scores.setdefault((pack.world, pack.method, bracket, rung), {})
        is_new = pack.pack not in known
        known.setdefault(pack.pack, pack.scores[rung])
        return is_new

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Stop a pack that is behind; one that went on from a checkpoint also says how it was at earlier rungs."""
        task, iteration = task_of(trial.config), int(result.get("iteration", 0))
        family = task.labels.world, task.method
        self.remember([RungScores(*family, task.name, task.rungs, dict(result.get("passed", [])))])
        if result.get("done"):
            return str(TrialScheduler.CONTINUE)
        now = RungScores(*family, task.name, task.rungs, {iteration: float(result["score"])})
        if not self._add(now, iteration):  # no rung of its bracket, or one at which it was compared before it was lost
            return str(TrialScheduler.CONTINUE)
        others = dict(self._scores[(*family, self._bracket(task.name, len(task.rungs)), iteration)])
        behind = self._is_behind(others.pop(task.name), list(others.values()))
        self.stopped += behind
        return str(TrialScheduler.STOP if behind else TrialScheduler.CONTINUE)

    def _is_behind(self, score: float, earlier: list[float]) -> bool:
        """Whether a pack is stopped; `earlier` are the scores that others had at the same rung."""
        if self.settings.name == "median_stopping":
            return len(earlier) >= LEAST_FOR_MEDIAN and score < statistics.median(earlier)
        return bool(earlier) and score < _quantile(earlier, 1 - 1 / self.settings.factor)

    def _bracket(self, pack: str, rungs: int) -> int:
        """Return how many of the first rungs a pack passes by: by its name in Hyperband, none otherwise.

        Bracket s has a share of factor ** -s of the packs, as in Hyperband, where it begins with that many fewer.
        """
        if self.settings.name != "hyperband" or rungs < 2:
            return 0
        shares = [self.settings.factor**-s for s in range(rungs)]
        place = stream_key(pack, "bracket") / 2**64 * sum(shares)
        return next((s for s in range(rungs) if place < sum(shares[: s + 1])), 0)


def _quantile(values: list[float], share: float) -> float:
    """Return a quantile, interpolated between neighbours."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def make_scheduler(spec: Spec) -> RungScheduler | None:
    """Make the scheduler that a spec names. It sees a pack's mean return so far."""
    settings = spec.execution.scheduling
    return RungScheduler(settings) if settings else None


def unstoppable(spec: Spec) -> list[str]:
    """Say in which worlds a spec's scheduler can stop no pack, and why."""
    settings, lines = spec.execution.scheduling, []
    if settings is None:
        return []
    for world in spec.worlds:
        iterations = spec.training_in(world).iterations
        if not settings.rungs_of(iterations):
            least = settings.first(iterations)
            why = f"its runs have {iterations} iterations, and the first rung is after {least}"
            lines.append(f"{settings.name} can stop no pack in {world}: {why}")
    packs = min(-(-spec.draws(method) // spec.execution.draws_per_pack) for method in spec.methods)
    needed = LEAST_FOR_MEDIAN + 1 if settings.name == "median_stopping" else 2
    if packs < needed:
        why = f"a method has {packs} pack{'s' if packs > 1 else ''} in a world, and {needed} are needed to compare"
        lines.append(f"{settings.name} can stop no pack: {why}")
    return lines
