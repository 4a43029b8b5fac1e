"""The sizes of a Q-network, where its weights stand in a flat vector, and how they start. Imports no torch."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mulex.errors import UserError
from mulex.streams import uniforms

ALIGNED = 64  # floats; a member's parameters fill whole vector registers, so its place in a pack changes no rounding
LINE = 16  # floats of a cache line, where every matrix begins


@dataclass(frozen=True)
class Convolution:
    """One layer of the body; a dense layer is a 1 x 1 convolution of a 1 x 1 picture."""

    channels: int
    kernel: int
    stride: int = 1


BODIES = {
    "conv": (Convolution(16, 3), Convolution(32, 3)),
    "textured": (Convolution(16, 8, 4), Convolution(32, 4, 2), Convolution(32, 3)),
    "mlp": (Convolution(64, 1),),
}


@dataclass(frozen=True)
class LayerShape:
    """A convolution with all its sizes; pictures are rows x columns x channels."""

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
    """Where each weight matrix and bias stands in a member's flat vector of parameters."""

    def __init__(
        self, picture: tuple[int, int, int], body: tuple[Convolution, ...], same: bool, hidden: int, outputs: list[int]
    ) -> None:
        """`picture` is rows, columns and channels of the input; `outputs` is how many numbers each head gives."""
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

    def _products(self) -> list[tuple[str, int, int, int]]:
        """Name, inputs, outputs and kernel area of each product."""
        rows = [
            (f"body.{i}", layer.inputs, layer.convolution.channels, layer.convolution.kernel**2)
            for i, layer in enumerate(self.layers)
        ]
        for h, outputs in enumerate(self.outputs):
            rows += [(f"head.{h}.hidden", self.features, self.hidden, 1), (f"head.{h}.out", self.hidden, outputs, 1)]
        return rows

    def views(self, flat: Any) -> dict[str, Any]:
        """The matrices (P, K, C) and biases (P, 1, C) inside flat vectors (P, size), NumPy's or torch's."""
        return {
            name: flat[:, start : start + math.prod(shape)].reshape(len(flat), *shape)
            for name, (start, shape) in self.slices.items()
        }

    def initial(self, keys: np.ndarray, rule: str) -> np.ndarray:
        """(P, size) float32 from the members' initialisation streams: Xavier's or torch's uniform rule."""
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
    """(members, size) float32 that begins at a cache line, which NumPy leaves to chance."""
    line = LINE * 4
    memory = np.zeros(members * size * 4 + line, dtype=np.uint8)
    begin = -memory.ctypes.data % line
    return memory[begin : begin + members * size * 4].view(np.float32).reshape(members, size)


def _up_to(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def layer_shapes(picture: tuple[int, int, int], body: tuple[Convolution, ...], same: bool) -> list[LayerShape]:
    """The sizes of each layer; SAME padding puts the odd cell below and to the right, as TensorFlow does."""
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
