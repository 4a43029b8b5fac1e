"""Queues of packs to train: those that are known ahead, and those of an adaptive search."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from mulex.store.folder import Folder
from mulex.store.layout import run_name
from mulex.store.roles import TUNE
from mulex.store.run_file import DamagedRunFile
from mulex.store.run_store import RunStore
from mulex.store.score import score_of
from sweeps.growth import shorter_packs
from sweeps.plan import Plan, PlannedPack, PlannedRun
from sweeps.search.adaptive import AdaptiveSearch
from sweeps.search.ledger import write_ledger


class Packs(Protocol):
    """A queue of packs to train."""

    packs: dict[str, PlannedPack]
    """The packs that were given to be trained, by their names."""

    def total(self) -> int:
        """Return how many packs there may be at most."""

    def next(self) -> PlannedPack | None:
        """Return the next pack to train; None when there is none left."""

    def ended(self, name: str) -> None:
        """Note that a pack has ended, whether well or not."""


class FixedPacks:
    """Packs that do not depend on the results of others; each is made when it is asked for."""

    def __init__(self, packs: Iterable[PlannedPack], most: int) -> None:
        """`most` is the number of packs at most."""
        self.packs: dict[str, PlannedPack] = {}
        self._waiting, self._most = iter(packs), most

    def total(self) -> int:
        return self._most

    def next(self) -> PlannedPack | None:
        pack = next(self._waiting, None)
        if pack is not None:
            self.packs[pack.name] = pack
        return pack

    def ended(self, name: str) -> None:
        """Do nothing: the store has its results."""


class AdaptivePacks:
    """The packs of an adaptive sweep: unfinished draws first, then new ones until there are enough."""

    def __init__(self, plan: Plan, folder: Folder) -> None:
        self.plan, self.folder, self._store = plan, folder, RunStore(folder)
        assert isinstance(plan.search, AdaptiveSearch)
        self.studies = plan.search.studies(plan.values)
        self.packs: dict[str, PlannedPack] = {}
        self._sources = {pack.name: pack.source for pack in shorter_packs(plan, folder)}
        self._waiting: list[PlannedPack] = []
        self._open: dict[tuple[str, int], set[str]] = {}  # draw -> its packs that are not finished
        for run in list(plan.runs()):
            if (
                run.role == TUNE
                and run.world == next(iter(plan.spec.worlds))
                and run.seed == plan.spec.search.first_seed
            ):
                self._take_up(run.method, run.draw)

    def total(self) -> int:
        """Return how many packs there may be at most."""
        search = self.plan.spec.search  # a pack has at least one run
        return search.draws * search.seeds * len(self.plan.spec.methods) * len(self.plan.spec.worlds)

    def next(self) -> PlannedPack | None:
        """Return the next pack to train; None when all draws were chosen."""
        while not self._waiting:
            method = min(self.plan.values, key=lambda name: len(self.plan.values[name]))
            draw = len(self.plan.values[method])
            if draw >= self.plan.spec.search.draws:
                return None
            drawn = self.plan.values[method]
            assert isinstance(drawn, list)
            drawn.append(self.studies[method].ask(draw))
            write_ledger(self.folder, method, self.plan.values[method])
            self._take_up(method, draw)
        pack = self._waiting.pop(0)
        pack = replace(pack, source=self._sources.get(pack.name, ""))
        self.packs[pack.name] = pack
        return pack

    def ended(self, name: str) -> None:
        """Tell the study a draw's score when the last of its packs has ended, whether well or not."""
        pack = self.packs[name]
        key = pack.method, pack.runs[0].draw
        self._open[key].discard(name)
        if not self._open[key]:
            self.studies[pack.method].tell(key[1], self.plan.values[pack.method][key[1]], self._score(*key))

    def _take_up(self, method: str, draw: int) -> None:
        """Queue the runs of a draw that have no result yet; the runs of a repeated draw are those of the first one."""
        drawn = self.plan.values[method]
        if drawn[draw] in drawn[:draw]:
            if (score := self._score(method, draw)) is not None:
                self.studies[method].tell(draw, drawn[draw], score)
            return
        packs = self.plan.packs([run for run in self._runs(method, draw) if self._result(run) is None], 1)
        self._open[method, draw] = {pack.name for pack in packs}
        self._waiting += packs
        if not packs:
            self.studies[method].tell(draw, drawn[draw], self._score(method, draw))

    def _runs(self, method: str, draw: int) -> list[PlannedRun]:
        search = self.plan.spec.search
        seeds = range(search.first_seed, search.first_seed + search.seeds)
        return [self.plan.run(world, method, draw, seed) for world in self.plan.spec.worlds for seed in seeds]

    def _score(self, method: str, draw: int) -> float | None:
        """Return the mean score of a draw's runs, without those that failed; None if there is no finite one.

        A single NaN makes the whole draw a failed one: its other runs alone would make it look better than it is.
        """
        results = [row for run in self._runs(method, draw) if (row := self._result(run)) is not None]
        scores = [score_of(row) for row in results]
        if not scores or not all(score is not None and math.isfinite(score) for score in scores):
            return None
        try:
            return statistics.fmean(score for score in scores if score is not None)
        except OverflowError:  # the sum of finite scores need not be finite
            return None

    def _result(self, run: PlannedRun) -> dict[str, Any] | None:
        """Return the row of a run that need not be trained again."""
        try:
            row = self._store.note(run_name(run.method, run.run_id)).row
        except (FileNotFoundError, DamagedRunFile):
            return None
        return None if row["status"] == "failed" else row
