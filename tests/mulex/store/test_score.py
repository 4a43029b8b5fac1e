"""A run's score: the AUC unless training.score names another number of its curve."""

from typing import Any

import pytest

from mulex.config import GridWorldConfig, LastReturns, RunConfig, TrainingConfig
from mulex.errors import UserError
from mulex.methods import make_run
from mulex.store.score import SCORE_NAME, SCORE_VALUE, ScoreChoice, score_of, summary


def curve(returns: list[float], ideal: float | None = None) -> list[dict[str, Any]]:
    return [
        {
            "iteration": i + 1,
            "eval_return": value,
            "normalised_return": value / ideal if ideal else None,
            "env_steps": i,
            "seconds": 1.0,
        }
        for i, value in enumerate(returns)
    ]


RETURNS = [0.0, 8.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("score", "value", "name"),
    [
        ("final", 4.0, "Final return"),
        ("best", 8.0, "Best return"),
        (LastReturns(last=2), 3.0, "Mean of the last 2 returns"),
        (LastReturns(last=9), 3.5, "Mean of the last 9 returns"),
    ],
)
def test_a_chosen_score_is_what_it_says(score: ScoreChoice, value: float, name: str) -> None:
    row = summary(curve(RETURNS), score)
    assert (row[SCORE_VALUE], row[SCORE_NAME], score_of(row)) == (value, name, value)
    row = summary(curve(RETURNS, ideal=8.0), score)
    assert (score_of(row), row[SCORE_NAME]) == (value / 8, f"Normalised {name[0].lower()}{name[1:]}")
    assert row["final_return"] == 4.0 and row["best_return"] == 8.0 and row["auc"] == 3.5


def test_the_auc_adds_no_columns() -> None:
    assert not {SCORE_VALUE, SCORE_NAME} & summary(curve(RETURNS)).keys()
    assert score_of(summary(curve(RETURNS))) == 3.5
    assert score_of(summary(curve(RETURNS, ideal=10.0))) == pytest.approx(0.35)


def run(**training: Any) -> RunConfig:
    return make_run(GridWorldConfig(), "mulex", TrainingConfig.read(training))


def test_only_another_score_changes_the_run_id() -> None:
    assert run().run_id == run(score="auc").run_id
    assert len({run(score=score).run_id for score in ("auc", "final", "best", {"last": 2}, {"last": 3})}) == 5


@pytest.mark.parametrize("score", ["median", {"last": 0}, {"first": 2}, {"last": 801}, 3])
def test_a_score_that_is_none_is_refused(score: Any) -> None:
    with pytest.raises(UserError, match="score"):
        run(score=score)
