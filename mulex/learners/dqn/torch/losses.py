"""The kinds of heads: their Q-values and their losses, as forward code.

Axes: P members, B batch, A actions, Z atoms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from mulex.config import RunConfig
from mulex.learners.dqn.heads import value_limits
from mulex.learners.dqn.td_losses import LOSSES
from mulex.worlds.interface import Worlds


@dataclass(frozen=True)
class Target:
    """The part of the target that needs no Q-value: the reward of n steps and the factor of what follows."""

    action: Tensor  # (P, B) int64
    reward: Tensor  # (P, B): the discounted sum of the head's own reward signal
    follow: Tensor  # (P, B): discount to the power of the steps taken, zero after a terminal


class Head(Protocol):
    """How a head's outputs (P, B, outputs) are read, and what it learns from; gradients are autograd's."""

    outputs: int

    def values(self, out: Tensor) -> Tensor:
        """Return the Q-values (P, B, A)."""

    def loss(self, out: Tensor, target_out: Tensor, target: Target) -> Tensor:
        """Return the loss (P, B) of each sample, before importance weights."""


class DQNHead:
    """A head with one Q-value per action that learns from its TD error."""

    def __init__(self, actions: int, of_error: Callable[[Tensor], Tensor]) -> None:
        """`of_error` is the loss of TD errors (P, B)."""
        self.outputs, self.of_error = actions, of_error

    def values(self, out: Tensor) -> Tensor:
        """Return the Q-values (P, B, A), which are the outputs."""
        return out

    def loss(self, out: Tensor, target_out: Tensor, target: Target) -> Tensor:
        """Return the loss of the TD error."""
        aim = target_out.amax(2) * target.follow + target.reward
        return self.of_error(out.gather(2, target.action[..., None])[..., 0] - aim)


def squared(error: Tensor) -> Tensor:
    """Return the square of the errors."""
    return error * error


def huber(error: Tensor) -> Tensor:
    """Return half the square of the errors, continued by straight lines beyond 1."""
    clipped = error.clamp(-1, 1)
    return clipped * (error - clipped * 0.5)


class C51Head:
    """A head with a distribution of the return over fixed atoms for each action."""

    def __init__(self, actions: int, atoms: int, limits: list[float], device: torch.device) -> None:
        """`limits` has the value limit of each member."""
        self.actions, self.atoms = actions, atoms
        self.outputs = actions * atoms
        supports = torch.stack([torch.linspace(-limit, limit, atoms) for limit in limits])
        self.support = supports.to(device)[:, None]  # (P, 1, Z)

    def values(self, out: Tensor) -> Tensor:
        """Return the means (P, B, A) of the distributions."""
        return (self._by_action(out).softmax(3) * self.support[:, None]).sum(3)

    def loss(self, out: Tensor, target_out: Tensor, target: Target) -> Tensor:
        """Return the cross entropy with the projected distribution of the target network's best action."""
        best = self.values(target_out).argmax(2)
        chances = self._of_action(target_out, best).softmax(2)
        aim = project(chances, target.reward, target.follow, self.support)
        return -(aim * self._of_action(out, target.action).log_softmax(2)).sum(2)

    def _by_action(self, out: Tensor) -> Tensor:
        return out.view(*out.shape[:2], self.actions, self.atoms)

    def _of_action(self, out: Tensor, action: Tensor) -> Tensor:
        index = action[..., None, None].expand(*action.shape, 1, self.atoms)
        return self._by_action(out).gather(2, index)[:, :, 0]


def project(chances: Tensor, reward: Tensor, follow: Tensor, support: Tensor) -> Tensor:
    """Project the distribution of reward + follow * atom (P, B, Z) back on the atoms (P, 1, Z), as C51 does."""
    atoms, limit = support.shape[2], support[..., -1:]
    moved = (follow[..., None] * support).add_(reward[..., None]).clamp_(-limit, limit)
    position = (moved + limit) * ((atoms - 1) / (2 * limit))
    below = position.floor().clamp_(0, atoms - 2)
    share = position - below  # the part that goes to the atom above
    index = below.long()
    aim = torch.zeros_like(chances).scatter_add_(2, index, chances * (1 - share))
    return aim.scatter_add_(2, index + 1, chances * share)


def make_dqn(runs: list[RunConfig], name: str, worlds: Worlds, device: torch.device) -> DQNHead:
    """Make a head of Q-values with the training's loss."""
    return DQNHead(worlds.actions, LOSSES[runs[0].training.loss].load())


def make_c51(runs: list[RunConfig], name: str, worlds: Worlds, device: torch.device) -> C51Head:
    """Make a head of distributions, whose atoms reach to the value limits of the members."""
    return C51Head(worlds.actions, runs[0].training.atoms, value_limits(runs, name, worlds), device)
