"""The Q-network of a pack: convolutions shared by all heads, then two dense layers a head, for P members at once.

Every layer is a batched matrix product over P, so no number of one member ever meets another's. The backward pass is
written by hand on buffers that are allocated once. Axes: P members, B batch, K inputs of a product, C channels.
"""

import torch
from torch import Tensor

from mulex.network_shape import LayerShape, NetworkShape


class _Layer:
    """The buffers of one convolution for a batch."""

    def __init__(self, shape: LayerShape, members: int, batch: int, device: torch.device) -> None:
        kernel, stride = shape.convolution.kernel, shape.convolution.stride
        rows, cols = shape.out
        self.shape, self.kernel, self.stride = shape, kernel, stride
        self.whole = torch.zeros(members, batch, *shape.padded, shape.channels, device=device)
        self.inside = self._crop(self.whole)  # (P, B, rows, cols, C): where the layer's input is written
        self.columns = torch.empty(members, batch * rows * cols, shape.inputs, device=device)
        m, b, r, c, _ = self.whole.stride()
        self._windows = self.whole.as_strided(  # (P, B, out rows, out cols, kernel, kernel * C)
            (members, batch, rows, cols, kernel, kernel * shape.channels), (m, b, stride * r, stride * c, r, 1)
        )
        self._column_windows = self.columns.view(self._windows.shape)
        self.out = torch.empty(members, batch * rows * cols, shape.convolution.channels, device=device)
        self.picture = self.out.view(members, batch, rows, cols, -1)

    def _crop(self, whole: Tensor) -> Tensor:
        top, left = self.shape.before
        return whole[:, :, top : top + self.shape.rows, left : left + self.shape.cols]

    def forward(self, weight: Tensor, bias: Tensor, into: Tensor) -> None:
        """Windows to columns, product, bias, and ReLU into the next layer's input."""
        self._column_windows.copy_(self._windows)
        torch.baddbmm(bias, self.columns, weight, out=self.out)
        torch.clamp_min(self.picture, 0.0, out=into)

    def gradients(self, d_out: Tensor, d_weight: Tensor, d_bias: Tensor) -> None:
        torch.bmm(self.columns.transpose(1, 2), d_out, out=d_weight)
        torch.sum(d_out, 1, keepdim=True, out=d_bias)

    def d_input(self, d_out: Tensor, weight: Tensor) -> Tensor:
        """The gradient of the layer's input: each window's share is added where the window lay."""
        shares = torch.bmm(d_out, weight.transpose(1, 2))
        shares = shares.view(*self._windows.shape[:4], self.kernel, self.kernel, -1)
        rows, cols = self.shape.out
        total = torch.zeros_like(self.whole)
        for i in range(self.kernel):
            for j in range(self.kernel):
                down = slice(i, i + self.stride * (rows - 1) + 1, self.stride)
                right = slice(j, j + self.stride * (cols - 1) + 1, self.stride)
                total[:, :, down, right] += shares[:, :, :, :, i, j]
        return self._crop(total)


class Workspace:
    """The buffers to run some heads of the network on a batch of B, forward and, if wanted, backward."""

    def __init__(
        self, shape: NetworkShape, members: int, batch: int, heads: tuple[int, ...], device: torch.device
    ) -> None:
        self.shape, self.heads = shape, heads
        self.layers = [_Layer(layer, members, batch, device) for layer in shape.layers]
        self.features = torch.empty(members, batch, shape.features, device=device)
        self.hidden = {h: torch.empty(members, batch, shape.hidden, device=device) for h in heads}
        self.out = {h: torch.empty(members, batch, shape.outputs[h], device=device) for h in heads}
        pictures = [layer.inside for layer in self.layers[1:]]
        self._into = [*pictures, self.features.view(self.layers[-1].picture.shape)]

    @property
    def input(self) -> Tensor:
        """(P, B, rows, cols, C): write the pictures here, then call forward."""
        return self.layers[0].inside

    def forward(self, weights: dict[str, Tensor]) -> dict[int, Tensor]:
        """The outputs (P, B, O) of each head."""
        for i, (layer, into) in enumerate(zip(self.layers, self._into, strict=True)):
            layer.forward(weights[f"body.{i}"], weights[f"body.{i}.bias"], into)
        for h in self.heads:
            name = f"head.{h}"
            hidden, out = self.hidden[h], self.out[h]
            torch.baddbmm(weights[f"{name}.hidden.bias"], self.features, weights[f"{name}.hidden"], out=hidden)
            hidden.clamp_min_(0.0)
            torch.baddbmm(weights[f"{name}.out.bias"], hidden, weights[f"{name}.out"], out=out)
        return self.out

    def backward(self, weights: dict[str, Tensor], d_out: dict[int, Tensor], grads: dict[str, Tensor]) -> None:
        """Write the gradients of the heads that this workspace runs, and of the body."""
        d_features = torch.zeros_like(self.features)
        for h in self.heads:
            d_features += self._head_backward(h, weights, d_out[h], grads)
        d = _through_relu(d_features, self.features).view_as(self.layers[-1].out)
        for i in reversed(range(len(self.layers))):
            self.layers[i].gradients(d, grads[f"body.{i}"], grads[f"body.{i}.bias"])
            if i > 0:
                d_input = self.layers[i].d_input(d, weights[f"body.{i}"])
                d = _through_relu(d_input, self.layers[i].inside).reshape(self.layers[i - 1].out.shape)

    def _head_backward(self, h: int, weights: dict[str, Tensor], d_out: Tensor, grads: dict[str, Tensor]) -> Tensor:
        name, hidden = f"head.{h}", self.hidden[h]
        torch.bmm(hidden.transpose(1, 2), d_out, out=grads[f"{name}.out"])
        torch.sum(d_out, 1, keepdim=True, out=grads[f"{name}.out.bias"])
        d_hidden = _through_relu(torch.bmm(d_out, weights[f"{name}.out"].transpose(1, 2)), hidden)
        torch.bmm(self.features.transpose(1, 2), d_hidden, out=grads[f"{name}.hidden"])
        torch.sum(d_hidden, 1, keepdim=True, out=grads[f"{name}.hidden.bias"])
        return torch.bmm(d_hidden, weights[f"{name}.hidden"].transpose(1, 2))


def _through_relu(gradient: Tensor, activation: Tensor) -> Tensor:
    """The gradient where the activation is positive, zero elsewhere."""
    return torch.ops.aten.threshold_backward(gradient, activation, 0)
