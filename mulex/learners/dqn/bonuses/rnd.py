"""Random network distillation (Burda et al. 2019): what a network cannot yet predict of a random one is new."""

import numpy as np
import torch
from torch import Tensor

from mulex.config import RunConfig
from mulex.learners.dqn.bodies import BODIES
from mulex.learners.dqn.network_shape import NetworkShape
from mulex.learners.dqn.torch.network import Network
from mulex.learners.dqn.torch.optimiser import Adam
from mulex.streams import stream_keys
from mulex.worlds.interface import Worlds

UNITS, FEATURES = 64, 32
LEARNING_RATE, EPSILON = 1e-3, 1e-8  # of the predictor's Adam


class RNDBonus:
    """The squared error of a predictor for each member, divided by its running standard deviation.

    The predictor takes one step on every record that is visited. Frames are scaled as the Q-network's are; numbers that
    are no pixels are compressed to sign(x) log(1 + |x|). Only the newest frame counts, not the stack.
    """

    def __init__(self, worlds: Worlds, runs: list[RunConfig], device: str) -> None:
        self.worlds, self.scale, self.device = worlds, runs[0].training.input_scale, torch.device(device)
        shape = NetworkShape((1, 1, int(np.prod(worlds.frame_shape))), BODIES["mlp"].layers, False, UNITS, [FEATURES])
        ids = [run.stream_id for run in runs]
        target, predictor = (
            torch.from_numpy(shape.initial(stream_keys(ids, f"rnd {part}"), "torch")).to(self.device)
            for part in ("target", "predictor")
        )
        self.parameters, self._gradient = predictor, torch.zeros_like(predictor)
        self._gradients = shape.views(self._gradient)
        self._target, self._predictor = Network(shape, target, learns=False), Network(shape, predictor)
        rates = torch.full((len(runs), 1), LEARNING_RATE, device=self.device)
        self._optimiser = Adam(predictor, rates, EPSILON)
        self.seen = np.zeros(len(runs))
        self.mean = np.zeros(len(runs))  # of the errors, and the sum of squares around it
        self.squares = np.zeros(len(runs))

    def visit(self, record: np.ndarray) -> np.ndarray:
        """Let the predictor learn from the records (P, D), and return their bonuses (P,) from before that."""
        error = self._errors(record[:, None])  # (P, 1)
        gradients = torch.autograd.grad(error.sum(), list(self._predictor.by_name.values()))
        with torch.no_grad():
            for view, gradient in zip(self._gradients.values(), gradients, strict=True):
                view.copy_(gradient)
            self._optimiser.step(self.parameters, self._gradient)
        found = error.detach()[:, 0].cpu().numpy().astype(np.float64)
        self.seen += 1
        away = found - self.mean
        self.mean += away / self.seen
        self.squares += away * (found - self.mean)
        return self._scaled(found[:, None])[:, 0]

    def value(self, record: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self._scaled(self._errors(record).cpu().numpy().astype(np.float64))

    def _errors(self, records: np.ndarray) -> Tensor:
        """Return the mean squared errors (P, B) for records (P, B, D)."""
        members, batch = records.shape[:2]
        frames = self.worlds.frames(records.reshape(members * batch, *records.shape[2:]))
        flat = torch.from_numpy(frames.reshape(members, batch, 1, 1, -1)).to(self.device, torch.float32)
        numbers = self.worlds.record_dtype == np.float32
        pictures = flat.sign() * flat.abs().log1p() if numbers else flat * self.scale
        with torch.no_grad():
            wanted = self._target(pictures, (0,))[0]
        found: Tensor = self._predictor(pictures, (0,))[0]
        return (found - wanted).square().mean(2)

    def _scaled(self, errors: np.ndarray) -> np.ndarray:
        """Divide errors (P, B) by the members' standard deviations; while there is none, every bonus is 1."""
        deviation = np.sqrt(self.squares / np.maximum(self.seen, 1))[:, None]
        known = deviation > 0
        return np.where(known, errors / np.where(known, deviation, 1.0), 1.0).astype(np.float32)

    def save(self) -> dict[str, np.ndarray]:
        tensors = {"parameters": self.parameters, **self._optimiser.state}
        arrays = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
        return arrays | {"seen": self.seen, "error_mean": self.mean, "error_squares": self.squares}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        for name, tensor in {"parameters": self.parameters, **self._optimiser.state}.items():
            tensor.copy_(torch.from_numpy(arrays[name]))
        self.seen[:], self.mean[:], self.squares[:] = (arrays[name] for name in ("seen", "error_mean", "error_squares"))
