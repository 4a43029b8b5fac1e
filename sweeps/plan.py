"""From a spec to its runs, and from the runs that are missing to packs."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

from mulex.config import MethodConfig, RunConfig, TrainingConfig, WorldConfig
from mulex.learners.run_config import LearnerConfig, LearnerRun
from mulex.settings import digest
from mulex.store.entry import RunEntry
from mulex.store.folder import Folder
from mulex.store.roles import TEST, TUNE
from sweeps.confirmation import Confirmation, check_confirmation, read_confirmation
from sweeps.search import make_search
from sweeps.search.base import Drawn
from sweeps.search.space import Values, may_repeat
from sweeps.spec import Spec
from sweeps.spec.models import as_setting

NOTHING_CONFIRMED = Confirmation()


@dataclass(frozen=True)
class Family:
    """What the runs of one method in one world share."""

    world_name: str
    world: WorldConfig
    method: str
    recipe: MethodConfig | LearnerConfig
    training: TrainingConfig

    def run(self, values: Values, seed: int) -> RunConfig:
        """Return the whole configuration of one run."""
        kind = LearnerRun if self.is_learner else RunConfig
        return kind(
            world=self.world,
            method=self.method,
            recipe=self.recipe,  # type: ignore[arg-type]
            training=self._training(self.settings(values)),
            values=values,
            seed=seed,
        )

    @property
    def is_learner(self) -> bool:
        """Whether an external learner trains these runs."""
        return isinstance(self.recipe, LearnerConfig)

    def earlier(self, lengths: Collection[int]) -> list["Family"]:
        """Return the families of the same runs from when their sweep had these numbers of iterations."""
        first = self.training.grown_from
        known = [
            length for length in sorted(lengths) if first is not None and first <= length < self.training.iterations
        ]
        return [self._of_length(length, None if length == first else first) for length in known]

    def _of_length(self, iterations: int, first: int | None) -> "Family":
        key = iterations, first
        if key not in self._shorter:
            training = self.training.model_copy(update={"iterations": iterations, "grown_from": first})
            self._shorter[key] = replace(self, training=training)
        return self._shorter[key]

    @cached_property
    def _shorter(self) -> "dict[tuple[int, int | None], Family]":
        return {}

    def settings(self, values: Values) -> Values:
        """Return the training settings among the values of a draw."""
        own = self.recipe.hyperparameters
        return {name: value for name, value in values.items() if name not in own and value is not None}

    def _training(self, settings: Values) -> TrainingConfig:
        if not settings:
            return self.training
        own = {name: as_setting(name, value) for name, value in settings.items()}
        if "iterations" in own:  # a length of the method's own does not grow with the sweep's
            own["grown_from"] = None
        return TrainingConfig.read({**self.training.model_dump(), **own})

    def run_id(self, values: Values, seed: int) -> str:
        """Return the id of one run without building its configuration; a test compares it with RunConfig.run_id."""
        return self.run_ids(values)(seed)

    def run_ids(self, values: Values) -> Callable[[int], str]:
        """Return the function that gives the id of a draw's run by its seed; it hashes little more than the seed."""
        settings = self.settings(values)
        key = json.dumps(settings)
        if key not in self._texts:
            self._texts[key] = self._text(settings)
        before, between, after = self._texts[key]
        drawn = json.dumps(values, sort_keys=True, separators=(",", ":"))
        begun = hashlib.sha256(before.encode())

        def run_id(seed: int) -> str:
            whole = begun.copy()
            whole.update(f"{seed}{between}{drawn}{after}".encode())
            return whole.hexdigest()[:16]

        return run_id

    @cached_property
    def _texts(self) -> dict[str, tuple[str, str, str]]:
        return {}

    def _text(self, settings: Values) -> tuple[str, str, str]:
        """Return the canonical text of a run before its seed, between its seed and its values, and after these."""
        plain = self.run({**self.recipe.hyperparameters, **settings}, 0).canonical()
        text = {key: json.dumps(plain[key], sort_keys=True, separators=(",", ":")) for key in plain}
        return (
            f'{{"method":{text["method"]},"recipe":{text["recipe"]},"seed":',
            f',"training":{text["training"]},"values":',
            f',"world":{text["world"]}}}',
        )


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One draw with one seed in one world."""

    run_id: str
    world: str
    method: str
    draw: int
    seed: int
    role: str = TUNE

    def plain(self) -> dict[str, str | int]:
        """Return what it is, for other programs."""
        return {"run": self.run_id, "world": self.world, "method": self.method, "draw": self.draw, "seed": self.seed}


@dataclass(frozen=True)
class PlannedPack:
    """Runs that one worker trains together."""

    world: str
    method: str
    runs: tuple[PlannedRun, ...]
    source: str = ""
    """The name of the pack whose checkpoints it begins with, where its runs were shorter before."""

    @property
    def role(self) -> str:
        """The role that all runs of the pack share."""
        return self.runs[0].role

    @property
    def name(self) -> str:
        """The name of the pack, which mulex.training.Pack computes in the same way."""
        return digest([run.run_id for run in self.runs])


class _Group(NamedTuple):
    """One draw in one world, with all its seeds of one role."""

    world: str
    method: str
    draw: int
    seeds: range
    role: str


class Plan:
    """Every run of a spec. Draws and ids are computed when they are asked for, so a plan of any size is small."""

    def __init__(self, spec: Spec, values: Drawn, confirmation: Confirmation = NOTHING_CONFIRMED) -> None:
        self.spec, self.values, self.search = spec, values, make_search(spec)
        self.confirmation = confirmation
        self.families = {
            (world, method): Family(world, spec.world(world), method, spec.recipe(method), spec.training_in(world))
            for world in spec.worlds
            for method in spec.methods
        }

    @cached_property
    def may_repeat(self) -> bool:
        """Whether two draws, or two worlds, may have the same runs, which are planned once."""
        worlds = {digest([f.world.model_dump(mode="json"), f.training.canonical()]) for f in self.families.values()}
        return len(worlds) < len(self.spec.worlds) or any(map(may_repeat, self.search.spaces.values()))

    def runs(self) -> Iterator[PlannedRun]:
        """Yield the runs world by world, draw by draw, the methods in turn, so that a sweep cut short is balanced.

        Test runs come last.
        A draw that repeats an earlier one, as happens with few choices, has the same runs, which are planned once.
        """
        return self.missing(())

    def missing(self, there: Iterable[RunEntry], tests_alone: bool = False) -> Iterator[PlannedRun]:
        """Yield the runs that are not there, in the order of `runs`; ids are computed for these alone.

        Args:
            there: Finished runs of this plan.
            tests_alone: Whether only test runs are wanted.
        """
        groups = chain(() if tests_alone else self._drawn(), self._tests())
        if self.may_repeat:
            known = {entry.run for entry in there}
            return self._distinct(groups, known)
        keys = {(entry.world, entry.method, entry.draw, entry.seed) for entry in there}
        return self._without(groups, keys)

    def _distinct(self, groups: Iterable[_Group], known: set[str]) -> Iterator[PlannedRun]:
        for group in groups:
            for run in self._runs(group, group.seeds):
                if run.run_id not in known:
                    known.add(run.run_id)
                    yield run

    def _without(self, groups: Iterable[_Group], keys: set[tuple[str, str, int, int]]) -> Iterator[PlannedRun]:
        for group in groups:
            place = group.world, group.method, group.draw
            seeds = [seed for seed in group.seeds if (*place, seed) not in keys]
            if seeds:
                yield from self._runs(group, seeds)

    def _runs(self, group: _Group, seeds: Iterable[int]) -> Iterator[PlannedRun]:
        run_id = self.families[group.world, group.method].run_ids(self.values[group.method][group.draw])
        for seed in seeds:
            yield PlannedRun(run_id(seed), group.world, group.method, group.draw, seed, group.role)

    @cached_property
    def tuning_seeds(self) -> range:
        """The seeds that every draw is trained with."""
        return range(self.spec.search.first_seed, self.spec.search.first_seed + self.spec.search.seeds)

    def _drawn(self) -> Iterator[_Group]:
        seeds, most = self.tuning_seeds, max((len(drawn) for drawn in self.values.values()), default=0)
        for world in self.spec.worlds:
            for draw in range(most):
                for method, drawn in self.values.items():
                    if draw < len(drawn):
                        yield _Group(world, method, draw, seeds, TUNE)

    def _tests(self) -> Iterator[_Group]:
        """Yield the confirmed draws with test seeds: the best draw of each method first."""
        chosen = {key: self.confirmation.of(*key) for key in self.families}
        for rank in range(max((len(draws) for draws in chosen.values()), default=0)):
            for (world, method), draws in chosen.items():
                if rank < len(draws):
                    yield _Group(world, method, draws[rank], self.confirmation.test_seeds, TEST)

    def run(self, world: str, method: str, draw: int, seed: int, role: str = TUNE) -> PlannedRun:
        """Return one planned run."""
        run_id = self.families[world, method].run_id(self.values[method][draw], seed)
        return PlannedRun(run_id, world, method, draw, seed, role)

    def counts(self) -> dict[tuple[str, str], int]:
        """Return how many runs are planned by world and method; no ids are computed unless runs may repeat."""
        counts = Counter(dict.fromkeys(self.families, 0))
        if self.may_repeat:
            counts.update((run.world, run.method) for run in self.runs())
            return dict(counts)
        for world, method in self.families:
            tests = len(self.confirmation.of(world, method)) * self.confirmation.seeds
            counts[world, method] = len(self.values[method]) * self.spec.search.seeds + tests
        return dict(counts)

    def has(self, entry: RunEntry) -> bool:
        """Return whether a finished run is one of this plan.

        A run that was trained for an equal spec has the id that its draw and seed give; other ids are computed.
        """
        family, drawn = self.families.get((entry.world, entry.method)), self.values.get(entry.method, [])
        if family is None or not 0 <= entry.draw < len(drawn) or self.role(entry) is None:
            return False
        return entry.spec_hash == self.spec_hash or family.run_id(drawn[entry.draw], entry.seed) == entry.run

    def had(self, entry: RunEntry) -> bool:
        """Return whether a finished run is one of this plan from when its runs were shorter."""
        family, drawn = self.families.get((entry.world, entry.method)), self.values.get(entry.method, [])
        if family is None or not 0 <= entry.draw < len(drawn):
            return False
        lengths = {entry.iterations, family.training.grown_from or 0}
        ids = [earlier.run_id(drawn[entry.draw], entry.seed) for earlier in family.earlier(lengths)]
        return entry.run in ids

    @cached_property
    def spec_hash(self) -> str:
        """The hash of the spec that all run files of a launch carry."""
        return self.spec.outcome_hash()

    def role(self, entry: RunEntry | PlannedRun) -> str | None:
        """Return the role that a run has by its draw and seed; None if the plan has no such seed."""
        if entry.seed in self.tuning_seeds:
            return TUNE
        is_test = entry.seed in self.confirmation.test_seeds
        return TEST if is_test and entry.draw in self.confirmation.of(entry.world, entry.method) else None

    def planned(self, entry: RunEntry) -> PlannedRun:
        """Return the planned run that a finished run is."""
        role = self.role(entry) or TUNE
        return PlannedRun(entry.run, entry.world, entry.method, entry.draw, entry.seed, role)

    def unasked(self) -> int:
        """Return the number of runs of draws that an adaptive search has not chosen yet."""
        draws = sum(self.spec.draws(method) - len(drawn) for method, drawn in self.values.items())
        return draws * self.spec.search.seeds * len(self.spec.worlds)

    def packs(self, missing: Iterable[PlannedRun], draws_per_pack: int) -> list[PlannedPack]:
        """Return all packs of `pack_by_pack`."""
        return list(self.pack_by_pack(missing, draws_per_pack))

    def pack_by_pack(self, missing: Iterable[PlannedRun], draws_per_pack: int) -> Iterator[PlannedPack]:
        """Group missing runs by world, method, neighbouring draws and shape, so that each is in one pack.

        The runs come in the order of `runs`, and few of them are taken before the first pack is given. A draw may have
        more test seeds than tuning seeds. No pack has more runs than one of tuning runs.
        """
        most = draws_per_pack * self.spec.search.seeds
        blocks = groupby(missing, key=lambda run: (run.world, run.draw // draws_per_pack, run.role))
        for (world, _, _), runs in blocks:
            groups: dict[tuple[str, str], list[PlannedRun]] = {}
            for run in runs:
                groups.setdefault(self._shape(run, draws_per_pack), []).append(run)
            for (method, _), members in groups.items():
                for start in range(0, len(members), most):
                    yield PlannedPack(world, method, tuple(members[start : start + most]))

    def _shape(self, run: PlannedRun, draws_per_pack: int) -> tuple[str, str]:
        """Return what the runs of a pack share; a learner trains one after another, so each is a pack by default."""
        family = self.families[run.world, run.method]
        if family.is_learner and draws_per_pack == 1:
            return run.method, run.run_id
        return run.method, json.dumps(family.settings(self.values[run.method][run.draw]))


def make_plan(spec: Spec, folder: Folder) -> Plan:
    """Return the plan of every draw that is known now; an adaptive search adds to it as the sweep goes on."""
    return _plan(spec, folder, make_search(spec).drawn(folder))


def forecast_plan(spec: Spec, folder: Folder) -> Plan:
    """Return the plan of all draws, with stand-ins of the same cost for those that are not known yet."""
    return _plan(spec, folder, make_search(spec).forecast(folder))


def _plan(spec: Spec, folder: Folder, drawn: Drawn) -> Plan:
    confirmation = read_confirmation(folder)
    check_confirmation(folder, confirmation, spec, drawn)
    return Plan(spec, drawn, confirmation)
