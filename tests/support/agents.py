"""Small runs for the agents' tests: tiny worlds, few steps, rings that wrap."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import Any, TypeVar

import numpy as np
import torch

from mulex.config import GridWorldConfig, MethodConfig, RunConfig, TrainingConfig, WorldConfig
from mulex.learners.dqn.bonuses.simhash import simhash
from mulex.learners.dqn.engines import Row
from mulex.learners.dqn.pack_engine import PackEngine
from mulex.learners.dqn.replay import Batch
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.learners.dqn.torch.losses import Target
from mulex.methods import METHODS, MULEX, make_run, with_bonus
from mulex.worlds.interface import Outcome

METHOD_NAMES = tuple(METHODS)
FLAVOURS = ("dqn", "rainbow")
TINY_WORLD = GridWorldConfig(map="two_rooms", room_size=3, time_limit=25)
TINY_TRAINING: dict[str, Any] = {
    "iterations": 3,
    "steps_per_iteration": 60,
    "warm_up": 20,
    "batch_size": 8,
    "replay_size": 100,
    "target_period": 20,
    "hidden": 16,
}
SHARED = {
    "learner.steps",
    "bonus.rnd.steps",
    "replay.written",
    "priorities.range",
}  # equal for all members, without an axis P
RAGGED = {"worlds.played": "worlds.lengths", "bonus.simhash.seen": "bonus.simhash.kinds"}


@dataclass(frozen=True)
class Case:
    """A kind of run: everything but the members' own values."""

    method: str = "mulex"
    world: WorldConfig = TINY_WORLD
    bonus: str = "oracle"
    training: dict[str, Any] = field(default_factory=dict)
    composed: MethodConfig | None = None

    def recipe(self) -> MethodConfig:
        return self.composed or with_bonus(METHODS[self.method], self.bonus)

    def run(self, seed: int = 0, **values: float) -> RunConfig:
        training = TrainingConfig(**TINY_TRAINING | self.training)
        return make_run(self.world, self.method, training, values, seed, self.recipe())

    def members(self, count: int = 8) -> list[RunConfig]:
        """Runs that differ in every value that may differ."""
        return [self.run(seed=10 + k, **self._values(k)) for k in range(count)]

    def _values(self, k: int) -> dict[str, float]:
        every = {
            "learning_rate": 1e-4 * (k + 1),
            "epsilon": 0.05 + 0.1 * k,
            "beta": 0.3 * (k + 1),
            "p_task": 0.9 - 0.1 * k,
            "p_1": 0.1 + 0.1 * k,
            "gamma_steps": 0.5 + 0.06 * k,
        }
        return {name: every[name] for name in self.recipe().hyperparameters}


RULES: dict[str, dict[str, Any]] = {
    "episode": {"rule": "episode", "probabilities": {"task": 0.6}},
    "novelty": {"rule": "novelty", "parameters": {"visits": 2.0}},
    "surprise": {"rule": "surprise", "parameters": {"rate": 0.2, "steps": 3.0}},
    "bandit": {"rule": "bandit", "parameters": {"arms": 3.0, "window": 4.0}, "gamma_steps": 0.5},
}


def mulex_by(acting: dict[str, Any], **heads: Any) -> MethodConfig:
    """MuleX with another acting rule, and perhaps more heads."""
    plain = MULEX.model_dump() | {"acting": acting, "hyperparameters": {"learning_rate": 1e-3, "epsilon": 0.1}}
    return MethodConfig.read(plain | {"heads": plain["heads"] | heads})


def rule_case(rule: str, **training: Any) -> Case:
    """A run by an acting rule, long enough for it to switch."""
    return Case("mulex", composed=mulex_by(RULES[rule]), training={"steps_per_iteration": 80} | training)


EngineType = TypeVar("EngineType", bound=PackEngine)


def train(
    runs: list[RunConfig], iterations: int, make: Callable[[list[RunConfig]], EngineType] = TorchEngine
) -> tuple[EngineType, list[list[Row]]]:
    """A trained engine and its rows by iteration and member, without the time they took."""
    engine = make(runs)
    return engine, more(engine, iterations)


def more(engine: PackEngine, iterations: int) -> list[list[Row]]:
    """Train on."""
    return [[without_seconds(row) for row in engine.iterate()] for _ in range(iterations)]


def without_seconds(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "seconds"}


def member_state(engine: PackEngine, k: int) -> dict[str, np.ndarray]:
    """All that a snapshot holds of one member."""
    arrays = engine.save()
    ragged = {name: _part(array, arrays[RAGGED[name]], k) for name, array in arrays.items() if name in RAGGED}
    if "bonus.simhash.codes" in arrays:
        codes = arrays.pop("bonus.simhash.codes").reshape(int(arrays["bonus.simhash.kinds"].sum()), -1)
        ragged["bonus.simhash.codes"] = _part(codes, arrays["bonus.simhash.kinds"], k)
    whole = {name for name in arrays if name in SHARED or name.startswith("counter.")}
    rest = {name: array if name in whole else array[k] for name, array in arrays.items() if name not in ragged}
    return rest | ragged | {f"weights.{name}": array for name, array in engine.weights(k).items()}


def _part(array: np.ndarray, lengths: np.ndarray, k: int) -> np.ndarray:
    end = int(lengths[: k + 1].sum())
    return array[end - int(lengths[k]) : end]


def assert_same_arrays(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """Equal names, types, shapes and bits."""
    assert found.keys() == expected.keys()
    for name, array in found.items():
        assert array.dtype == expected[name].dtype, name
        assert array.shape == expected[name].shape, name
        assert array.tobytes() == expected[name].tobytes(), name


@dataclass(frozen=True)
class Step:
    """What one training step did in the worlds of a pack, as the worlds themselves tell it."""

    before: np.ndarray  # (P, D)
    actions: np.ndarray
    outcome: Outcome
    after: np.ndarray

    @property
    def ended(self) -> np.ndarray:
        return self.outcome.terminal | self.outcome.truncated


@dataclass(frozen=True)
class Update:
    """What one update learned from."""

    at: int  # training steps done before it
    batches: list[Batch]
    targets: dict[int, Target] = field(default_factory=dict)  # by head


class Watch:
    """Listens to an engine: every step of its worlds, and every target that its heads are given."""

    def __init__(self, engine: TorchEngine) -> None:
        self.engine = engine
        self.steps: list[Step] = []
        self.updates: list[Update] = []
        self._wrap(engine.worlds, "step", self._on_step)
        self._wrap(engine.learner, "update", self._on_update)
        for h, head in enumerate(engine.learner.heads):
            self._wrap(head, "loss", partial(self._on_loss, h))

    def _wrap(self, owner: Any, name: str, listener: Callable[..., Any]) -> None:
        setattr(owner, name, partial(listener, getattr(owner, name)))

    def _on_step(self, step: Callable[..., Outcome], actions: np.ndarray) -> Outcome:
        before = self.engine.worlds.observe()
        outcome = step(actions)
        self.steps.append(Step(before, actions.copy(), outcome, self.engine.worlds.observe()))
        return outcome

    def _on_update(self, update: Callable[..., Any], batches: list[Batch], importance: list[Any]) -> Any:
        self.updates.append(Update(len(self.steps), batches))
        return update(batches, importance)

    def _on_loss(self, h: int, loss: Callable[..., Any], out: Any, target_out: Any, target: Target) -> Any:
        self.updates[-1].targets[h] = target
        return loss(out, target_out, target)

    def place(self, update: Update, slot: int) -> int:
        """Which step stands in a slot of the ring at an update: the last one that was written there."""
        size = self.engine.replay.size
        return max(place for place in range(update.at) if place % size == slot)


def naive_target(watch: Watch, update: Update, head: int, p: int, slot: int, n: int) -> tuple[float, float]:
    """The discounted reward of a head and how much what follows counts, from the steps of the worlds alone."""
    run = watch.engine.runs[p]
    place = watch.place(update, slot)
    total, follow = 0.0, 1.0
    for i in range(n):
        outcome = watch.steps[place + i].outcome
        total += follow * naive_reward(watch, update, head, p, place + i)
        follow *= run.discount
        if outcome.terminal[p]:
            return total, 0.0
        if outcome.truncated[p]:
            return total, follow if run.training.bootstrap_at_time_limit else 0.0
    return total, follow


def naive_stack(watch: Watch, p: int, place: int) -> list[list[float]]:
    """The last frames before a step, oldest first, filled with the first of its episode."""
    first = place
    while first > 0 and not watch.steps[first - 1].ended[p]:
        first -= 1
    return [watch.steps[max(first, place - back)].before[p].tolist() for back in reversed(range(watch.engine.stack))]


def check_stacks(watch: Watch, update: Update, batch: Batch) -> None:
    """What a batch shows is what was seen: the last frames of the same episode, before and after its steps."""
    for p, slots in enumerate(batch.slot.tolist()):
        for b, slot in enumerate(slots):
            place = watch.place(update, slot)
            last = place + int(batch.steps[p, b]) - 1
            after = [*naive_stack(watch, p, last)[1:], watch.steps[last].after[p].tolist()]
            assert batch.stack[p, b].tolist() == naive_stack(watch, p, place)
            assert batch.next_stack[p, b].tolist() == after


def naive_reward(watch: Watch, update: Update, head: int, p: int, place: int) -> float:
    """What a head is paid for a step: its shares of the task's reward and of the bonuses."""
    run = watch.engine.runs[p]
    total = 0.0
    for signal, share in list(run.recipe.heads.values())[head].reward.items():
        if signal == "task":
            reward, clip = float(watch.steps[place].outcome.reward[p]), run.training.reward_clip or float("inf")
            total += run.weight(share) * max(-clip, min(clip, reward))
        else:
            total += run.weight(share) * naive_bonus(watch, update, signal, p, place)
    return total


def naive_bonus(watch: Watch, update: Update, signal: str, p: int, place: int) -> float:
    """1 / sqrt(N) of what a step's state counts as, N up to and with this step, or up to the update."""
    training = watch.engine.run.training
    steps = watch.steps[: update.at if training.bonus_at == "replay" else place + 1]
    seen = [(step.before if training.bonus_of == "left" else step.after)[p] for step in steps]
    if signal == "oracle":
        kinds = [int(record[0]) for record in seen]
    else:
        kinds = [simhash(frame) for frame in watch.engine.worlds.frames(np.array(seen))]
    return 1 / sqrt(kinds.count(kinds[place]))


def check_targets(case: Case, iterations: int = 2) -> Watch:
    """Every stack and every target of every update, of all heads and members, against the naive ones."""
    engine = TorchEngine(case.members(3))
    watch = Watch(engine)
    more(engine, iterations)
    for update in watch.updates:
        for source, batch in zip(engine.learner.sources, update.batches, strict=True):
            check_stacks(watch, update, batch)
            for h in source.heads:
                expected = [
                    [naive_target(watch, update, h, p, slot, source.n_step) for slot in slots]
                    for p, slots in enumerate(batch.slot.tolist())
                ]
                found = torch.stack([update.targets[h].reward, update.targets[h].follow], dim=2)
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    return watch
