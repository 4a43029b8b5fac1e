"""The learning part of a pack: the online and target networks, their losses and the optimiser."""

import numpy as np
import torch
from torch import Tensor

from mulex.config import RunConfig
from mulex.learners.dqn.head_kinds import HEAD_KINDS
from mulex.learners.dqn.heads import kind_of, reward_weights, sources_of
from mulex.learners.dqn.network_shape import network_shape
from mulex.learners.dqn.optimisers import OPTIMISERS
from mulex.learners.dqn.replay import Batch
from mulex.learners.dqn.torch.frames import FrameDrawer
from mulex.learners.dqn.torch.losses import Head, Target
from mulex.learners.dqn.torch.network import Network
from mulex.learners.dqn.torch.optimiser import Optimiser
from mulex.streams import stream_keys
from mulex.worlds.interface import Worlds


class Learner:
    """The networks and the optimiser of P members, on one device; batches come from the host."""

    def __init__(self, runs: list[RunConfig], worlds: Worlds, stack: int, device: torch.device) -> None:
        run, training = runs[0], runs[0].training
        self.device, self.members = device, len(runs)
        self.sources = sources_of(run)
        self.heads = [self._head(runs, name, worlds) for name in run.recipe.heads]
        self.shape = network_shape(run, worlds, stack)
        self.drawer = FrameDrawer(worlds, self.shape.picture, training.input_scale, device)
        keys = stream_keys([r.stream_id for r in runs], "initialisation")
        self.parameters = torch.from_numpy(self.shape.initial(keys, training.initialisation)).to(device)
        self.target = self.parameters.clone()
        self.gradient = torch.zeros_like(self.parameters)
        self.weights = self.shape.views(self.parameters)
        self.target_weights = self.shape.views(self.target)
        self.network = Network(self.shape, self.parameters)
        self.target_network = Network(self.shape, self.target, learns=False)
        self._learning = list(self.network.by_name.values())
        self._gradients = list(self.shape.views(self.gradient).values())
        self.optimiser = self._optimiser(runs)
        self._everyone = tuple(range(len(self.heads)))
        self.reward_weights = reward_weights(runs)  # (P, H, signals)
        self._discount = np.float32(run.discount)

    def _head(self, runs: list[RunConfig], name: str, worlds: Worlds) -> Head:
        head: Head = HEAD_KINDS[kind_of(runs[0], name)].load()(runs, name, worlds, self.device)
        return head

    def _optimiser(self, runs: list[RunConfig]) -> Optimiser:
        training = runs[0].training
        rates = torch.tensor([[run.weight("learning_rate")] for run in runs], device=self.device)  # (P, 1)
        optimiser: Optimiser = OPTIMISERS[training.optimiser_name].load()(self.parameters, rates, training)
        return optimiser

    @torch.inference_mode()
    def values(self, stack: np.ndarray) -> np.ndarray:
        """Return the Q-values (H, P, A) of every head for the stacks (P, C, D)."""
        out = self.network(self.drawer.draw(stack[:, None]), self._everyone)
        values = [head.values(out[h])[:, 0] for h, head in enumerate(self.heads)]
        return torch.stack(values).cpu().numpy()

    def update(self, batches: list[Batch], importance: list[np.ndarray | None]) -> list[Tensor]:
        """Take one optimiser step on one batch per source; returns the loss (P, B) of each head."""
        losses: dict[int, Tensor] = {}
        self.gradient.zero_()
        for source, batch, weights in zip(self.sources, batches, importance, strict=True):
            losses |= self._learn(source.heads, batch, weights)
        with torch.no_grad():
            self.optimiser.step(self.parameters, self.gradient)
        return [losses[h] for h in self._everyone]

    def copy_to_target(self) -> None:
        """Copy the online parameters to the target network."""
        self.target.copy_(self.parameters)

    def _learn(self, heads: tuple[int, ...], batch: Batch, importance: np.ndarray | None) -> dict[int, Tensor]:
        """Add the gradients of some heads' losses on a batch; returns the losses (P, B)."""
        with torch.no_grad():
            target_out = self.target_network(self.drawer.draw(batch.next_stack), heads)
        out = self.network(self.drawer.draw(batch.stack), heads)
        losses = {h: self.heads[h].loss(out[h], target_out[h], self._target(h, batch)) for h in heads}
        weights = None if importance is None else self._tensor(importance)
        weighted = torch.stack([loss if weights is None else loss * weights for loss in losses.values()])
        self._differentiate(weighted.sum() / weighted.shape[2])  # means over the batch, so members do not mix
        return {h: loss.detach() for h, loss in losses.items()}

    def _differentiate(self, loss: Tensor) -> None:
        """Add the gradient of a loss; heads that it does not depend on have none."""
        for total, gradient in zip(
            self._gradients, torch.autograd.grad(loss, self._learning, allow_unused=True), strict=True
        ):
            if gradient is not None:
                total.add_(gradient)

    def _target(self, h: int, batch: Batch) -> Target:
        weights = self.reward_weights[:, h]  # (P, signals)
        reward = sum(batch.rewards[..., k] * weights[:, k, None, None] for k in range(weights.shape[1]))  # (P, B, n)
        total = np.zeros(batch.action.shape, dtype=np.float32)
        for i in reversed(range(batch.rewards.shape[2])):
            total = total * self._discount + reward[..., i]
        follow = np.where(batch.terminal, np.float32(0), self._discount**batch.steps).astype(np.float32)
        return Target(
            action=self._tensor(batch.action),
            reward=self._tensor(total),
            follow=self._tensor(follow),
        )

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device)
