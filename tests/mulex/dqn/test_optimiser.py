"""The optimisers are TensorFlow's: against its published formulas, number by number, and against numbers on paper."""

import math

import numpy as np
import pytest
import torch

from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.learners.dqn.torch.optimiser import Adam, RMSProp
from tests.support.agents import Case

RATES = (0.01, 0.5, 2.5e-4)
GRADIENTS = np.random.default_rng(0).normal(size=(30, 3, 7)) * 10.0 ** np.arange(-3, 4)  # (T, P, N), many sizes
START = np.random.default_rng(1).normal(size=(3, 7))


def naive_rmsprop(start, gradients, rate, decay, epsilon):
    """TensorFlow's ApplyCenteredRMSProp without momentum, for one number."""
    value, mean_square, mean_gradient = start, 1.0, 0.0
    for g in gradients:
        mean_square = decay * mean_square + (1 - decay) * g**2
        mean_gradient = decay * mean_gradient + (1 - decay) * g
        value -= rate * g / math.sqrt(mean_square - mean_gradient**2 + epsilon)
    return value


def naive_adam(start, gradients, rate, epsilon):
    """TensorFlow's ApplyAdam with its default decays, for one number."""
    value, m, v = start, 0.0, 0.0
    for t, g in enumerate(gradients, start=1):
        rate_now = rate * math.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        value -= rate_now * m / (math.sqrt(v) + epsilon)
    return value


def moved(make, start, gradients, rates, dtype=torch.float64):
    """Parameters (P, N) after all steps."""
    parameters = torch.tensor(start, dtype=dtype)
    optimiser = make(parameters, torch.tensor(rates, dtype=dtype)[:, None])
    for gradient in gradients:
        optimiser.step(parameters, torch.tensor(gradient, dtype=dtype))
    return parameters.numpy()


def rmsprop(decay=0.95, epsilon=1e-5):
    return lambda like, rates: RMSProp(like, rates, decay, epsilon)


def adam(epsilon=1.5e-4):
    return lambda like, rates: Adam(like, rates, epsilon)


def by_number(naive, *constants):
    """The naive rule for every member and parameter."""
    rows = [
        [naive(START[p, i], GRADIENTS[:, p, i], RATES[p], *constants) for i in range(START.shape[1])]
        for p in range(len(RATES))
    ]
    return np.array(rows)


@pytest.mark.parametrize(("decay", "epsilon"), [(0.95, 1e-5), (0.95, 1e-8), (0.9, 0.01)])
def test_rmsprop_is_tensorflows_centred_one(decay, epsilon):
    found = moved(rmsprop(decay, epsilon), START, GRADIENTS, RATES)
    np.testing.assert_allclose(found, by_number(naive_rmsprop, decay, epsilon), rtol=1e-10)


@pytest.mark.parametrize("epsilon", [1.5e-4, 1e-8, 0.1])
def test_adam_is_tensorflows(epsilon):
    found = moved(adam(epsilon), START, GRADIENTS, RATES)
    np.testing.assert_allclose(found, by_number(naive_adam, epsilon), rtol=1e-10)


@pytest.mark.parametrize(
    ("make", "naive", "constants"), [(rmsprop(), naive_rmsprop, (0.95, 1e-5)), (adam(), naive_adam, (1.5e-4,))]
)
def test_single_precision_stays_close(make, naive, constants):
    """As they are used: within float32's rounding over 30 steps."""
    found = moved(make, START, GRADIENTS, RATES, torch.float32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_number(naive, *constants), rtol=2e-4, atol=2e-5)


def test_rmsprop_by_hand():
    """Two steps with gradients 1 and -2, decay 0.95, epsilon 1e-5, learning rate 0.01.

    1: mean square 1, mean gradient 0.05, 0.01 / sqrt(1 - 0.0025 + 0.00001) = 0.0100124733
    2: mean square 1.15, mean gradient -0.0525, 0.02 / sqrt(1.15 - 0.00275625 + 0.00001) = 0.0186724047
    """
    one = moved(rmsprop(), [[0.0]], [[[1.0]]], [0.01])
    two = moved(rmsprop(), [[0.0]], [[[1.0]], [[-2.0]]], [0.01])
    assert one[0, 0] == pytest.approx(-0.0100124733, abs=5e-11)
    assert two[0, 0] == pytest.approx(-0.0100124733 + 0.0186724047, abs=1e-10)


def test_the_mean_square_starts_at_one():
    """So the first step is proportional to a small gradient, and not of the learning rate's size."""
    found = moved(rmsprop(), [[0.0, 0.0]], [[[1e-3, 2e-3]]], [1.0])[0]
    assert found[1] / found[0] == pytest.approx(2, rel=1e-4)
    assert found[0] == pytest.approx(-1e-3 / math.sqrt(0.95 + 1e-5), rel=1e-4)


def test_adam_by_hand():
    """One step with gradient 2 and learning rate 0.1: m 0.2, v 0.004, root 0.0632455532.

    0.1 * sqrt(0.001) / 0.1 * 0.2 / (0.0632455532 + 0.00015) = 0.0997633903; epsilon is on the uncorrected root.
    """
    found = moved(adam(), [[0.0]], [[[2.0]]], [0.1])
    assert found[0, 0] == pytest.approx(-0.0997633903, abs=5e-11)


@pytest.mark.parametrize("make", [rmsprop(), adam()], ids=["rmsprop", "adam"])
def test_each_member_has_its_own_learning_rate(make):
    """Equal gradients: steps are in proportion to the rates, and a rate of zero is no step."""
    gradients = np.tile(GRADIENTS[:, :1], (1, 3, 1))
    found = moved(make, np.zeros((3, 7)), gradients, [0.0, 0.001, 0.002])
    assert (found[0] == 0).all()
    assert (found[1] != 0).all()
    np.testing.assert_allclose(found[2], 2 * found[1], rtol=1e-12)


@pytest.mark.parametrize("make", [rmsprop(), adam()], ids=["rmsprop", "adam"])
def test_a_step_changes_neither_the_gradient_nor_the_rates(make):
    rates, gradient = torch.tensor([[0.1], [0.2]]), torch.ones(2, 3)
    parameters = torch.zeros(2, 3)
    optimiser = make(parameters, rates)
    for _ in range(2):
        optimiser.step(parameters, gradient)
    assert gradient.tolist() == [[1.0] * 3] * 2
    assert rates.flatten().tolist() == torch.tensor([0.1, 0.2]).tolist()


@pytest.mark.parametrize("make", [rmsprop(), adam()], ids=["rmsprop", "adam"])
def test_the_state_is_all_an_optimiser_remembers(make):
    rates = torch.tensor(RATES, dtype=torch.float64)[:, None]
    parameters, copy = torch.tensor(START), torch.tensor(START)
    first, second = make(parameters, rates), make(copy, rates)
    for gradient in GRADIENTS[:5]:
        first.step(parameters, torch.tensor(gradient))
    copy.copy_(parameters)
    for name, tensor in second.state.items():
        tensor.copy_(first.state[name])
    for gradient in GRADIENTS[5:]:
        first.step(parameters, torch.tensor(gradient))
        second.step(copy, torch.tensor(gradient))
    assert torch.equal(parameters, copy)


@pytest.mark.parametrize(
    ("name", "flavour", "kind"),
    [("auto", "dqn", RMSProp), ("auto", "rainbow", Adam), ("rmsprop", "rainbow", RMSProp), ("adam", "dqn", Adam)],
)
def test_a_run_has_the_optimiser_that_its_settings_name(name, flavour, kind):
    """With their constants, none of which is the default here, and with each member's learning rate."""
    constants = {"rmsprop_decay": 0.7, "rmsprop_epsilon": 1e-3, "adam_epsilon": 1e-2}
    case = Case("mulex", training=constants | {"optimiser": name, "flavour": flavour})
    optimiser = TorchEngine([case.run(learning_rate=rate) for rate in RATES]).learner.optimiser
    assert type(optimiser) is kind
    assert optimiser.learning_rate[:, 0].tolist() == pytest.approx(RATES)
    assert optimiser.epsilon == (1e-3 if kind is RMSProp else 1e-2)
    assert getattr(optimiser, "decay", 0.7) == 0.7
