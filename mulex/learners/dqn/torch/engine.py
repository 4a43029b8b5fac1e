"""The reference engine: acting, replay, learning and evaluation of a pack, in NumPy and torch, on any device.

engine = TorchEngine(runs)
while engine.iterations < runs[0].training.iterations:
    rows = engine.iterate()        # one row per member
"""

from collections.abc import Callable

import numpy as np
import torch

from mulex.config import RunConfig
from mulex.learners.dqn.acting.contract import Sight
from mulex.learners.dqn.evaluation import Evaluation, evaluate
from mulex.learners.dqn.heads import SMALLEST_LOSS, Source
from mulex.learners.dqn.pack_engine import PackEngine, Tally
from mulex.learners.dqn.replay import Batch, flags_of
from mulex.learners.dqn.torch.learner import Learner
from mulex.streams import uniforms
from mulex.worlds.make import make_worlds


class Once:
    """A function of an array that is computed when it is first called, if ever."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray], array: np.ndarray) -> None:
        self._function, self._array = function, array
        self._result: np.ndarray | None = None

    def __call__(self) -> np.ndarray:
        if self._result is None:
            self._result = self._function(self._array)
        return self._result


class TorchEngine(PackEngine):
    """Trains P runs of one shape together, one iteration at a time."""

    name = "torch"

    def __init__(self, runs: list[RunConfig], device: str = "cpu") -> None:
        torch.set_num_threads(1)  # more is slower, and the order of sums must not depend on the machine
        super().__init__(runs, device)
        self.learner = Learner(runs, self.worlds, self.stack, torch.device(device))

    def _train(self, head: np.ndarray, forced: np.ndarray, tally: Tally) -> None:
        training = self.run.training
        everyone = np.arange(len(self.runs))
        self.learner.reward_weights = self.reward_weights()
        sums = torch.zeros(tally.losses.T.shape, dtype=torch.float64, device=self.learner.device)  # (H, P)
        for who, random_action in zip(head, forced, strict=True):
            actions = random_action
            values = Once(self.learner.values, self.stacks.records)
            if self.rule is not None:
                who[:] = self.rule.choose(Sight(self.steps, values, self._present_bonus))
            if (random_action < 0).any():
                greedy = values()[who, everyone].argmax(axis=1)
                actions = np.where(random_action < 0, greedy, random_action)
            self._step(actions, tally)
            if self.steps > max(training.warm_up, training.n_step) and self.steps % training.update_every == 0:
                sums += self._update()
                tally.updates += 1
            if self.steps % training.target_period == 0:
                self.learner.copy_to_target()
        tally.losses += sums.T.cpu().numpy()

    def _present_bonus(self) -> np.ndarray:
        """Return the first bonus (P,) of what the members see now."""
        return self.bonuses[0].value(self.stacks.records[:, -1:])[:, 0]

    def _step(self, actions: np.ndarray, tally: Tally) -> None:
        """Act once in every world and store the transitions."""
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
        if self.rule is not None:
            self.rule.observe(outcome.reward, ended, self.episode_return)
        if ended.any():
            tally.episodes += ended
            tally.returns += np.where(ended, self.episode_return, 0.0)
            self._restart(ended)

    def _restart(self, ended: np.ndarray) -> None:
        self.worlds.restart(ended)
        self.stacks.begin(ended, self.worlds.observe())
        self.age[ended] = 0
        self.episode_return[ended] = 0.0

    def _update(self) -> torch.Tensor:
        """Learn from one batch per source; returns the mean losses (H, P)."""
        sampled = [self._sample(i, source) for i, source in enumerate(self.learner.sources)]
        losses = self.learner.update([batch for batch, _ in sampled], [weights for _, weights in sampled])
        for source, (batch, _) in zip(self.learner.sources, sampled, strict=True):
            if source.prioritised and self.priorities is not None:
                loss = torch.stack([losses[h] for h in source.heads]).sum(0) + SMALLEST_LOSS
                self.priorities.learned(batch.slot, loss.sqrt_().cpu().numpy())
        self.updates += 1
        return torch.stack([loss.mean(1) for loss in losses])

    def _sample(self, i: int, source: Source) -> tuple[Batch, np.ndarray | None]:
        """Draw the batch of a source for this update; returns it with its importance weights."""
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
            slot = self.replay.uniform_slots(uniform, source.n_step)
        batch = self.replay.batch(
            slot, source.n_step, training.bootstrap_at_time_limit, entered=training.bonus_of == "entered"
        )
        if training.bonus_at == "replay":
            for k, bonus in enumerate(self.bonuses, start=1):
                flat = batch.records.reshape(len(slot), -1, *self.worlds.record_shape)
                batch.rewards[..., k] = bonus.value(flat).reshape(batch.counts.shape) * batch.counts
        return batch, importance

    def _evaluate(self, head: int) -> Evaluation:
        worlds = make_worlds(self.run.world, self.ids, f"evaluation {self.iterations}")

        def greedy(stacks: np.ndarray) -> np.ndarray:
            return self.learner.values(stacks)[head].argmax(axis=1)

        try:
            return evaluate(worlds, greedy, self.stack, self.run.evaluation_steps)
        finally:
            worlds.close()

    def weights(self, p: int) -> dict[str, np.ndarray]:
        """Return the weights of one member, by name."""
        return {name: view[p].cpu().numpy().copy() for name, view in self.learner.weights.items()}

    def _learned(self) -> dict[str, np.ndarray]:
        return {name: tensor.cpu().numpy() for name, tensor in self._tensors().items()}

    def _restore_learned(self, arrays: dict[str, np.ndarray]) -> None:
        for name, tensor in self._tensors().items():
            tensor.copy_(torch.from_numpy(arrays[name]))

    def _tensors(self) -> dict[str, torch.Tensor]:
        learner = self.learner
        return {"parameters": learner.parameters, "target": learner.target, **learner.optimiser.state}
