"""Conditions: a value is there exactly when they hold, and draws of other hyperparameters do not change."""

import pytest

from sweeps.search import SEARCHES
from sweeps.search.base import PresetSearch
from sweeps.search.distribution_reader import read_distribution
from sweeps.search.space import Space, Values, conditional, is_draw_of, may_repeat, ordered, wrong_conditions

PLAIN = {
    "width": {"uniform": [0, 1], "when": {"kind": ["soft", "softer"], "deep": True}},
    "rate": {"log_uniform": [1e-5, 1e-3]},
    "kind": {"choice": ["hard", "soft", "softer"]},
    "deep": {"choice": [True, False], "when": {"kind": "soft"}},
}


def space_of(plain: dict[str, object]) -> Space:
    return {name: read_distribution(value) for name, value in plain.items()}


def draws(algorithm: str, space: Space, count: int = 400) -> list[Values]:
    search = SEARCHES[algorithm](0, count, {"m": space})
    assert isinstance(search, PresetSearch)
    return search.draw("m", space)


def test_names_come_after_those_they_depend_on() -> None:
    assert ordered(space_of(PLAIN)) == ["kind", "deep", "width", "rate"]


@pytest.mark.parametrize("algorithm", ["random", "sobol"])
def test_a_value_is_there_exactly_when_its_condition_holds(algorithm: str) -> None:
    space = space_of(PLAIN)
    seen = set()
    for values in draws(algorithm, space):
        assert list(values) == list(PLAIN)
        assert (values["deep"] is not None) == (values["kind"] == "soft")
        assert (values["width"] is not None) == (values["kind"] == "soft" and values["deep"] is True)
        assert is_draw_of(space, values) is None
        seen.add((values["kind"], values["deep"], values["width"] is None))
    assert seen == {("hard", None, True), ("softer", None, True), ("soft", True, False), ("soft", False, True)}


def test_random_draws_of_one_name_do_not_depend_on_the_rest_of_the_space() -> None:
    whole = draws("random", space_of(PLAIN))
    alone = draws("random", space_of({"rate": PLAIN["rate"]}))
    free = draws("random", space_of({"width": {"uniform": [0, 1]}}))
    assert [values["rate"] for values in whole] == [values["rate"] for values in alone]
    there = [i for i, values in enumerate(whole) if values["width"] is not None]
    assert [whole[i]["width"] for i in there] == [free[i]["width"] for i in there]


def test_draws_may_repeat_where_every_continuous_value_can_be_absent() -> None:
    assert not may_repeat(space_of(PLAIN))
    some = {name: PLAIN[name] for name in ("width", "kind", "deep")}
    assert may_repeat(space_of(some))
    drawn = draws("random", space_of(some))
    assert len({tuple(values.items()) for values in drawn}) < len(drawn)
    assert may_repeat(space_of({"a": {"uniform": [0, 1], "step": 0.5}}))


def test_a_constant_can_have_a_condition() -> None:
    space = space_of({"a": {"choice": [1, 2]}, "b": {"constant": "x", "when": {"a": 1}}})
    assert conditional(space, {"a": 1.0, "b": "x"}) == {"a": 1.0, "b": "x"}
    assert conditional(space, {"a": 2.0, "b": "x"}) == {"a": 2.0, "b": None}


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"width": None, "rate": 1e-4, "kind": "hard", "deep": None}, None),
        ({"width": 0.5, "rate": 1e-4, "kind": "hard", "deep": None}, "width"),
        ({"width": None, "rate": 1e-4, "kind": "hard", "deep": True}, "deep"),
        ({"width": None, "rate": 1e-4, "kind": "soft", "deep": None}, "deep"),
        ({"width": None, "rate": 1.0, "kind": "hard", "deep": None}, "rate"),
        ({"width": None, "rate": 1e-4, "kind": 1.0, "deep": None}, "kind"),
    ],
)
def test_what_is_a_draw_of_a_space(values: Values, wrong: str | None) -> None:
    assert is_draw_of(space_of(PLAIN), values) == wrong


@pytest.mark.parametrize(
    ("plain", "path", "says"),
    [
        ({"a": {"choice": [1, 2], "when": {"a": 1}}}, ("a", "when", "a"), "a condition on itself"),
        (
            {"a": {"choice": [1], "when": {"bb": 1}}, "b": 1},
            ("a", "when", "bb"),
            "no such hyperparameter, there are a, b",
        ),
        (
            {"a": {"choice": [1], "when": {"b": 3}}, "b": {"choice": [1, 2]}},
            ("a", "when", "b"),
            "got 3.0, which b never is",
        ),
        ({"a": {"choice": [1], "when": {"b": True}}, "b": {"choice": [1, 2]}}, ("a", "when", "b"), "got true, which b"),
        (
            {"a": {"choice": [1], "when": {"b": 0.5}}, "b": {"uniform": [0, 1]}},
            ("a", "when", "b"),
            "a continuous range",
        ),
        (
            {"a": {"choice": [1], "when": {"b": 1}}, "b": {"choice": [1], "when": {"a": 1}}},
            ("a", "when"),
            "depends on itself: a -> b -> a",
        ),
        (
            {
                "a": {"choice": [1], "when": {"b": 1}},
                "b": {"choice": [1], "when": {"c": 1}},
                "c": {"choice": [1], "when": {"b": 1}},
            },
            ("b", "when"),
            "depends on itself: b -> c -> b",
        ),
    ],
)
def test_wrong_conditions(plain: dict[str, object], path: tuple[str, ...], says: str) -> None:
    first = wrong_conditions(space_of(plain))[0]
    assert first.path == path
    assert first.text.startswith(says) or says in first.text
