"""Optuna's samplers: each finds more than random draws, takes what it can draw, and goes on after an interruption."""

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from optuna.trial import TrialState

from mulex.store.folder import open_folder
from sweeps.plan import make_plan
from sweeps.search.random import RandomSearch
from sweeps.search.space import Values, is_draw_of
from sweeps.spec import SpecError, load_spec
from tests.support.sweeps import Plain, tiny
from tests.sweeps.search.test_tpe import METHOD, Trainer, objective, searched

ADAPTIVE = ["tpe", "gp", "cmaes"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Keep torch, which the Gaussian process uses, from starting threads that wait for each other on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def by(algorithm: str, draws: int = 6, **changes: object) -> Plain:
    return searched(**{"search": {"algorithm": algorithm, "draws": draws, "seeds": 1}, **changes})


@pytest.mark.parametrize(("algorithm", "draws"), [("gp", 22), ("cmaes", 40)])
def test_it_finds_more_than_random_draws_do(algorithm: str, draws: int, tmp_path: Path) -> None:
    """The last ten draws, in the mean, are better than those of any of 100 random searches; tpe has its own test."""
    trainer = Trainer(open_folder(tmp_path), by(algorithm, draws))
    trainer.train_all()
    space = trainer.plan.spec.space(METHOD)
    found = [objective(values, 0) for values in trainer.plan.values[METHOD]][-10:]
    random = [
        statistics.fmean(objective(values, 0) for values in RandomSearch(seed, 10, {}).draw(METHOD, space))
        for seed in range(100)
    ]
    assert statistics.fmean(found) > max(random)


@pytest.mark.parametrize("algorithm", ADAPTIVE)
def test_it_goes_on_with_what_earlier_launches_found(algorithm: str, tmp_path: Path) -> None:
    """Interrupted after 12 of 22 draws: no draw is repeated, and the last ten are better than most random ones."""
    folder = open_folder(tmp_path)
    first = Trainer(folder, by(algorithm, 22))
    for _ in range(12):
        pack = first.take()
        assert pack is not None
        first.train(pack)
    second = Trainer(folder, by(algorithm, 22))
    assert second.told() == first.told()
    second.train_all()
    drawn = second.plan.values[METHOD]
    assert drawn[:12] == first.plan.values[METHOD]
    assert len({tuple(values.items()) for values in drawn}) == 22
    space = second.plan.spec.space(METHOD)
    random = [objective(values, 0) for values in RandomSearch(0, 400, {}).draw(METHOD, space)]
    assert statistics.median(objective(values, 0) for values in drawn[12:]) > statistics.median(random)


@pytest.mark.parametrize("algorithm", ADAPTIVE)
def test_equal_seeds_agree_and_others_differ(algorithm: str, tmp_path: Path) -> None:
    drawn = []
    for index, seed in enumerate((0, 0, 1)):
        search = {"algorithm": algorithm, "draws": 12, "seeds": 1, "seed": seed}
        trainer = Trainer(open_folder(tmp_path / str(index)), searched(search=search))
        trainer.train_all()
        drawn.append(trainer.plan.values[METHOD])
    assert drawn[0] == drawn[1]
    assert not [values for values in drawn[2] if values in drawn[0]]


MIXED = {
    "learning_rate": {"log_uniform": [1e-5, 1e-1], "step": 10},
    "epsilon": {"normal": [0.5, 0.1]},
    "optimiser": {"choice": ["rmsprop", "adam"]},
    "rmsprop_decay": {"uniform": [0.5, 0.99], "when": {"optimiser": "rmsprop"}},
    "n_step": {"int_log_uniform": [1, 16]},
    "bootstrap_at_time_limit": {"choice": [True, False]},
}


def mixed_objective(values: Values, seed: int) -> float:
    """Adam with a high epsilon is best."""
    return float(values["optimiser"] == "adam") + values["epsilon"]


@pytest.mark.parametrize("algorithm", ["tpe", "gp"])
def test_texts_booleans_steps_and_conditions(algorithm: str, tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    plain = by(algorithm, 22, methods={METHOD: MIXED})
    trainer = Trainer(folder, plain)
    for _ in range(12):
        pack = trainer.take()
        assert pack is not None
        trainer.train(pack, mixed_objective)
    again = Trainer(folder, plain)
    assert again.told() == trainer.told()
    while (pack := again.take()) is not None:
        again.train(pack, mixed_objective)
    space = again.plan.spec.space(METHOD)
    drawn = make_plan(again.plan.spec, folder).values[METHOD]
    assert drawn == again.plan.values[METHOD]
    assert all(is_draw_of(space, values) is None for values in drawn)
    assert {values["rmsprop_decay"] is None for values in drawn} == {True, False}
    assert statistics.fmean(mixed_objective(values, 0) for values in drawn[14:]) > 1.2


def test_cmaes_takes_whole_numbers_and_steps(tmp_path: Path) -> None:
    space = {name: MIXED[name] for name in ("learning_rate", "epsilon", "n_step")}
    trainer = Trainer(open_folder(tmp_path), by("cmaes", 12, methods={METHOD: space}))
    while (pack := trainer.take()) is not None:
        trainer.train(pack, lambda values, _: values["epsilon"])
    assert all(is_draw_of(trainer.plan.spec.space(METHOD), v) is None for v in trainer.plan.values[METHOD])
    assert trainer.states() == [TrialState.COMPLETE] * 12


@pytest.mark.parametrize(
    ("method", "problems"),
    [
        (
            {"optimiser": {"choice": ["rmsprop", "adam"]}, "epsilon": {"uniform": [0, 1]}},
            ["optimiser: cmaes searches ranges of numbers, not choices; use a range, or tpe or gp"],
        ),
        (
            {"epsilon": {"uniform": [0, 1], "when": {"n_step": 3}}, "n_step": {"int_uniform": [1, 3]}},
            ["epsilon: cmaes has no conditions; leave `when` out, or use tpe or gp"],
        ),
        (
            {"epsilon": {"uniform": [0, 1]}},
            ["epsilon: cmaes needs two or more searched hyperparameters; use tpe or gp"],
        ),
    ],
)
def test_what_cmaes_cannot_draw_is_a_problem(method: Plain, problems: list[str]) -> None:
    with pytest.raises(SpecError) as refused:
        load_spec(tiny(methods={METHOD: {**method, "learning_rate": 1e-3}}, search={"algorithm": "cmaes"}))
    found = [str(problem).removeprefix(f"spec: methods.{METHOD}.") for problem in refused.value.problems]
    assert found == problems
