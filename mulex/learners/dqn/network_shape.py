"""The sizes of a run's Q-network, the layout of its parameters, and its initial weights. Imports no torch."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.learners.dqn.bodies import BODIES, Convolution
from mulex.learners.dqn.head_kinds import HEAD_KINDS
from mulex.learners.dqn.heads import kind_of
from mulex.streams import uniforms
from mulex.worlds.interface import Worlds

ALIGNED = 64  # floats; a member's parameters fill whole vector registers, so its index in a pack changes no rounding
LINE = 16  # floats in a cache line; every matrix begins at one
FRAMES_IN_STACK = 4  # of pictures, unless the training says otherwise


@dataclass(frozen=True)
class LayerShape:
    """A convolution with its sizes. Pictures are rows x columns x channels."""

    rows: int
    cols: int
    channels: int
    before: tuple[int, int]  # padding above and to the left
    padded: tuple[int, int]
    out: tuple[int, int]
    convolution: Convolution

    @property
    def inputs(self) -> int:
        return self.convolution.kernel**2 * self.channels


class NetworkShape:
    """The offset of each weight matrix and bias in a member's flat vector of parameters."""

    def __init__(
        self,
        picture: tuple[int, int, int],
        body: tuple[Convolution, ...],
        same: bool,
        hidden: int,
        outputs: list[int],
        share_body: bool = True,
    ) -> None:
        """`picture` has the rows, columns and channels of the input; `outputs` the number of outputs of each head."""
        self.picture = picture
        self.bodies = ["body"] if share_body else [f"head.{h}.body" for h in range(len(outputs))]
        self.layers = layer_shapes(picture, body, same)
        last = self.layers[-1]
        self.features = last.out[0] * last.out[1] * last.convolution.channels
        self.hidden, self.outputs = hidden, outputs
        self.slices: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.fans: dict[str, tuple[int, int]] = {}
        used = 0
        for name, inputs, width, area in self._products():
            for part, shape in ((name, (inputs, width)), (f"{name}.bias", (1, width))):
                self.slices[part] = used, shape
                self.fans[part] = inputs, area * width
                used = _up_to(used + math.prod(shape), LINE)
        self.size = _up_to(used, ALIGNED)

    @property
    def body_size(self) -> int:
        """Return how far a body's parameters are from those of the body before it; 0 if there is one body."""
        return self.slices[f"{self.bodies[1]}.0"][0] if len(self.bodies) > 1 else 0

    def _products(self) -> list[tuple[str, int, int, int]]:
        """List the name, inputs, outputs and kernel area of each matrix product."""
        rows = [
            (f"{body}.{i}", layer.inputs, layer.convolution.channels, layer.convolution.kernel**2)
            for body in self.bodies
            for i, layer in enumerate(self.layers)
        ]
        for h, outputs in enumerate(self.outputs):
            rows += [(f"head.{h}.hidden", self.features, self.hidden, 1), (f"head.{h}.out", self.hidden, outputs, 1)]
        return rows

    def views(self, flat: Any) -> dict[str, Any]:
        """Return views of the matrices (P, K, C) and biases (P, 1, C) in flat vectors (P, size) of NumPy or torch."""
        return {
            name: flat[:, start : start + math.prod(shape)].reshape(len(flat), *shape)
            for name, (start, shape) in self.slices.items()
        }

    def initial(self, keys: np.ndarray, rule: str) -> np.ndarray:
        """Draw initial parameters from the members' streams by Xavier's or torch's uniform rule: (P, size) float32."""
        flat, drawn = zeros_on_lines(len(keys), self.size), 0
        for name, (start, shape) in self.slices.items():
            fan_in, fan_out = self.fans[name]
            xavier = 0.0 if name.endswith(".bias") else math.sqrt(6 / (fan_in + fan_out))
            scale = xavier if rule == "xavier" else 1 / math.sqrt(fan_in)
            count = math.prod(shape)
            numbers = uniforms(keys[:, None], np.arange(drawn, drawn + count))
            flat[:, start : start + count] = (2 * numbers - 1) * scale
            drawn += count
        return flat


def zeros_on_lines(members: int, size: int) -> np.ndarray:
    """Return zeros (members, size) in float32 that begin at a cache line, which NumPy does not guarantee."""
    line = LINE * 4
    memory = np.zeros(members * size * 4 + line, dtype=np.uint8)
    begin = -memory.ctypes.data % line
    return memory[begin : begin + members * size * 4].view(np.float32).reshape(members, size)


def _up_to(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def layer_shapes(picture: tuple[int, int, int], body: tuple[Convolution, ...], same: bool) -> list[LayerShape]:
    """Compute the sizes of each layer. SAME padding puts the odd cell below and to the right, as TensorFlow does."""
    layers = []
    rows, cols, channels = picture
    for convolution in body:
        kernel, stride = convolution.kernel, convolution.stride
        pads = [max((-(-n // stride) - 1) * stride + kernel - n, 0) if same else 0 for n in (rows, cols)]
        padded = rows + pads[0], cols + pads[1]
        out = (padded[0] - kernel) // stride + 1, (padded[1] - kernel) // stride + 1
        if min(padded) < kernel:
            raise UserError(
                f"body: a picture of {rows} x {cols} is too small for a {kernel} x {kernel} kernel; "
                "use padding same, body mlp, or a larger room"
            )
        layers.append(LayerShape(rows, cols, channels, (pads[0] // 2, pads[1] // 2), padded, out, convolution))
        rows, cols, channels = *out, convolution.channels
    return layers


def frames_of_stack(run: RunConfig, worlds: Worlds) -> int:
    """Return how many frames the agent of a run sees."""
    return run.training.stack or (1 if len(worlds.frame_shape) == 1 else FRAMES_IN_STACK)


def picture_shape(worlds: Worlds, stack: int, flat: bool) -> tuple[int, int, int]:
    """Return the rows, columns and channels of the network's input; `flat` makes every number a channel."""
    shape = worlds.frame_shape
    if flat or len(shape) == 1:
        return 1, 1, int(np.prod(shape)) * stack
    return shape[0], shape[1], stack * (shape[2] if len(shape) == 3 else 1)


def network_shape(run: RunConfig, worlds: Worlds, stack: int) -> NetworkShape:
    """Return the shape of a run's network."""
    training = run.training
    body = BODIES[_fitting_body(run, worlds, stack) if training.body == "auto" else training.body]
    kinds = [HEAD_KINDS[kind_of(run, name)] for name in run.recipe.heads]
    return NetworkShape(
        picture_shape(worlds, stack, body.flat),
        body.layers,
        training.padding == "same",
        training.hidden,
        [worlds.actions * kind.outputs(training) for kind in kinds],
        training.share_body,
    )


def _fitting_body(run: RunConfig, worlds: Worlds, stack: int) -> str:
    """Choose convolutions for pictures that are large enough for them, and a dense layer for all other observations."""
    name = "textured" if getattr(run.world, "textured", False) else "conv"
    if len(worlds.frame_shape) == 1:
        return "mlp"
    try:
        layer_shapes(picture_shape(worlds, stack, False), BODIES[name].layers, run.training.padding == "same")
    except UserError:
        return "mlp"
    return name
