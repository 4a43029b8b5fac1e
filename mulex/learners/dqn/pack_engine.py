"""What all engines share: the parts of a pack, its iterations, its rows, and its state as arrays."""

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mulex.config import RunConfig
from mulex.learners.dqn.acting.contract import make_rule
from mulex.learners.dqn.acting.schedule import Schedule
from mulex.learners.dqn.bonuses.contract import Bonus, make_bonus
from mulex.learners.dqn.engines import Row
from mulex.learners.dqn.evaluation import Evaluation, Stacks
from mulex.learners.dqn.heads import Source, reward_weights, sources_of
from mulex.learners.dqn.memory import check_memory
from mulex.learners.dqn.network_shape import frames_of_stack
from mulex.learners.dqn.priorities import Priorities
from mulex.learners.dqn.replay import Replay
from mulex.streams import stream_keys
from mulex.worlds.make import make_worlds


class Tally:
    """Sums over the training steps of an iteration."""

    def __init__(self, members: int, heads: int) -> None:
        self.returns = np.zeros(members)
        self.episodes = np.zeros(members, dtype=np.int64)
        self.bonus = np.zeros(members)
        self.losses = np.zeros((members, heads))
        self.acted = np.zeros((members, heads))
        self.updates = 0


class PackEngine(ABC):
    """Trains P runs of one shape together, one iteration at a time; subclasses implement acting and learning."""

    name = ""

    def __init__(self, runs: list[RunConfig], device: str = "cpu") -> None:
        if len({run.shape for run in runs}) != 1:
            raise ValueError("the runs of a pack must be of one shape")
        self.runs, self.run = runs, runs[0]
        self.ids = [run.stream_id for run in runs]
        training = self.run.training
        self.worlds = make_worlds(self.run.world, self.ids, "ghosts")
        check_memory(runs, self.worlds, self.name, device)
        self.stack = frames_of_stack(self.run, self.worlds)
        self.schedule = Schedule(runs, self.worlds.actions)
        self.rule = make_rule(runs)
        self.sources: list[Source] = sources_of(self.run)
        self.bonuses: list[Bonus] = [make_bonus(name, self.worlds, runs, device) for name in self.run.recipe.signals]
        self.replay = Replay(
            members=len(runs),
            size=training.replay_size,
            record=self.worlds.record_shape,
            dtype=self.worlds.record_dtype,
            signals=1 + len(self.bonuses),
            stack=self.stack,
        )
        prioritised = any(source.prioritised for source in self.sources)
        self.priorities = Priorities(len(runs), training.replay_size) if prioritised else None
        self.replay_keys = stream_keys(self.ids, "replay")
        self.iterations = self.steps = self.updates = 0
        self.stacks = Stacks(self.worlds.observe(), self.stack)
        self.last_head = np.zeros(len(runs), dtype=np.int64)
        self._weights_without_decay = reward_weights(runs)
        self.age = np.zeros(len(runs), dtype=np.int64)
        self.episode_return = np.zeros(len(runs))

    def iterate(self) -> list[Row]:
        """Train for one iteration, then evaluate; returns one row per member."""
        started = time.perf_counter()
        acting = self.schedule.draw(self.steps, self.run.steps_per_iteration, self.last_head)
        tally = Tally(len(self.runs), len(self.run.recipe.heads))
        self._train(acting.head, acting.forced, tally)
        self.last_head = acting.head[-1]
        tally.acted += (acting.head[..., None] == np.arange(tally.acted.shape[1])).mean(axis=0)
        names = list(self.run.recipe.heads)
        results = {name: self._evaluate(names.index(name)) for name in self.run.recipe.evaluate}
        self.iterations += 1
        seconds = (time.perf_counter() - started) / len(self.runs)
        return [self._row(p, tally, results, seconds) for p in range(len(self.runs))]

    @abstractmethod
    def weights(self, p: int) -> dict[str, np.ndarray]:
        """Return the weights of one member, by name."""

    @abstractmethod
    def _train(self, head: np.ndarray, forced: np.ndarray, tally: Tally) -> None:
        """Act and learn through the steps of a schedule (T, P); where a rule chooses, it writes the heads."""

    @abstractmethod
    def _evaluate(self, head: int) -> Evaluation:
        """Measure the greedy returns of a head."""

    @abstractmethod
    def _learned(self) -> dict[str, np.ndarray]:
        """Return the parameters of both networks and the optimiser's state."""

    @abstractmethod
    def _restore_learned(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore what `_learned` returned."""

    def reward_weights(self) -> np.ndarray:
        """Return the weights (P, H, signals) of this iteration; those of the bonuses fall with the steps, if asked."""
        if not (decay := self.run.training.bonus_decay_steps):
            return self._weights_without_decay
        begun = self.iterations * self.run.steps_per_iteration
        factors = np.ones(self._weights_without_decay.shape[2], dtype=np.float32)
        factors[1:] = max(0.0, 1 - begun / decay)
        return self._weights_without_decay * factors

    def _row(self, p: int, tally: Tally, results: dict[str, Evaluation], seconds: float) -> Row:
        heads = list(self.run.recipe.heads)
        first = results[self.run.recipe.evaluate[0]]
        ideal = self.worlds.ideal_return
        mean_return = float(first.mean_return[p])
        episodes = int(tally.episodes[p])
        acted = {name: float(tally.acted[p, h]) for h, name in enumerate(heads)}
        row: Row = {
            "iteration": self.iterations,
            "eval_return": mean_return,
            "normalised_return": mean_return / ideal if ideal else None,
            "eval_episode_length": float(first.mean_length[p]),
            "train_return": float(tally.returns[p]) / episodes if episodes else None,
            "train_episodes": episodes,
            "explore_fraction": sum(share for name, share in acted.items() if self._explores(name)),
            "mean_bonus": float(tally.bonus[p]) / self.run.steps_per_iteration if self.bonuses else None,
            "env_steps": self.steps,
            "seconds": seconds,
        }
        for h, name in enumerate(heads):
            row[f"loss_{name}"] = float(tally.losses[p, h]) / tally.updates if tally.updates else None
            row[f"acted_{name}"] = acted[name]
        if len(results) > 1:
            row |= {f"eval_return_{name}": float(result.mean_return[p]) for name, result in results.items()}
        return row

    def _explores(self, head: str) -> bool:
        """Tell whether a head learns from bonuses alone."""
        return "task" not in self.run.recipe.heads[head].reward

    def close(self) -> None:
        """Close the worlds."""
        self.worlds.close()

    def save(self) -> dict[str, np.ndarray]:
        """Return the complete state as arrays; an engine of the same runs that loads it continues bit for bit."""
        counters = {"iterations": self.iterations, "steps": self.steps, "updates": self.updates}
        arrays: dict[str, Any] = {f"counter.{name}": np.array(value) for name, value in counters.items()}
        arrays |= {f"learner.{name}": array for name, array in self._learned().items()}
        arrays |= {f"worlds.{name}": array for name, array in self.worlds.save().items()}
        arrays |= {f"replay.{name}": array for name, array in self.replay.save().items()}
        for name, bonus in zip(self.run.recipe.signals, self.bonuses, strict=True):
            arrays |= {f"bonus.{name}.{key}": array for key, array in bonus.save().items()}
        if self.priorities is not None:
            arrays |= {f"priorities.{name}": array for name, array in self.priorities.save().items()}
        arrays |= {f"self.{name}": array for name, array in self._own().items()}
        if self.rule is not None:
            arrays |= {f"rule.{name}": array for name, array in self.rule.state().items()}
        return {name: np.array(array) for name, array in arrays.items()}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state that `save` returned."""
        self.iterations, self.steps, self.updates = (
            int(arrays[f"counter.{name}"]) for name in ("iterations", "steps", "updates")
        )
        self._restore_learned(_under("learner.", arrays))
        self.worlds.load(_under("worlds.", arrays))
        self.replay.load(_under("replay.", arrays))
        for name, bonus in zip(self.run.recipe.signals, self.bonuses, strict=True):
            bonus.load(_under(f"bonus.{name}.", arrays))
        if self.priorities is not None:
            self.priorities.load(_under("priorities.", arrays))
        for name, array in self._own().items():
            array[:] = arrays[f"self.{name}"]
        for name, array in (self.rule.state() if self.rule is not None else {}).items():
            array[:] = arrays[f"rule.{name}"]

    def _own(self) -> dict[str, np.ndarray]:
        return {
            "stacks": self.stacks.records,
            "last_head": self.last_head,
            "age": self.age,
            "episode_return": self.episode_return,
            **self.schedule.state(),
        }


def _under(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
