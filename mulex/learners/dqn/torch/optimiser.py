"""Optimisers over flat parameters (P, N), each member with its own learning rate (P, 1)."""

from typing import Protocol

import torch
from torch import Tensor

from mulex.config import ADAM_DECAYS, TrainingConfig


class Optimiser(Protocol):
    """An update rule; `state` holds everything it remembers between steps."""

    state: dict[str, Tensor]

    def step(self, parameters: Tensor, gradient: Tensor) -> None:
        """Update the parameters (P, N) in place."""


class RMSProp:
    """TensorFlow's centred RMSProp: epsilon inside the square root, and the mean square starts at one."""

    def __init__(self, like: Tensor, learning_rate: Tensor, decay: float, epsilon: float) -> None:
        self.learning_rate, self.decay, self.epsilon = learning_rate, decay, epsilon
        self.state = {"mean_square": torch.ones_like(like), "mean_gradient": torch.zeros_like(like)}
        self._scratch = torch.empty_like(like)

    def step(self, parameters: Tensor, gradient: Tensor) -> None:
        mean_square, mean_gradient = self.state["mean_square"], self.state["mean_gradient"]
        mean_square.mul_(self.decay).addcmul_(gradient, gradient, value=1 - self.decay)
        mean_gradient.mul_(self.decay).add_(gradient, alpha=1 - self.decay)
        change = torch.addcmul(mean_square, mean_gradient, mean_gradient, value=-1, out=self._scratch)
        change.add_(self.epsilon).sqrt_()
        torch.div(gradient, change, out=change)
        parameters.sub_(change.mul_(self.learning_rate))


class Adam:
    """TensorFlow's Adam: the bias correction is in the step size, epsilon is added to the uncorrected root."""

    def __init__(self, like: Tensor, learning_rate: Tensor, epsilon: float) -> None:
        self.learning_rate, self.epsilon = learning_rate, epsilon
        self.state = {
            "mean": torch.zeros_like(like),
            "mean_square": torch.zeros_like(like),
            "steps": torch.zeros(1, dtype=torch.int64),
        }
        self._steps = self.state["steps"].numpy()  # the same memory: a count that never visits another device
        self._scratch = torch.empty_like(like)

    def step(self, parameters: Tensor, gradient: Tensor) -> None:
        first, second = ADAM_DECAYS
        self._steps += 1
        t = int(self._steps[0])
        correction = (1 - second**t) ** 0.5 / (1 - first**t)
        self.state["mean"].mul_(first).add_(gradient, alpha=1 - first)
        self.state["mean_square"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
        change = torch.sqrt(self.state["mean_square"], out=self._scratch).add_(self.epsilon)
        torch.div(self.state["mean"], change, out=change)
        parameters.sub_(change.mul_(self.learning_rate * correction))


def make_rmsprop(parameters: Tensor, rates: Tensor, training: TrainingConfig) -> Optimiser:
    """Make RMSProp as the training says."""
    return RMSProp(parameters, rates, training.rmsprop_decay, training.rmsprop_epsilon)


def make_adam(parameters: Tensor, rates: Tensor, training: TrainingConfig) -> Optimiser:
    """Make Adam as the training says."""
    return Adam(parameters, rates, training.adam_epsilon)
