"""Draws: each depends on (sweep seed, method, index) alone, and the many of them are spread as they should be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sweeps.search import SEARCHES
from sweeps.search.base import PresetSearch
from sweeps.search.distributions import Distribution, constant
from sweeps.search.space import Space, Values

ALGORITHMS = ["random", "sobol"]
SPACE: Space = {
    "learning_rate": Distribution("log_uniform", (1e-5, 1e-3)),
    "epsilon": Distribution("uniform", (0.05, 0.3)),
    "layers": Distribution("int_uniform", (2.0, 6.0)),
    "beta": Distribution("choice", (0.5, 1.0, 8.0)),
    "p_task": constant(0.7),
}
DRAWS = 4096
FALSE_ALARM = 1e-6
"""Of each test of a distribution, if its draws were new ones; with fixed seeds a test passes always or never."""


def draws(
    algorithm: str, count: int = DRAWS, seed: int = 0, method: str = "mulex", space: Space = SPACE
) -> list[Values]:
    """The first of them."""
    search = SEARCHES[algorithm](seed, count, {})
    assert isinstance(search, PresetSearch)
    return search.draw(method, space)


def column(values: list[Values], name: str) -> np.ndarray:
    """One hyperparameter over all draws."""
    return np.array([value[name] for value in values])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(few=st.integers(0, 70), more=st.integers(0, 70), seed=st.integers(0, 2**40))
@settings(max_examples=30, deadline=None)
def test_more_draws_change_no_earlier_one(algorithm: str, few: int, more: int, seed: int) -> None:
    assert draws(algorithm, few + more, seed)[:few] == draws(algorithm, few, seed)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_seed_method_and_index_each_give_other_draws(algorithm: str) -> None:
    one = column(draws(algorithm, 100), "epsilon")
    assert len(set(one)) == 100
    for other in (draws(algorithm, 100, seed=1), draws(algorithm, 100, method="additive")):
        assert not set(one) & set(column(other, "epsilon"))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_hyperparameters_are_drawn_apart_from_each_other(algorithm: str) -> None:
    """Rank correlation of any two: with 4096 independent draws its standard error is 1/64, and 5.1 of them are 8e-2."""
    values = draws(algorithm)
    names = ["learning_rate", "epsilon", "layers", "beta"]
    correlation = stats.spearmanr(np.stack([column(values, name) for name in names], axis=1)).statistic
    apart = np.abs(correlation[~np.eye(len(names), dtype=bool)])
    assert apart.max() < 0.08


def test_a_random_hyperparameter_has_a_stream_of_its_own() -> None:
    """Taking one out of a space leaves the others' draws as they were."""
    fewer = {name: SPACE[name] for name in ("learning_rate", "p_task")}
    before, after = draws("random", 50), draws("random", 50, space=fewer)
    assert column(after, "learning_rate").tolist() == column(before, "learning_rate").tolist()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_values_stay_in_range_and_constants_are_constant(algorithm: str) -> None:
    values = draws(algorithm)
    assert all(list(value) == list(SPACE) for value in values)
    assert (column(values, "learning_rate") >= 1e-5).all()
    assert (column(values, "learning_rate") <= 1e-3).all()
    assert (column(values, "epsilon") >= 0.05).all()
    assert (column(values, "epsilon") <= 0.3).all()
    assert set(column(values, "layers")) == {2.0, 3.0, 4.0, 5.0, 6.0}
    assert set(column(values, "beta")) == {0.5, 1.0, 8.0}
    assert set(column(values, "p_task")) == {0.7}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_values_are_distributed_as_the_spec_says(algorithm: str, seed: int) -> None:
    """Kolmogorov-Smirnov for ranges, chi-square for whole numbers and choices; Sobol points are only more even."""
    values = draws(algorithm, seed=seed)
    places = (np.log10(column(values, "learning_rate")) + 5) / 2
    assert stats.kstest(places, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest((column(values, "epsilon") - 0.05) / 0.25, "uniform").pvalue > FALSE_ALARM
    for name in ("layers", "beta"):
        _, counts = np.unique(column(values, name), return_counts=True)
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [16, 64, 100])
def test_sobol_is_spread_more_evenly_than_random(seed: int, count: int) -> None:
    """By the centred discrepancy of the points in the unit cube."""
    cube: Space = {name: Distribution("uniform", (0.0, 1.0)) for name in "abc"}
    sobol, random = (
        stats.qmc.discrepancy(np.array([list(v.values()) for v in draws(algorithm, count, seed, space=cube)]))
        for algorithm in ("sobol", "random")
    )
    assert sobol < random / 2


def test_sobol_points_fill_every_cell_of_a_grid() -> None:
    """16 of them in 16 cells of the unit square: one each, whatever the scrambling."""
    square: Space = {name: Distribution("uniform", (0.0, 1.0)) for name in "ab"}
    for seed in range(20):
        cells = {(math.floor(4 * v["a"]), math.floor(4 * v["b"])) for v in draws("sobol", 16, seed, space=square)}
        assert len(cells) == 16


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_space_of_constants_gives_them(algorithm: str) -> None:
    assert draws(algorithm, 3, space={"epsilon": constant(0.1)}) == [{"epsilon": 0.1}] * 3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_draws_are_those_of_the_first_release(algorithm: str) -> None:
    """A sweep may be continued by a later version: these numbers may never change."""
    golden = {
        "random": [0.0008408439603829539, 0.06504479270194986],
        "sobol": [0.0005999258345939429, 0.0777483572717756],
    }
    value = draws(algorithm, 3)[2]
    assert [value["learning_rate"], value["epsilon"]] == golden[algorithm]


GOLDEN = {
    "random": [
        [0.06052007247044432, 8.0, 2.0, 6.0, 0.9919300470118665],
        [2.4812713211453033e-05, 3.0, 2.0, 6.0, 0.2748808517549568],
    ],
    "sobol": [
        [0.049408901581648526, 3.0, 2.0, 7.0, 0.1143049942329526],
        [4.06288665077126e-05, 1.0, 2.0, 4.0, 0.9325364213436842],
    ],
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_draws_are_those_of_earlier_versions(algorithm: str) -> None:
    """Draws 48 and 49, to the bit: the run ids of every sweep that somebody has depend on them."""
    space: Space = {
        "a": Distribution("log_uniform", (1e-5, 1e-1)),
        "b": Distribution("choice", (1.0, 8.0, 3.0)),
        "c": constant(2.0),
        "d": Distribution("int_uniform", (2.0, 9.0)),
        "e": Distribution("uniform", (0.0, 1.0)),
    }
    assert [list(values.values()) for values in draws(algorithm, 50, 7, "m", space)[48:]] == GOLDEN[algorithm]
