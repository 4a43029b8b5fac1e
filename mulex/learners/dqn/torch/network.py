"""The Q-network of a pack: convolutions that heads share or have alone, then two dense layers per head.

Every layer is an ordinary module whose parameters have a leading axis P. It is a batched matrix product over P, so
members never mix. Axes: P members, B batch, K inputs of a product, C channels.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mulex.learners.dqn.network_shape import LayerShape, NetworkShape


class Dense(nn.Module):
    """A dense layer, of each member its own: (P, N, K) to (P, N, C)."""

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter, relu: bool = True) -> None:
        """Take a weight (P, K, C) and a bias (P, 1, C); `relu` says whether a ReLU follows."""
        super().__init__()
        self.weight, self.bias, self.relu = weight, bias, relu

    def forward(self, inputs: Tensor) -> Tensor:
        """Multiply and add the bias."""
        out = torch.baddbmm(self.bias, inputs, self.weight)
        return out.relu_() if self.relu else out


class Convolution(Dense):
    """A convolution and its ReLU, of each member its own; pictures are (P, B, rows, cols, C)."""

    def __init__(self, shape: LayerShape, weight: nn.Parameter, bias: nn.Parameter) -> None:
        super().__init__(weight, bias)
        self.shape = shape
        (top, left), (rows, cols) = shape.before, shape.padded
        self._pads = (0, 0, left, cols - shape.cols - left, top, rows - shape.rows - top)
        self._padded = any(self._pads)

    def forward(self, pictures: Tensor) -> Tensor:
        """Multiply every window of the pictures with the kernel."""
        if self._padded:
            pictures = F.pad(pictures, self._pads)
        columns = windows(pictures, self.shape.convolution.kernel, self.shape.convolution.stride)
        return super().forward(columns).view(*pictures.shape[:2], *self.shape.out, -1)


def windows(pictures: Tensor, kernel: int, stride: int) -> Tensor:
    """Copy the windows of pictures (P, B, rows, cols, C) to the rows of a matrix (P, B * windows, kernel² * C)."""
    if not pictures.requires_grad:
        return _copied_windows(pictures.contiguous(), kernel, stride)
    copied: Tensor = _Windows.apply(pictures.contiguous(), kernel, stride)  # type: ignore[no-untyped-call]
    return copied


def _copied_windows(pictures: Tensor, kernel: int, stride: int) -> Tensor:
    members, batch, rows, cols, channels = pictures.shape
    m, b, r, c, _ = pictures.stride()
    out = (rows - kernel) // stride + 1, (cols - kernel) // stride + 1
    shape = (members, batch, *out, kernel, kernel * channels)
    overlapping = pictures.as_strided(shape, (m, b, stride * r, stride * c, r, 1))
    return overlapping.reshape(members, batch * out[0] * out[1], kernel * kernel * channels)


class _Windows(torch.autograd.Function):
    """Copies windows with a gradient. `Tensor.unfold` does too, but its gradient takes three times as long."""

    @staticmethod
    def forward(ctx: Any, pictures: Tensor, kernel: int, stride: int) -> Tensor:
        ctx.size, ctx.kernel, ctx.stride = pictures.shape, kernel, stride
        return _copied_windows(pictures, kernel, stride)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Add to each pixel the gradients of all windows that contain it."""
        (members, batch, rows, cols, channels), kernel, stride = ctx.size, ctx.kernel, ctx.stride
        down, right = rows - kernel + 1, cols - kernel + 1  # the first row and column after those of the last window
        shares = gradients[0].view(members, batch, -(-down // stride), -(-right // stride), kernel, kernel, channels)
        total = shares.new_zeros(ctx.size)
        for i in range(kernel):
            for j in range(kernel):
                total[:, :, i : i + down : stride, j : j + right : stride] += shares[:, :, :, :, i, j]
        return total, None, None


class Network(nn.Module):
    """The network of a pack. Its parameters are views of a flat vector (P, size)."""

    def __init__(self, shape: NetworkShape, parameters: Tensor, learns: bool = True) -> None:
        """Share the memory of flat parameters; one that does not learn has no gradients."""
        super().__init__()
        self.by_name = {name: nn.Parameter(view, learns) for name, view in shape.views(parameters).items()}
        self._bodies = [
            [Convolution(layer, *self._named(f"{body}.{i}")) for i, layer in enumerate(shape.layers)]
            for body in shape.bodies
        ]
        self._heads = [
            (Dense(*self._named(f"head.{h}.hidden")), Dense(*self._named(f"head.{h}.out"), relu=False))
            for h in range(len(shape.outputs))
        ]
        self.layers = nn.ModuleList(layer for part in (*self._bodies, *self._heads) for layer in part)

    def _named(self, name: str) -> tuple[nn.Parameter, nn.Parameter]:
        return self.by_name[name], self.by_name[f"{name}.bias"]

    def forward(self, pictures: Tensor, heads: tuple[int, ...]) -> dict[int, Tensor]:
        """Return the outputs (P, B, O) of some heads for pictures (P, B, rows, cols, C).

        Layers are run by `forward`: the call of a module, which looks for hooks, takes as long as a small product.
        """
        shared = self._features(0, pictures) if len(self._bodies) == 1 else None
        outputs = {}
        for h in heads:
            hidden, out = self._heads[h]
            features = self._features(h, pictures) if shared is None else shared
            outputs[h] = out.forward(hidden.forward(features))
        return outputs

    def _features(self, body: int, pictures: Tensor) -> Tensor:
        for layer in self._bodies[body]:
            pictures = layer.forward(pictures)
        return pictures.flatten(2)
