"""The network of a pack against torch's own convolutions, one member at a time."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from mulex.errors import UserError
from mulex.learners.dqn.bodies import BODIES as REGISTERED
from mulex.learners.dqn.bodies import Convolution
from mulex.learners.dqn.network_shape import NetworkShape, layer_shapes
from mulex.learners.dqn.torch.network import Network, windows
from mulex.streams import stream_keys

torch.set_num_threads(1)  # as the engine does: more is slower on such small layers
MEMBERS, BATCH = 3, 5
BODIES = {name: body.layers for name, body in REGISTERED.items()}
PICTURES = {"conv": (8, 7, 4), "textured": (64, 56, 4), "mlp": (1, 1, 16)}
KEYS = stream_keys(["a", "b", "c"], "initialisation")


@pytest.fixture(params=["none", "same"])
def same(request):
    return request.param == "same"


@pytest.fixture(params=BODIES)
def body(request):
    return request.param


def numbers(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def tensorflow_padding(x, kernel, stride):
    """TensorFlow's SAME: ceil(n / stride) outputs, the odd cell after the picture."""
    pads = []
    for n in (x.shape[3], x.shape[2]):  # torch pads the last axis first
        total = max((math.ceil(n / stride) - 1) * stride + kernel - n, 0)
        pads += [total // 2, total - total // 2]
    return F.pad(x, pads)


def torch_network(body, same, weights, heads, pictures):
    """One member's outputs by torch: pictures (B, rows, cols, C), the weights in this package's layout."""
    x = pictures.permute(0, 3, 1, 2)
    for i, layer in enumerate(BODIES[body]):
        x = tensorflow_padding(x, layer.kernel, layer.stride) if same else x
        matrix = weights[f"body.{i}"].view(layer.kernel, layer.kernel, x.shape[1], layer.channels)
        kernel = matrix.permute(3, 2, 0, 1)
        x = F.relu(F.conv2d(x, kernel, weights[f"body.{i}.bias"][0], stride=layer.stride))
    features = x.permute(0, 2, 3, 1).flatten(1)
    out = {}
    for h in heads:
        hidden = F.relu(features @ weights[f"head.{h}.hidden"] + weights[f"head.{h}.hidden.bias"])
        out[h] = hidden @ weights[f"head.{h}.out"] + weights[f"head.{h}.out.bias"]
    return out


@pytest.mark.parametrize(("outputs", "heads"), [([4], (0,)), ([4, 6], (0, 1)), ([51, 4, 3], (0, 2))])
def test_forward_and_backward_are_torchs(body, same, outputs, heads):
    """Every output and every gradient of every member; heads that do not run get no gradient."""
    shape = NetworkShape(PICTURES[body], BODIES[body], same, 64, outputs)
    flat = torch.from_numpy(shape.initial(KEYS, "torch"))
    weights = shape.views(flat)
    network = Network(shape, flat)
    pictures = numbers(0, MEMBERS, BATCH, *PICTURES[body]).abs()
    out = network(pictures, heads)
    d_outputs = {h: numbers(h, MEMBERS, BATCH, outputs[h]) for h in heads}
    sum((out[h] * d_outputs[h]).sum() for h in heads).backward()
    gradients = {name: parameter.grad for name, parameter in network.by_name.items()}
    for p in range(MEMBERS):
        own = {name: view[p].clone().requires_grad_() for name, view in weights.items()}
        expected = torch_network(body, same, own, heads, pictures[p])
        sum((expected[h] * d_outputs[h][p]).sum() for h in heads).backward()
        for h in heads:
            torch.testing.assert_close(out[h][p], expected[h], rtol=1e-5, atol=1e-5)
        for name, tensor in own.items():
            assert (gradients[name] is None) == (tensor.grad is None) == (name.startswith("head.1") and 1 not in heads)
            if tensor.grad is not None:
                torch.testing.assert_close(
                    gradients[name][p], tensor.grad, rtol=1e-4, atol=1e-4, msg=lambda m, n=name: f"{n}: {m}"
                )


@pytest.mark.parametrize(("side", "kernel", "stride"), [(7, 3, 1), (8, 3, 2), (9, 4, 2), (21, 8, 4), (5, 1, 1)])
def test_windows_and_their_gradient_are_unfolds(side, kernel, stride):
    """Also where the last rows belong to no window."""
    pictures = numbers(0, 2, 3, side, side + 1, 5).requires_grad_()
    twin = pictures.detach().clone().requires_grad_()
    unfolded = twin.unfold(2, kernel, stride).unfold(3, kernel, stride).permute(0, 1, 2, 3, 5, 6, 4)
    expected = unfolded.reshape(2, -1, kernel * kernel * 5)
    found = windows(pictures, kernel, stride)
    assert torch.equal(found, expected)
    assert torch.equal(windows(pictures.detach(), kernel, stride), expected)
    weight = numbers(1, *found.shape)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    torch.testing.assert_close(pictures.grad, twin.grad)


def test_the_parameters_of_the_modules_are_the_flat_ones(body):
    shape = NetworkShape(PICTURES[body], BODIES[body], False, 16, [4])
    flat = torch.from_numpy(shape.initial(KEYS, "xavier"))
    network, pictures = Network(shape, flat), numbers(0, MEMBERS, BATCH, *PICTURES[body])
    assert len(list(network.parameters())) == len(shape.slices)
    before = network(pictures, (0,))[0].detach().clone()
    flat.mul_(0)
    assert before.abs().max() > 0
    assert network(pictures, (0,))[0].abs().max() == 0


@pytest.mark.parametrize(
    ("n", "kernel", "stride", "before", "padded", "out"),
    [(8, 3, 1, 1, 10, 8), (64, 8, 4, 2, 68, 16), (7, 4, 2, 1, 10, 4), (5, 1, 1, 0, 5, 5), (9, 8, 4, 3, 16, 3)],
)
def test_same_padding_by_hand(n, kernel, stride, before, padded, out):
    layer = layer_shapes((n, n, 1), (Convolution(2, kernel, stride),), same=True)[0]
    assert (layer.before, layer.padded, layer.out) == ((before,) * 2, (padded,) * 2, (out,) * 2)


def test_the_papers_sizes():
    """w = 5, no padding: 8 x 7 to 6 x 5 to 4 x 3, 32 channels, 64 hidden units, 4 actions."""
    shape = NetworkShape((8, 7, 4), BODIES["conv"], False, 64, [4])
    assert [layer.out for layer in shape.layers] == [(6, 5), (4, 3)]
    weights = 9 * 4 * 16 + 16 + 9 * 16 * 32 + 32 + 384 * 64 + 64 + 64 * 4 + 4
    assert shape.features == 384
    assert sum(math.prod(sizes) for _, sizes in shape.slices.values()) == weights
    assert shape.size % 64 == 0
    assert 0 <= shape.size - weights < 128


def test_every_matrix_begins_at_a_cache_line_and_none_touches_another():
    shape = NetworkShape((8, 7, 4), BODIES["conv"], False, 64, [4, 51 * 4])
    end = 0
    for start, sizes in shape.slices.values():
        assert start % 16 == 0
        assert start >= end
        end = start + math.prod(sizes)
    assert end <= shape.size
    flat = shape.initial(np.arange(3, dtype=np.uint64), "xavier")
    assert flat.ctypes.data % 64 == 0


def test_a_picture_that_is_too_small_is_refused():
    with pytest.raises(UserError, match="2 x 3 is too small for a 3 x 3 kernel"):
        NetworkShape((4, 5, 4), BODIES["conv"], False, 64, [4])


def bounds(rule, body):
    """The largest size that a weight and a bias of each layer may start at, by torch's definition of the fans."""
    shape = NetworkShape(PICTURES[body], BODIES[body], False, 64, [4, 51])
    found = {}
    channels = PICTURES[body][2]
    for i, layer in enumerate(BODIES[body]):
        found[f"body.{i}"] = layer.kernel**2 * channels, layer.kernel**2 * layer.channels
        channels = layer.channels
    for h, outputs in enumerate((4, 51)):
        found[f"head.{h}.hidden"], found[f"head.{h}.out"] = (shape.features, 64), (64, outputs)
    if rule == "xavier":
        return shape, {name: (math.sqrt(6 / (i + o)), 0.0) for name, (i, o) in found.items()}
    return shape, {name: (1 / math.sqrt(i), 1 / math.sqrt(i)) for name, (i, o) in found.items()}


@pytest.mark.parametrize("rule", ["xavier", "torch"])
def test_weights_start_in_their_range(rule, body):
    """Uniform on plus or minus the bound: the extremes come near it, mean and spread fit within 5 deviations."""
    shape, limits = bounds(rule, body)
    views = shape.views(torch.from_numpy(shape.initial(KEYS, rule)))
    assert {name.removesuffix(".bias") for name in views} == set(limits)
    for name, (bound, bias_bound) in limits.items():
        weight, bias = views[name].double().flatten() / bound, views[f"{name}.bias"]
        n = len(weight)
        assert 1 - 20 / n < weight.abs().max() <= 1 + 1e-6, name
        assert abs(weight.mean()) < 5 / math.sqrt(3 * n), name
        assert abs((weight**2).mean() - 1 / 3) < 5 * math.sqrt(4 / 45 / n), name
        assert bias.abs().max() <= bias_bound * (1 + 1e-6)
        assert bool((bias != 0).any()) == (bias_bound > 0)


def test_torchs_rule_is_torchs():
    """The standard deviation of torch's own layers, from 10 of each kind, within 5 %."""
    torch.manual_seed(0)
    shape, _ = bounds("torch", "conv")
    views = shape.views(torch.from_numpy(shape.initial(stream_keys([str(i) for i in range(10)], "x"), "torch")))
    convolutions = torch.stack([torch.nn.Conv2d(16, 32, 3).weight.detach() for _ in range(10)])
    dense = torch.stack([torch.nn.Linear(shape.features, 64).weight.detach() for _ in range(10)])
    assert float(views["body.1"].std()) == pytest.approx(float(convolutions.std()), rel=0.05)
    assert float(views["head.0.hidden"].std()) == pytest.approx(float(dense.std()), rel=0.05)


def test_xaviers_rule_is_torchs_xavier_too():
    torch.manual_seed(0)
    shape, _ = bounds("xavier", "conv")
    views = shape.views(torch.from_numpy(shape.initial(stream_keys([str(i) for i in range(10)], "x"), "xavier")))
    drawn = [torch.nn.init.xavier_uniform_(torch.empty(32, 16, 3, 3)) for _ in range(10)]
    assert float(views["body.1"].std()) == pytest.approx(float(torch.stack(drawn).std()), rel=0.05)


@pytest.mark.parametrize("rule", ["xavier", "torch"])
def test_initial_weights_depend_on_the_members_key_alone(rule):
    shape = NetworkShape((8, 7, 4), BODIES["conv"], False, 64, [4])
    together = shape.initial(KEYS, rule)
    assert together.dtype == np.float32
    for p in range(MEMBERS):
        np.testing.assert_array_equal(shape.initial(KEYS[p : p + 1], rule)[0], together[p])
    assert not np.array_equal(together[0], together[1])
    assert not np.array_equal(together[1], together[2])
