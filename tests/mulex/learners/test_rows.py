"""Rows of learners: what is kept, what is refused, and in which words."""

import math

import numpy as np
import pytest
import torch

from mulex.learners.failures import LearnerFailed
from mulex.learners.rows import RESERVED, RowReader, not_finite
from mulex.store.schema import CURVES


def test_numbers_texts_and_bools_are_kept_with_their_types() -> None:
    raw = {
        "eval_return": np.float32(2.5),
        "env_steps": np.int64(7),
        "phase": "late",
        "solved": True,
        "loss": torch.tensor(0.5),
        "gone": None,
        "one": np.array([3]),
    }
    row = RowReader().read(raw, 1)
    kept = [2.5, 7, "late", True, 0.5, None, 3.0]
    assert row == dict(zip(raw, kept, strict=True))
    assert isinstance(row["env_steps"], int)
    assert row["solved"] is True


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (None, "got None, needed is a dict"),
        ([1.0], "got list, needed is a dict"),
        ({"eval_returns": 1.0}, "no 'eval_return', which the score is made of; it has eval_returns"),
        ({"eval_return": None}, "eval_return is None"),
        ({"eval_return": "high"}, "eval_return is a text, and was a number before"),
        ({"eval_return": 1.0, "curve": [1, 2]}, "curve is list"),
        ({"eval_return": 1.0, "q": np.zeros(3)}, "q is ndarray"),
        ({"eval_return": 1.0, "train/loss": 1.0}, "'train/loss' is no column name"),
        ({"eval_return": 1.0, "env_steps": 1.5}, "env_steps is 1.5, needed is a whole number"),
        ({"eval_return": 1.0, "huge": 2**70}, "no 64-bit number holds"),
        *[({"eval_return": 1.0, name: 1}, f"column '{name}' is filled in by mulex") for name in RESERVED],
    ],
)
def test_bad_rows_are_refused_in_words(raw: object, says: str) -> None:
    with pytest.raises(LearnerFailed) as failure:
        RowReader().read(raw, 3)
    assert failure.value.summary.startswith("row 3: ")
    assert says in failure.value.summary


def test_a_column_keeps_its_type() -> None:
    reader = RowReader()
    reader.read({"eval_return": 1.0, "phase": "early"}, 1)
    reader.read({"eval_return": 1.0, "phase": None}, 2)
    with pytest.raises(LearnerFailed, match="row 3: phase is a number, and was a text before"):
        reader.read({"eval_return": 1.0, "phase": 3}, 3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("inf")])
def test_what_is_not_finite_is_kept_as_nan_and_has_diverged(value: float) -> None:
    row = RowReader().read({"eval_return": value}, 1)
    assert isinstance(row["eval_return"], float)
    assert math.isnan(row["eval_return"])
    assert not_finite(row) == "eval_return"


def test_only_scores_and_losses_tell_divergence() -> None:
    reader = RowReader()
    assert not_finite(reader.read({"eval_return": 1.0, "explained_variance": math.nan}, 1)) is None
    assert not_finite(reader.read({"eval_return": 1.0, "train_value_loss": math.nan}, 2)) == "train_value_loss"


def test_reserved_names_are_columns_of_curves() -> None:
    assert set(RESERVED) <= set(CURVES.names)
