"""From a spec to its runs, and from the runs that are missing to packs."""

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mulex.config import MethodConfig, RunConfig, TrainingConfig, WorldConfig, digest
from sweeps.draws import Values
from sweeps.spec import Spec


@dataclass(frozen=True)
class Family:
    """What the runs of one method in one world share."""

    world_name: str
    world: WorldConfig
    method: str
    recipe: MethodConfig
    training: TrainingConfig

    def run(self, values: Values, seed: int) -> RunConfig:
        """The whole configuration of one run."""
        return RunConfig(
            world=self.world,
            method=self.method,
            recipe=self.recipe,
            training=self.training,
            values=values,
            seed=seed,
        )

    @cached_property
    def _text(self) -> tuple[str, str, str]:
        """The run's canonical text around its seed and its values; a test holds it to RunConfig.run_id."""
        plain = self.run(dict(self.recipe.hyperparameters), 0).canonical()
        text = {key: json.dumps(plain[key], sort_keys=True, separators=(",", ":")) for key in plain}
        return (
            f'{{"method":{text["method"]},"recipe":{text["recipe"]},"seed":',
            f',"training":{text["training"]},"values":',
            f',"world":{text["world"]}}}',
        )

    def run_id(self, values: Values, seed: int) -> str:
        """The id of one run, thousands a second."""
        before, between, after = self._text
        drawn = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(f"{before}{seed}{between}{drawn}{after}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PlannedRun:
    """One draw with one seed in one world."""

    run_id: str
    world: str
    method: str
    draw: int
    seed: int


@dataclass(frozen=True)
class PlannedPack:
    """Runs that one worker trains together."""

    world: str
    method: str
    runs: tuple[PlannedRun, ...]

    @property
    def name(self) -> str:
        """The name that mulex.train.Pack has for the same runs."""
        return digest([run.run_id for run in self.runs])


class Plan:
    """Every run of a spec."""

    def __init__(self, spec: Spec, values: dict[str, list[Values]]) -> None:
        """`values` has the draws of each method, in order."""
        self.spec, self.values = spec, values
        self.families = {
            (world, method): Family(world, spec.world(world), method, spec.recipe(method), spec.training_in(world))
            for world in spec.worlds
            for method in spec.methods
        }

    def runs(self) -> Iterator[PlannedRun]:
        """World by world, draw by draw, the methods in turn: so a sweep that is cut short is still balanced.

        A draw that repeats an earlier one, as happens with few choices, gives the same runs, which are planned once.
        """
        planned = set()
        for run in self._drawn():
            if run.run_id not in planned:
                planned.add(run.run_id)
                yield run

    def _drawn(self) -> Iterator[PlannedRun]:
        search = self.spec.search
        most = max((len(drawn) for drawn in self.values.values()), default=0)
        for world in self.spec.worlds:
            for draw in range(most):
                for method, drawn in self.values.items():
                    if draw < len(drawn):
                        for seed in range(search.first_seed, search.first_seed + search.seeds):
                            yield self.run(world, method, draw, seed)

    def run(self, world: str, method: str, draw: int, seed: int) -> PlannedRun:
        """One of them."""
        run_id = self.families[world, method].run_id(self.values[method][draw], seed)
        return PlannedRun(run_id, world, method, draw, seed)

    def unasked(self) -> int:
        """Runs of draws that an adaptive search has not asked for yet."""
        search = self.spec.search
        return sum(search.draws - len(drawn) for drawn in self.values.values()) * search.seeds * len(self.spec.worlds)

    def packs(self, missing: Collection[PlannedRun], draws_per_pack: int) -> list[PlannedPack]:
        """The missing runs by world, method and neighbouring draws; each run is in one pack."""
        groups: dict[tuple[int, str, str], list[PlannedRun]] = {}
        for run in missing:
            groups.setdefault((run.draw // draws_per_pack, run.world, run.method), []).append(run)
        return [PlannedPack(world, method, tuple(runs)) for (_, world, method), runs in groups.items()]

    def payload(self, pack: PlannedPack) -> dict[str, Any]:
        """All that a worker needs to train a pack, as plain data."""
        family = self.families[pack.world, pack.method]
        shared = family.run(dict(family.recipe.hyperparameters), 0).model_dump(mode="json", exclude={"values", "seed"})
        return {
            "shared": shared,
            "world": pack.world,
            "draws": [run.draw for run in pack.runs],
            "members": [{"values": self.values[pack.method][run.draw], "seed": run.seed} for run in pack.runs],
        }
