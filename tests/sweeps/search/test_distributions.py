"""Distributions: where a value lies, that every part of a range is as likely as it should be, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sweeps.search.distribution_reader import WrongDistribution, read_distribution
from sweeps.search.distributions import KINDS, Distribution, constant

FINITE = st.floats(-1e308, 1e308)
QUANTILES = st.floats(0, 1, exclude_max=True)
GOLDEN_NORMAL = [-3.0809784500408277, -0.524364077717455, 1.2814072057878811]
GOLDEN_LOG_NORMAL = [8.971410256134026e-06, 0.0004152847549288688, 0.006233051920091793]
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
        ({"int_log_uniform": [1, 1000]}, 0.0, 1.0),
        ({"int_log_uniform": [1, 1000]}, 0.5, 31.0),
        ({"int_log_uniform": [1, 1000]}, 1 - 2**-53, 1000.0),
        ({"normal": [10, 2]}, 0.5, 10.0),
        ({"log_normal": [0, 1]}, 0.5, 1.0),
        ({"uniform": [0, 1], "step": 0.1}, 0.35, 0.3),
        ({"uniform": [0, 1], "step": 0.1}, 0.999, 1.0),
        ({"uniform": [0, 1], "step": 0.3}, 0.999, 0.9),
        ({"int_uniform": [0, 10], "step": 5}, 0.5, 5.0),
        ({"log_uniform": [1e-5, 1e-1], "step": 10}, 0.45, 1e-3),
        ({"int_log_uniform": [1, 1024], "step": 2}, 0.999, 1024.0),
        ({"normal": [0, 1], "step": 0.5}, 0.7, 0.5),
        ({"log_normal": [0, 1], "step": 10}, 0.9, 10.0),
    ],
)
def test_a_value_at_a_quantile(plain, u, value):
    found = read_distribution(plain).at(u)
    assert found == pytest.approx(value, rel=1e-15)
    assert isinstance(found, float)


def test_values_are_the_same_to_the_bit_everywhere():
    """Golden values, by decimal arithmetic of 50 digits: run ids are hashes of them."""
    learning_rate = Distribution("log_uniform", (1e-5, 1e-3))
    golden = [1.0471285480508996e-05, 3.981071705534973e-05, 0.00026302679918953814]
    assert [learning_rate.at(u) for u in (0.01, 0.3, 0.71)] == golden


@given(FINITE, FINITE, QUANTILES)
def test_a_value_never_leaves_its_range(low, high, u):
    low, high = sorted((low, high))
    if low < high:
        assert low <= Distribution("uniform", (low, high)).at(u) <= high
    if 0 < low < high:
        assert low <= Distribution("log_uniform", (low, high)).at(u) <= high


@given(st.integers(-(2**52), 2**52), st.integers(1, 1000), QUANTILES)
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


@given(FINITE.filter(bool), FINITE, QUANTILES)
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
    examples = {"choice": [1], "constant": 1}
    assert [read_distribution({kind: examples.get(kind, [1, 2])}).kind for kind in KINDS] == list(KINDS)


@pytest.mark.parametrize(
    ("plain", "path", "says"),
    [
        (None, (), "got null, allowed is a value or a distribution, for example {uniform: [0.5, 0.9]}"),
        ([1, 2], (), "got [1, 2], allowed is a value or a distribution, for example {uniform: [0.5, 0.9]}"),
        ({}, (), "got {}, allowed is a value or a distribution, for example {uniform: [0.5, 0.9]}"),
        (
            {"log_unform": [1, 2]},
            ("log_unform",),
            f"no such distribution, there are {', '.join(KINDS)}; did you mean 'log_uniform'?",
        ),
        ({"uniform": [1, 2], "choice": [1]}, (), f"got uniform and choice, allowed is one of {', '.join(KINDS)}"),
        ({"uniform": [2, 1]}, ("uniform",), "got [2, 1], allowed is [low, high] with low below high"),
        ({"uniform": [1, 1]}, ("uniform",), "got [1, 1], allowed is [low, high] with low below high"),
        ({"uniform": [1]}, ("uniform",), "got [1], allowed is [low, high], of numbers"),
        ({"uniform": [1, 2, 3]}, ("uniform",), "got [1, 2, 3], allowed is [low, high], of numbers"),
        ({"uniform": 1}, ("uniform",), "got 1, allowed is [low, high], of numbers"),
        ({"uniform": ["a", 2]}, ("uniform",), "got ['a', 2], allowed is [low, high], of numbers"),
        ({"uniform": [False, 2]}, ("uniform",), "got [false, 2], allowed is [low, high], of numbers"),
        ({"log_uniform": [0, 1]}, ("log_uniform",), "got [0, 1], allowed is [low, high], low above 0, of numbers"),
        ({"int_uniform": [1.5, 3]}, ("int_uniform",), "got [1.5, 3], allowed is [low, high], whole numbers"),
        ({"choice": []}, ("choice",), "got [], allowed is [a, b, ...]"),
        ({"choice": [None]}, ("choice",), "got [null], allowed is [a, b, ...]"),
        (
            {"choice": ["a", 1]},
            ("choice",),
            "got ['a', 1], which mixes a number and a text: no column can hold both",
        ),
        (
            {"choice": [True, 1]},
            ("choice",),
            "got [true, 1], which mixes a number and true or false: no column can hold both",
        ),
        ({"normal": [0, 0]}, ("normal",), "got [0, 0], allowed is [mean, deviation], deviation above 0, of numbers"),
        ({"log_normal": [0, 1e9]}, ("log_normal",), "got [0, 1000000000.0]: its values are too large to be numbers"),
        ({"step": 1}, (), f"got no distribution, allowed is one of {', '.join(KINDS)}"),
        ({"choice": [1], "step": 1}, ("step",), "got 1, but choice has no range to divide"),
        ({"uniform": [0, 1], "step": 0}, ("step",), "got 0, allowed is a number above 0"),
        ({"uniform": [0, 1], "step": 2}, ("step",), "got 2, which is wider than the range"),
        ({"uniform": [0, 1], "step": 1e-9}, ("step",), "got 1e-09, which gives more than 1,000,000 values"),
        ({"int_uniform": [0, 9], "step": 0.5}, ("step",), "got 0.5, allowed is a whole number above 0"),
        (
            {"log_uniform": [1, 9], "step": 1},
            ("step",),
            "got 1, allowed is a number above 1, by which neighbours are multiplied",
        ),
        (
            {"uniform": [0, 1], "when": {}},
            ("when",),
            "got {}, allowed is a mapping of another name to its values, for example {bonus: simhash}",
        ),
        (
            {"uniform": [0, 1], "when": {"a": None}},
            ("when", "a"),
            "got null, allowed is a number, a text, true or false, or a list of them",
        ),
        ({"constant": [1]}, ("constant",), "got [1], allowed is a number, a text, true or false"),
    ],
)
def test_what_is_refused(plain, path, says):
    with pytest.raises(WrongDistribution) as refused:
        read_distribution(plain)
    assert str(refused.value) == says
    assert refused.value.path == path


@pytest.mark.parametrize("value", ["adam", True, False])
def test_texts_and_booleans_are_values(value):
    assert read_distribution(value).at(0.3) is value
    assert read_distribution({"choice": [value]}).at(0.9) is value
    assert not constant(value).is_numeric
    assert read_distribution(constant(value).plain()) == constant(value)


def test_ints_and_floats_mix_in_a_choice():
    assert read_distribution({"choice": [1, 0.5]}).values == (1.0, 0.5)


def test_normal_draws_are_normal_and_the_same_everywhere():
    """Against scipy's truncated normal, and golden bits: run ids are hashes of them."""
    drawn = [Distribution("normal", (3.0, 2.0)).at(u) for u in EVENLY]
    assert drawn == pytest.approx(list(3 + 2 * stats.truncnorm.ppf(EVENLY, -4, 4)), abs=1e-7)
    assert drawn == sorted(drawn)
    logs = [math.log(Distribution("log_normal", (3.0, 2.0)).at(u)) for u in EVENLY]
    assert logs == pytest.approx(drawn)
    assert [Distribution("normal", (0.0, 1.0)).at(u) for u in (0.001, 0.3, 0.9)] == GOLDEN_NORMAL
    assert [Distribution("log_normal", (-7.0, 1.5)).at(u) for u in (0.001, 0.3, 0.9)] == GOLDEN_LOG_NORMAL


STEPPED = [
    {"uniform": [0, 1], "step": 0.1},
    {"uniform": [-1, 1], "step": 0.3},
    {"int_uniform": [1, 9], "step": 2},
    {"log_uniform": [1e-5, 1e-1], "step": 10},
    {"int_log_uniform": [1, 1024], "step": 2},
    {"normal": [0.3, 0.1], "step": 0.05},
    {"log_normal": [0, 1], "step": 2},
]


@pytest.mark.parametrize("plain", STEPPED)
def test_a_range_with_a_step_has_its_points_and_no_other_values(plain):
    distribution = read_distribution(plain)
    points = [distribution.point(k) for k in range(distribution.size)]
    assert points == sorted(set(points))
    assert {distribution.at(u) for u in EVENLY} <= set(points)
    assert [distribution.index(point) for point in points] == list(range(distribution.size))
    assert all(distribution.holds(point) for point in points)
    assert not distribution.holds(points[1] * (1 + 1e-12))
    low, high = distribution.bounds
    assert low <= points[0]
    assert points[-1] <= high
    assert read_distribution(distribution.plain()) == distribution


def test_decimal_steps_give_the_numbers_one_would_write():
    points = Distribution("uniform", (0.0, 1.0), 0.1)
    assert [points.point(k) for k in range(points.size)] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    rates = Distribution("log_uniform", (1e-5, 1e-1), 10.0)
    assert [rates.point(k) for k in range(rates.size)] == [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]


@pytest.mark.parametrize(
    ("plain", "inside", "outside"),
    [
        ({"uniform": [0, 1]}, [0.0, 0.3, 1.0], [-0.1, 1.1, float("nan"), "a", True, None]),
        ({"int_uniform": [0, 5]}, [0.0, 5.0], [0.5, 6.0]),
        ({"choice": [0, 1]}, [0.0, 1.0], [True, False, "0", None, 2.0]),
        ({"choice": [True, False]}, [True, False], [1.0, 0.0, "true"]),
        ({"normal": [0, 1]}, [0.0, -3.9, 3.9], [4.1]),
        ("adam", ["adam"], ["sgd", 1.0]),
    ],
)
def test_which_values_can_be_drawn(plain, inside, outside):
    distribution = read_distribution(plain)
    assert all(distribution.holds(value) for value in inside)
    assert not any(distribution.holds(value) for value in outside)


def test_a_condition_is_kept():
    plain = {"uniform": [0.0, 1.0], "when": {"loss": "huber", "n": [1.0, 2.0]}}
    distribution = read_distribution(plain)
    assert distribution.when == (("loss", ("huber",)), ("n", (1.0, 2.0)))
    assert distribution.plain() == plain
    assert read_distribution({"constant": 1, "when": {"a": True}}).plain() == {"constant": 1.0, "when": {"a": True}}
