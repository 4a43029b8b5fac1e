"""The reference engine: acting, replay, learning and evaluation of a pack, in NumPy and torch, on any device.

engine = TorchEngine(runs)
while engine.iterations < runs[0].training.iterations:
    rows = engine.iterate()        # one row a member
"""

import time
from typing import Any

import numpy as np
import torch

from mulex.bonus import Bonus, OracleBonus, SimHashBonus
from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.evaluation import Evaluation, Stacks, evaluate
from mulex.learner import SMALLEST_LOSS, Learner, Source
from mulex.make_worlds import make_worlds
from mulex.priorities import Priorities
from mulex.replay import Batch, Replay, flags_of
from mulex.schedule import Schedule
from mulex.streams import stream_keys, uniforms
from mulex.worlds.interface import Worlds

Row = dict[str, float | int | None]


class TorchEngine:
    """Trains P runs of one shape together, an iteration at a time."""

    name = "torch"

    def __init__(self, runs: list[RunConfig], device: str = "cpu") -> None:
        torch.set_num_threads(1)  # more is slower, and the order of sums must not depend on the machine
        if len({run.shape for run in runs}) != 1:
            raise ValueError("the runs of a pack must be of one shape")
        self.runs, self.run = runs, runs[0]
        self.ids = [run.run_id for run in runs]
        training = self.run.training
        self.worlds = make_worlds(self.run.world, self.ids, "ghosts")
        self.stack = training.stack or (1 if len(self.worlds.frame_shape) == 1 else 4)
        self.schedule = Schedule(runs, self.worlds.actions)
        self.learner = Learner(runs, self.worlds, self.stack, torch.device(device))
        self.bonuses = [make_bonus(name, self.worlds, len(runs)) for name in self.run.recipe.signals]
        self.replay = Replay(
            members=len(runs),
            size=training.replay_size,
            record=self.worlds.record_shape,
            dtype=self.worlds.record_dtype,
            signals=1 + len(self.bonuses),
            stack=self.stack,
        )
        prioritised = any(source.prioritised for source in self.learner.sources)
        self.priorities = Priorities(len(runs), training.replay_size) if prioritised else None
        self.replay_keys = stream_keys(self.ids, "replay")
        self.iterations = self.steps = self.updates = 0
        self.stacks = Stacks(self.worlds.observe(), self.stack)
        self.last_head = np.zeros(len(runs), dtype=np.int64)
        self.age = np.zeros(len(runs), dtype=np.int64)
        self.episode_return = np.zeros(len(runs))

    @torch.inference_mode()
    def iterate(self) -> list[Row]:
        """Train for one iteration, then evaluate."""
        started = time.perf_counter()
        tally = self._train(self.run.steps_per_iteration)
        results = {name: self._evaluate(h) for h, name in self._evaluated()}
        self.iterations += 1
        return self._rows(tally, results, time.perf_counter() - started)

    def _train(self, steps: int) -> "Tally":
        training = self.run.training
        acting = self.schedule.draw(self.steps, steps, self.last_head)
        tally = Tally(len(self.runs), len(self.learner.heads))
        everyone = np.arange(len(self.runs))
        for head, forced in zip(acting.head, acting.forced, strict=True):
            actions = forced
            if (forced < 0).any():
                greedy = self.learner.values(self.stacks.records)[head, everyone].argmax(axis=1)
                actions = np.where(forced < 0, greedy, forced)
            self._step(actions, tally)
            if self.steps > max(training.warm_up, training.n_step) and self.steps % training.update_every == 0:
                tally.losses += self._update()
                tally.updates += 1
            if self.steps % training.target_period == 0:
                self.learner.copy_to_target()
        self.last_head = acting.head[-1]
        tally.acted += (acting.head[..., None] == np.arange(len(self.learner.heads))).mean(axis=0)
        return tally

    def _step(self, actions: np.ndarray, tally: "Tally") -> None:
        """Act once in every world, and remember it."""
        training = self.run.training
        before = self.stacks.records[:, -1].copy()
        outcome = self.worlds.step(actions)
        after = self.worlds.observe()
        reward = np.empty((len(actions), 1 + len(self.bonuses)), dtype=np.float32)
        clip = training.reward_clip
        reward[:, 0] = outcome.reward if clip is None else outcome.reward.clip(-clip, clip)
        for k, bonus in enumerate(self.bonuses, start=1):
            reward[:, k] = bonus.visit(before if training.bonus_of == "left" else after)
        self.replay.add(before, actions, reward, after, flags_of(self.age, outcome.terminal, outcome.truncated))
        self.steps += 1
        self.age += 1
        self.episode_return += outcome.reward
        tally.bonus += reward[:, 1:].sum(axis=1)
        self.stacks.push(after)
        ended = outcome.terminal | outcome.truncated
        if ended.any():
            tally.episodes += ended
            tally.returns += np.where(ended, self.episode_return, 0.0)
            self._restart(ended)

    def _restart(self, ended: np.ndarray) -> None:
        self.worlds.restart(ended)
        self.stacks.begin(ended, self.worlds.observe())
        self.age[ended] = 0
        self.episode_return[ended] = 0.0

    def _update(self) -> np.ndarray:
        """Learn once from a batch for each source: mean losses (P, H)."""
        sampled = [self._sample(i, source) for i, source in enumerate(self.learner.sources)]
        losses = self.learner.update([batch for batch, _ in sampled], [weights for _, weights in sampled])
        for source, (batch, _) in zip(self.learner.sources, sampled, strict=True):
            if source.prioritised and self.priorities is not None:
                loss = torch.stack([losses[h] for h in source.heads]).sum(0) + SMALLEST_LOSS
                self.priorities.learned(batch.slot, loss.sqrt_().cpu().numpy())
        self.updates += 1
        return np.stack([loss.mean(1).cpu().numpy() for loss in losses], axis=1).astype(np.float64)

    def _sample(self, i: int, source: Source) -> tuple[Batch, np.ndarray | None]:
        """A batch from numbers that belong to this update, and its importance weights."""
        training, size = self.run.training, self.run.training.batch_size
        first = (self.updates * len(self.learner.sources) + i) * size
        uniform = uniforms(self.replay_keys[:, None], np.arange(first, first + size))  # (P, B)
        importance = None
        if source.prioritised and self.priorities is not None:
            self.priorities.follow(*self.replay.usable(source.n_step), self.replay.size)
            slot, priority = self.priorities.sample(uniform)
            importance = 1 / np.sqrt(priority + np.float32(SMALLEST_LOSS))
            importance /= importance.max(axis=1, keepdims=True)
        else:
            slot = self.replay.place(uniform, source.n_step)
        batch = self.replay.batch(
            slot, source.n_step, training.bootstrap_at_time_limit, entered=training.bonus_of == "entered"
        )
        if training.bonus_at == "replay":
            for k, bonus in enumerate(self.bonuses, start=1):
                flat = batch.records.reshape(len(slot), -1, *self.worlds.record_shape)
                batch.rewards[..., k] = bonus.value(flat).reshape(batch.counts.shape) * batch.counts
        return batch, importance

    def _evaluated(self) -> list[tuple[int, str]]:
        names = list(self.run.recipe.heads)
        return [(names.index(name), name) for name in self.run.recipe.evaluate]

    def _evaluate(self, head: int) -> Evaluation:
        worlds = make_worlds(self.run.world, self.ids, f"evaluation {self.iterations}")

        def greedy(stacks: np.ndarray) -> np.ndarray:
            return self.learner.values(stacks)[head].argmax(axis=1)

        try:
            return evaluate(worlds, greedy, self.stack, self.run.evaluation_steps)
        finally:
            worlds.close()

    def _rows(self, tally: "Tally", results: dict[str, Evaluation], seconds: float) -> list[Row]:
        return [self._row(p, tally, results, seconds / len(self.runs)) for p in range(len(self.runs))]

    def _row(self, p: int, tally: "Tally", results: dict[str, Evaluation], seconds: float) -> Row:
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
        """Whether a head learns from bonuses alone."""
        return "task" not in self.run.recipe.heads[head].reward

    def weights(self, p: int) -> dict[str, np.ndarray]:
        """The weights of one member, by name."""
        return {name: view[p].cpu().numpy().copy() for name, view in self.learner.weights.items()}

    def close(self) -> None:
        self.worlds.close()

    def save(self) -> dict[str, np.ndarray]:
        """Everything that changes, as arrays; `load` on a new engine of the same runs continues bit for bit."""
        counters = {"iterations": self.iterations, "steps": self.steps, "updates": self.updates}
        arrays: dict[str, Any] = {f"counter.{name}": np.array(value) for name, value in counters.items()}
        arrays |= {f"learner.{name}": tensor.cpu().numpy() for name, tensor in self._tensors().items()}
        arrays |= {f"worlds.{name}": array for name, array in self.worlds.save().items()}
        arrays |= {f"replay.{name}": array for name, array in self.replay.save().items()}
        for name, bonus in zip(self.run.recipe.signals, self.bonuses, strict=True):
            arrays |= {f"bonus.{name}.{key}": array for key, array in bonus.save().items()}
        if self.priorities is not None:
            arrays |= {f"priorities.{name}": array for name, array in self.priorities.save().items()}
        arrays |= {f"self.{name}": array for name, array in self._own().items()}
        return {name: np.array(array) for name, array in arrays.items()}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Take what `save` gave."""
        self.iterations, self.steps, self.updates = (
            int(arrays[f"counter.{name}"]) for name in ("iterations", "steps", "updates")
        )
        for name, tensor in self._tensors().items():
            tensor.copy_(torch.from_numpy(arrays[f"learner.{name}"]))
        self.worlds.load(_under("worlds.", arrays))
        self.replay.load(_under("replay.", arrays))
        for name, bonus in zip(self.run.recipe.signals, self.bonuses, strict=True):
            bonus.load(_under(f"bonus.{name}.", arrays))
        if self.priorities is not None:
            self.priorities.load(_under("priorities.", arrays))
        for name, array in self._own().items():
            array[:] = arrays[f"self.{name}"]

    def _tensors(self) -> dict[str, torch.Tensor]:
        learner = self.learner
        return {"parameters": learner.parameters, "target": learner.target, **learner.optimiser.state}

    def _own(self) -> dict[str, np.ndarray]:
        return {
            "stacks": self.stacks.records,
            "last_head": self.last_head,
            "age": self.age,
            "episode_return": self.episode_return,
        }


class Tally:
    """Sums over the training steps of an iteration."""

    def __init__(self, members: int, heads: int) -> None:
        self.returns = np.zeros(members)
        self.episodes = np.zeros(members, dtype=np.int64)
        self.bonus = np.zeros(members)
        self.losses = np.zeros((members, heads))
        self.acted = np.zeros((members, heads))
        self.updates = 0


def make_bonus(name: str, worlds: Worlds, members: int) -> Bonus:
    """The bonus of that name for these worlds, or why it cannot be."""
    if name == "oracle":
        if worlds.states is None:
            raise UserError("bonus oracle: this world's states cannot be counted; use simhash, or a grid world")
        return OracleBonus(members, worlds.states)
    if len(worlds.frame_shape) != 2:
        raise UserError(f"bonus simhash: frames must have two axes, this world's have {len(worlds.frame_shape)}")
    return SimHashBonus(members, worlds.frames)


def _under(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
