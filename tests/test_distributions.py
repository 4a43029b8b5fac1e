"""Distributions: where a value lies, that every part of a range is as likely as it should be, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.distributions import KINDS, Distribution, WrongDistribution, constant, read_distribution

FINITE = st.floats(-1e308, 1e308)
PLACES = st.floats(0, 1, exclude_max=True)
EVENLY = [(i + 0.5) / 1000 for i in range(1000)]


@pytest.mark.parametrize(
    ("plain", "u", "value"),
    [
        ({"uniform": [0.5, 0.9]}, 0.0, 0.5),
        ({"uniform": [-1, 3]}, 0.5, 1.0),
        ({"log_uniform": [1e-5, 1e-3]}, 0.0, 1e-5),
        ({"log_uniform": [1e-5, 1e-3]}, 0.5, 1e-4),
        ({"int_uniform": [1, 3]}, 0.0, 1.0),
        ({"int_uniform": [1, 3]}, 0.34, 2.0),
        ({"int_uniform": [1, 3]}, 0.999, 3.0),
        ({"choice": [7, 5, 6]}, 0.33, 7.0),
        ({"choice": [7, 5, 6]}, 0.34, 5.0),
        ({"choice": [7, 5, 6]}, 0.999, 6.0),
        ({"constant": 3}, 0.7, 3.0),
        (4, 0.2, 4.0),
    ],
)
def test_a_value_at_a_place(plain, u, value):
    found = read_distribution(plain).at(u)
    assert found == pytest.approx(value, rel=1e-15)
    assert isinstance(found, float)


def test_values_are_the_same_to_the_bit_everywhere():
    """Golden values, by decimal arithmetic of 50 digits: run ids are hashes of them."""
    learning_rate = Distribution("log_uniform", (1e-5, 1e-3))
    golden = [1.0471285480508996e-05, 3.981071705534973e-05, 0.00026302679918953814]
    assert [learning_rate.at(u) for u in (0.01, 0.3, 0.71)] == golden


@given(FINITE, FINITE, PLACES)
def test_a_value_never_leaves_its_range(low, high, u):
    low, high = sorted((low, high))
    if low < high:
        assert low <= Distribution("uniform", (low, high)).at(u) <= high
    if 0 < low < high:
        assert low <= Distribution("log_uniform", (low, high)).at(u) <= high


@given(st.integers(-(2**52), 2**52), st.integers(1, 1000), PLACES)
def test_whole_numbers_stay_whole_and_inside(low, more, u):
    value = Distribution("int_uniform", (float(low), float(low + more))).at(u)
    assert value.is_integer()
    assert low <= value <= low + more


def test_equal_parts_of_a_range_are_equally_likely():
    whole = [read_distribution({"int_uniform": [1, 4]}).at(u) for u in EVENLY]
    choice = [read_distribution({"choice": [3, 1, 2, 9]}).at(u) for u in EVENLY]
    logs = [math.log10(read_distribution({"log_uniform": [1e-4, 1]}).at(u)) for u in EVENLY]
    for values, parts in ((whole, (1, 2, 3, 4)), (choice, (3, 1, 2, 9))):
        assert [values.count(part) for part in parts] == [250] * 4
    assert [sum(-k - 1 <= x < -k for x in logs) for k in range(4)] == [250] * 4


@given(FINITE.filter(bool), FINITE, PLACES)
def test_plain_data_gives_the_same_distribution_again(a, b, u):
    for distribution in (
        constant(a),
        Distribution("choice", (a, b)),
        *([Distribution("uniform", (min(a, b), max(a, b)))] if a != b else []),
        Distribution("int_uniform", (-3.0, 5.0)),
    ):
        again = read_distribution(distribution.plain())
        assert again == distribution
        assert again.at(u) == distribution.at(u)
    assert constant(a).plain() == a
    assert constant(a).is_constant
    assert not Distribution("choice", (a,)).is_constant


def test_all_kinds_are_read():
    examples = {"uniform": [0, 1], "log_uniform": [1, 2], "int_uniform": [0, 1], "choice": [1], "constant": 1}
    assert [read_distribution({kind: examples[kind]}).kind for kind in KINDS] == list(KINDS)


@pytest.mark.parametrize(
    ("plain", "path", "says"),
    [
        ("fast", (), "got 'fast', allowed is a number or a distribution, for example {uniform: [0.5, 0.9]}"),
        (True, (), "got true, allowed is a number or a distribution, for example {uniform: [0.5, 0.9]}"),
        (None, (), "got null, allowed is a number or a distribution, for example {uniform: [0.5, 0.9]}"),
        ([1, 2], (), "got [1, 2], allowed is a number or a distribution, for example {uniform: [0.5, 0.9]}"),
        ({}, (), "got {}, allowed is a number or a distribution, for example {uniform: [0.5, 0.9]}"),
        (
            {"log_unform": [1, 2]},
            ("log_unform",),
            "no such distribution, there are uniform, log_uniform, int_uniform, choice, constant; "
            "did you mean 'log_uniform'?",
        ),
        ({"uniform": [1, 2], "choice": [1]}, (), "got uniform and choice, allowed is one of them"),
        ({"uniform": [2, 1]}, ("uniform",), "got [2, 1], allowed is [low, high] with low below high"),
        ({"uniform": [1, 1]}, ("uniform",), "got [1, 1], allowed is [low, high] with low below high"),
        ({"uniform": [1]}, ("uniform",), "got [1], allowed is [low, high], of numbers"),
        ({"uniform": [1, 2, 3]}, ("uniform",), "got [1, 2, 3], allowed is [low, high], of numbers"),
        ({"uniform": 1}, ("uniform",), "got 1, allowed is [low, high], of numbers"),
        ({"uniform": ["a", 2]}, ("uniform",), "got ['a', 2], allowed is [low, high], of numbers"),
        ({"uniform": [False, 2]}, ("uniform",), "got [false, 2], allowed is [low, high], of numbers"),
        ({"log_uniform": [0, 1]}, ("log_uniform",), "got [0, 1], allowed is [low, high], low above 0, of numbers"),
        ({"int_uniform": [1.5, 3]}, ("int_uniform",), "got [1.5, 3], allowed is [low, high], whole numbers"),
        ({"choice": []}, ("choice",), "got [], allowed is [a, b, ...], of numbers"),
        ({"choice": ["a"]}, ("choice",), "got ['a'], allowed is [a, b, ...], of numbers"),
        ({"constant": [1]}, ("constant",), "got [1], allowed is a number"),
    ],
)
def test_what_is_refused(plain, path, says):
    with pytest.raises(WrongDistribution) as refused:
        read_distribution(plain)
    assert str(refused.value) == says
    assert refused.value.path == path
