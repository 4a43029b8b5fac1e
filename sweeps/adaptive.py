"""Adaptive search: Optuna's TPE is asked for a draw when a worker is free, and told the mean score of its runs.

Every draw that was asked for is written to draws/<method>.json before it is trained, so a later launch first finishes
those, and rebuilds the study from the ones that are finished.
"""

import json
import statistics
from collections.abc import Callable
from typing import Any

import optuna

from mulex.folder import Folder
from mulex.run_file import DamagedRunFile, read_run_note, run_name
from mulex.streams import stream_key
from sweeps.distributions import Distribution
from sweeps.draws import Values, draws_name
from sweeps.plan import Plan, PlannedPack, PlannedRun
from sweeps.spec import Spec

optuna.logging.set_verbosity(optuna.logging.WARNING)


def read_ledger(folder: Folder, spec: Spec) -> dict[str, list[Values]]:
    """The draws that were asked for so far, by method, in order."""
    values = {}
    for method in spec.methods:
        name = draws_name(method)
        values[method] = json.loads(folder.read(name)) if folder.exists(name) else []
    return values


def optuna_distribution(distribution: Distribution) -> optuna.distributions.BaseDistribution:
    """The same range in Optuna's words."""
    low, high = distribution.values[0], distribution.values[-1]
    if distribution.kind == "choice":
        return optuna.distributions.CategoricalDistribution(list(distribution.values))
    if distribution.kind == "int_uniform":
        return optuna.distributions.IntDistribution(int(low), int(high))
    return optuna.distributions.FloatDistribution(low, high, log=distribution.kind == "log_uniform")


class Study:
    """The search of one method."""

    def __init__(self, spec: Spec, method: str, draws: int) -> None:
        """`draws` were asked for by earlier launches; a study that begins after them must not repeat them."""
        space = spec.space(method)
        self.space = {name: d for name, d in space.items() if not d.is_constant}
        self.constants = {name: d.at(0.0) for name, d in space.items() if d.is_constant}
        self.distributions = {name: optuna_distribution(d) for name, d in self.space.items()}
        seed = stream_key(f"sweep {spec.search.seed}/{method}", f"tpe {draws}") % 2**32
        self._study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed), direction="maximize")
        self._asked: dict[int, optuna.Trial] = {}

    def ask(self, draw: int) -> Values:
        """A new draw."""
        trial = self._study.ask(self.distributions)
        self._asked[draw] = trial
        return {**self.constants, **{name: float(value) for name, value in trial.params.items()}}

    def tell(self, draw: int, values: Values, score: float) -> None:
        """What came of a draw, of this launch or of an earlier one."""
        if draw in self._asked:
            self._study.tell(self._asked.pop(draw), score)
            return
        params = {name: self._param(name, values[name]) for name in self.distributions}
        trial = optuna.trial.create_trial(params=params, distributions=self.distributions, value=score)
        self._study.add_trial(trial)

    def _param(self, name: str, value: float) -> Any:
        whole = isinstance(self.distributions[name], optuna.distributions.IntDistribution)
        return int(value) if whole else value


class AdaptivePacks:
    """The packs of an adaptive sweep: unfinished draws first, then new ones until there are enough."""

    def __init__(self, plan: Plan, folder: Folder, to_config: Callable[[PlannedPack], dict[str, Any]]) -> None:
        self.plan, self.folder, self.to_config = plan, folder, to_config
        self.studies = {method: Study(plan.spec, method, len(plan.values[method])) for method in plan.spec.methods}
        self.packs: dict[str, PlannedPack] = {}
        self._waiting: list[PlannedPack] = []
        self._open: dict[tuple[str, int], set[str]] = {}  # draw -> its packs that are not finished
        for run in list(plan.runs()):
            if run.world == next(iter(plan.spec.worlds)) and run.seed == plan.spec.search.first_seed:
                self._take_up(run.method, run.draw)

    def total(self) -> int:
        """How many packs there may be at most."""
        return self.plan.spec.search.draws * len(self.plan.spec.methods) * len(self.plan.spec.worlds)

    def next(self) -> dict[str, Any] | None:
        """The next pack to train, as a trial's configuration; None when all draws are asked for."""
        while not self._waiting:
            method = min(self.plan.values, key=lambda name: len(self.plan.values[name]))
            draw = len(self.plan.values[method])
            if draw >= self.plan.spec.search.draws:
                return None
            self.plan.values[method].append(self.studies[method].ask(draw))
            self.folder.write(draws_name(method), json.dumps(self.plan.values[method]).encode())
            self._take_up(method, draw)
        pack = self._waiting.pop(0)
        self.packs[pack.name] = pack
        return self.to_config(pack)

    def ended(self, name: str) -> None:
        """A pack came to its end, well or not; tell the study when it was the last of its draw."""
        pack = self.packs[name]
        key = pack.method, pack.runs[0].draw
        self._open[key].discard(name)
        if not self._open[key]:
            self._tell(*key)

    def _take_up(self, method: str, draw: int) -> None:
        drawn = self.plan.values[method]
        repeats = drawn[draw] in drawn[:draw]
        missing = [] if repeats else [run for run in self._runs(method, draw) if self._score(run) is None]
        packs = self.plan.packs(missing, 1)
        self._open[method, draw] = {pack.name for pack in packs}
        self._waiting += packs
        if not packs:
            self._tell(method, draw)

    def _runs(self, method: str, draw: int) -> list[PlannedRun]:
        search = self.plan.spec.search
        seeds = range(search.first_seed, search.first_seed + search.seeds)
        return [self.plan.run(world, method, draw, seed) for world in self.plan.spec.worlds for seed in seeds]

    def _tell(self, method: str, draw: int) -> None:
        scores = [score for run in self._runs(method, draw) if (score := self._score(run)) is not None]
        if scores:
            self.studies[method].tell(draw, self.plan.values[method][draw], statistics.fmean(scores))

    def _score(self, run: PlannedRun) -> float | None:
        """Of a run that has one: its normalised AUC, or the plain one where there is no ideal return."""
        try:
            row = read_run_note(self.folder, run_name(run.method, run.run_id)).row
        except (FileNotFoundError, DamagedRunFile):
            return None
        score = row.get("normalised_auc") if row.get("normalised_auc") is not None else row.get("auc")
        return None if score is None else float(score)
