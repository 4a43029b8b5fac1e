"""The learning part of a pack: online and target network, optimiser, and the batches that each head learns from."""

import numpy as np
import torch
from torch import Tensor

from mulex.anatomy import Source, is_rainbow, network_shape, reward_weights, sources_of, uses_adam
from mulex.config import RunConfig
from mulex.losses import C51Head, DQNHead, Head, Target
from mulex.network import Workspace
from mulex.optimiser import Adam, Optimiser, RMSProp
from mulex.replay import Batch
from mulex.sight import Sight
from mulex.streams import stream_keys
from mulex.worlds.interface import Worlds


class Learner:
    """Networks and optimiser of P members. Its numbers live on one device; batches come from the host."""

    def __init__(self, runs: list[RunConfig], worlds: Worlds, stack: int, device: torch.device) -> None:
        run, training = runs[0], runs[0].training
        self.device, self.members = device, len(runs)
        self.sources = sources_of(run)
        self.heads = [self._head(run, name, worlds.actions) for name in run.recipe.heads]
        self.sight = Sight(worlds, training.input_scale, device)
        self.shape = network_shape(run, worlds, stack)
        keys = stream_keys([r.run_id for r in runs], "initialisation")
        self.parameters = torch.from_numpy(self.shape.initial(keys, training.initialisation)).to(device)
        self.target = self.parameters.clone()
        self.gradient = torch.zeros_like(self.parameters)
        self._part = torch.zeros_like(self.parameters) if len(self.sources) > 1 else self.gradient
        self.optimiser = self._optimiser(runs)
        self.weights = self.shape.views(self.parameters)
        self.target_weights = self.shape.views(self.target)
        self._part_views = self.shape.views(self._part)
        everyone = tuple(range(len(self.heads)))
        self._acting = Workspace(self.shape, self.members, 1, everyone, device)
        size = training.batch_size
        self._learning = [Workspace(self.shape, self.members, size, s.heads, device) for s in self.sources]
        self._reward_weights = reward_weights(runs)  # (P, H, signals)
        self._discount = np.float32(run.discount)

    def _head(self, run: RunConfig, name: str, actions: int) -> Head:
        training = run.training
        if is_rainbow(run, name):
            return C51Head(actions, training.atoms, training.value_limit, self.device)
        return DQNHead(actions, training.loss == "huber")

    def _optimiser(self, runs: list[RunConfig]) -> Optimiser:
        training = runs[0].training
        rates = torch.tensor([[run.values["learning_rate"]] for run in runs], device=self.device)  # (P, 1)
        if uses_adam(runs[0]):
            return Adam(self.parameters, rates, training.adam_epsilon)
        return RMSProp(self.parameters, rates, training.rmsprop_decay, training.rmsprop_epsilon)

    def values(self, stack: np.ndarray) -> np.ndarray:
        """Q-values (H, P, A) of every head for the stacks (P, C, D)."""
        self.sight.show(stack[:, None], self._acting.input)
        out = self._acting.forward(self.weights)
        values = [head.values(out[h])[:, 0] for h, head in enumerate(self.heads)]
        return torch.stack(values).cpu().numpy()

    def update(self, batches: list[Batch], importance: list[np.ndarray | None]) -> list[Tensor]:
        """One step on a batch for each source: gives the loss (P, B) of each head."""
        losses: dict[int, Tensor] = {}
        for i, (source, batch) in enumerate(zip(self.sources, batches, strict=True)):
            losses |= self._learn(i, source, batch, importance[i])
            if i == 0 and len(self.sources) > 1:
                self.gradient.copy_(self._part)
                self._part.zero_()
            elif i > 0:
                self.gradient.add_(self._part)
                self._part.zero_()
        self.optimiser.step(self.parameters, self.gradient)
        return [losses[h] for h in range(len(self.heads))]

    def copy_to_target(self) -> None:
        self.target.copy_(self.parameters)

    def _learn(self, i: int, source: Source, batch: Batch, importance: np.ndarray | None) -> dict[int, Tensor]:
        workspace = self._learning[i]
        self.sight.show(batch.next_stack, workspace.input)
        target_out = {h: out.clone() for h, out in workspace.forward(self.target_weights).items()}
        self.sight.show(batch.stack, workspace.input)
        out = workspace.forward(self.weights)
        learned = {
            h: self.heads[h].learn(out[h], target_out[h], self._target(h, batch, importance)) for h in source.heads
        }
        workspace.backward(self.weights, {h: learned[h].gradient for h in source.heads}, self._part_views)
        return {h: learned[h].loss for h in source.heads}

    def _target(self, h: int, batch: Batch, importance: np.ndarray | None) -> Target:
        weights = self._reward_weights[:, h]  # (P, signals)
        reward = sum(batch.rewards[..., k] * weights[:, k, None, None] for k in range(weights.shape[1]))  # (P, B, n)
        total = np.zeros(batch.action.shape, dtype=np.float32)
        for i in reversed(range(batch.rewards.shape[2])):
            total = total * self._discount + reward[..., i]
        follow = np.where(batch.terminal, np.float32(0), self._discount**batch.steps).astype(np.float32)
        return Target(
            action=self._tensor(batch.action),
            reward=self._tensor(total),
            follow=self._tensor(follow),
            weight=None if importance is None else self._tensor(importance),
        )

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device)
