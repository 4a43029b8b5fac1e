"""What a head learns from a batch: its loss, and the gradient of that loss at the head's outputs.

Axes: P members, B batch, A actions, Z atoms. Losses are means over the batch; nothing is summed over members.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Target:
    """What is known of a batch before any Q-value: the reward of n steps, and how much what follows counts."""

    action: Tensor  # (P, B) int64
    reward: Tensor  # (P, B): the discounted sum of the head's own reward signal
    follow: Tensor  # (P, B): discount to the power of the steps taken, zero after a terminal
    weight: Tensor | None  # (P, B): importance weights of a prioritised batch


@dataclass(frozen=True)
class Learned:
    """The result for one head."""

    loss: Tensor  # (P, B), before importance weights
    gradient: Tensor  # (P, B, outputs): of the weighted mean over the batch


class DQNHead:
    """A head that gives one Q-value an action and learns by its TD error."""

    def __init__(self, actions: int, huber: bool) -> None:
        self.outputs, self.huber = actions, huber

    def values(self, out: Tensor) -> Tensor:
        """Q-values (P, B, A)."""
        return out

    def learn(self, out: Tensor, target_out: Tensor, target: Target) -> Learned:
        aim = target_out.amax(2).mul_(target.follow).add_(target.reward)
        chosen = target.action[..., None]
        error = out.gather(2, chosen)[..., 0].sub_(aim)  # (P, B)
        slope = error.clamp(-1, 1) if self.huber else error * 2
        loss = slope * (error - slope * 0.5) if self.huber else error * error
        gradient = torch.zeros_like(out).scatter_(2, chosen, _mean(slope, target.weight)[..., None])
        return Learned(loss, gradient)


class C51Head:
    """A head that gives a distribution of the return over fixed atoms."""

    def __init__(self, actions: int, atoms: int, limit: float, device: torch.device) -> None:
        self.actions, self.atoms, self.limit = actions, atoms, limit
        self.outputs = actions * atoms
        self.support = torch.linspace(-limit, limit, atoms, device=device)  # (Z,)

    def values(self, out: Tensor) -> Tensor:
        return (self._by_action(out).softmax(3) * self.support).sum(3)

    def learn(self, out: Tensor, target_out: Tensor, target: Target) -> Learned:
        best = self.values(target_out).argmax(2)
        chances = self._of_action(target_out, best).softmax(2)
        aim = project(chances, target.reward, target.follow, self.support)
        logits = self._of_action(out, target.action)
        loss = -(aim * logits.log_softmax(2)).sum(2)
        slope = _mean(logits.softmax(2) - aim, target.weight)
        gradient = torch.zeros_like(self._by_action(out))
        gradient.scatter_(2, self._index(target.action), slope[:, :, None])
        return Learned(loss, gradient.view_as(out))

    def _by_action(self, out: Tensor) -> Tensor:
        return out.view(*out.shape[:2], self.actions, self.atoms)

    def _index(self, action: Tensor) -> Tensor:
        return action[..., None, None].expand(*action.shape, 1, self.atoms)

    def _of_action(self, out: Tensor, action: Tensor) -> Tensor:
        return self._by_action(out).gather(2, self._index(action))[:, :, 0]


Head = DQNHead | C51Head


def project(chances: Tensor, reward: Tensor, follow: Tensor, support: Tensor) -> Tensor:
    """The distribution of reward + follow * atom (P, B, Z), put back on the atoms; each lies between two of them."""
    low, high, atoms = float(support[0]), float(support[-1]), len(support)
    moved = (follow[..., None] * support).add_(reward[..., None]).clamp_(low, high)
    place = (moved - low) * ((atoms - 1) / (high - low))
    below = place.floor().clamp_(0, atoms - 2)
    share = place - below  # what goes to the atom above
    index = below.long()
    aim = torch.zeros_like(chances).scatter_add_(2, index, chances * (1 - share))
    return aim.scatter_add_(2, index + 1, chances * share)


def _mean(slope: Tensor, weight: Tensor | None) -> Tensor:
    """The slope of the batch's weighted mean."""
    slope = slope / slope.shape[1]
    if weight is None:
        return slope
    return slope * weight.view(*weight.shape, *[1] * (slope.ndim - 2))
