"""The grid: every point once, in a fixed order; what has no end is refused by name."""

import itertools
from pathlib import Path

import pytest

from mulex.store.folder import open_folder
from sweeps.plan import make_plan
from sweeps.search.grid import GridSearch, points
from sweeps.spec import SpecError, load_spec, parse_spec, write_yaml
from tests.support.sweeps import Plain, as_spec, launch, mulex, tables, tiny, write_spec
from tests.sweeps.search.test_space import space_of

pytest_plugins = ["tests.support.ray_plugin"]

METHODS = {
    "epsilon_greedy": {
        "learning_rate": {"log_uniform": [1e-4, 1e-2], "step": 10},
        "optimiser": {"choice": ["rmsprop", "adam"]},
    },
    "mulex": {"p_task": {"choice": [0.5, 0.9]}},
}


def gridded(**search: object) -> Plain:
    return tiny(methods=METHODS) | {"search": {"algorithm": "grid", "seeds": 1, **search}}


def test_every_point_is_there_once_in_the_order_of_the_spec() -> None:
    space = space_of({"a": {"choice": [2, 1]}, "b": "x", "c": {"int_uniform": [0, 2]}})
    found = [tuple(values.values()) for values in points(space)]
    assert found == list(itertools.product([2.0, 1.0], ["x"], [0.0, 1.0, 2.0]))
    assert GridSearch.size(space, 200) == 6


def test_a_condition_that_does_not_hold_multiplies_nothing() -> None:
    space = space_of(
        {
            "b": {"int_uniform": [1, 4], "when": {"a": "x"}},
            "a": {"choice": ["x", "y", "z"]},
            "c": {"choice": [True, False]},
        }
    )
    found = list(points(space))
    assert len(found) == GridSearch.size(space, 0) == (4 + 1 + 1) * 2
    assert len({tuple(values.items()) for values in found}) == 12
    assert all((values["b"] is None) == (values["a"] != "x") for values in found)
    assert [list(values) for values in found] == [["b", "a", "c"]] * 12


def test_methods_have_grids_of_their_own_size() -> None:
    spec = as_spec(gridded())
    assert (spec.draws("epsilon_greedy"), spec.draws("mulex"), spec.search.draws, spec.run_count) == (6, 2, 6, 8)
    plan = make_plan(spec, open_folder("/nonexistent"))
    assert plan.unasked() == 0
    assert len(list(plan.runs())) == 8
    again = parse_spec(write_yaml(spec.resolved()), "again.yaml")
    assert again == spec


def test_its_order_does_not_depend_on_the_sweeps_seed() -> None:
    one, other = (make_plan(as_spec(gridded(seed=seed)), open_folder("/nonexistent")).values for seed in (0, 1))
    assert one == other


def problems(plain: Plain) -> list[str]:
    with pytest.raises(SpecError) as refused:
        load_spec(plain)
    return [str(problem) for problem in refused.value.problems]


def test_draws_that_differ_from_the_size_are_refused_with_the_size() -> None:
    assert problems(gridded(draws=5)) == ["spec: search.draws: got 5, but the grid has 6 points; leave draws out"]
    assert load_spec(gridded(draws=6)).run_count == 8


def without_draws(methods: Plain) -> Plain:
    plain = tiny(methods=methods)
    return plain | {"search": {"algorithm": "grid", "seeds": 1}}


def test_a_continuous_axis_is_refused_by_name() -> None:
    wrong = {"mulex": {"p_task": {"uniform": [0.5, 0.9]}, "learning_rate": {"log_uniform": [1e-4, 1e-3]}}}
    reason = "a grid cannot have all values of a continuous range; give it a step, or use choice"
    assert problems(without_draws(wrong)) == [
        f"spec: methods.mulex.{name}: {reason}" for name in ("learning_rate", "p_task")
    ]


@pytest.mark.parametrize("when", [{}, {"when": {"warm_up": [0, 1]}}])
def test_too_many_points_are_refused_at_once(when: Plain) -> None:
    """Ten million points, of which a condition can rule out only some."""
    steps = {name: {"int_uniform": [1, 100]} for name in ("batch_size", "update_every", "n_step")}
    method = {**steps, "warm_up": {"int_uniform": [0, 9]}, "target_period": {"int_uniform": [1, 2], **when}}
    assert problems(without_draws({"mulex": method})) == [
        "spec: methods.mulex: the grid has more than 1,000,000 points; leave out values, or use random"
    ]


def test_validate_prints_its_size(tmp_path: Path) -> None:
    plain = without_draws(METHODS)
    answer = mulex("validate", write_spec(tmp_path, plain))
    assert answer.code == 0
    assert "6" in answer.text
    assert "= 8 runs" in answer.text


@pytest.mark.usefixtures("local_ray")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_real_sweep_over_a_grid(tmp_path: Path) -> None:
    """Packs of many draws, of which only those with equal settings are trained together."""
    plain = without_draws(METHODS) | {"execution": {"max_concurrent": 1, "max_failures": 0, "draws_per_pack": 100}}
    answer = launch(plain, tmp_path / "out")
    assert answer.code == 0, answer.text
    runs = tables(tmp_path / "out")["runs"]
    mine = runs[runs["method"] == "epsilon_greedy"]
    found = {(row.learning_rate, row.optimiser) for row in mine.itertuples()}
    assert found == set(itertools.product([1e-4, 1e-3, 1e-2], ["rmsprop", "adam"]))
    assert (runs[runs["method"] == "mulex"]["optimiser"] == "auto").all()
