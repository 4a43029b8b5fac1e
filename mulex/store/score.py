"""What a run's curve comes to, and which number of it is the run's score."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

AUC, NORMALISED_AUC, SCORE = "AUC", "Normalised AUC", "Score"
"""How a score is called: without an ideal return, with one, and where worlds differ in that."""

SCORE_VALUE, SCORE_NAME = "score", "score_name"
"""Columns of `runs` that only runs with a `training.score` other than `auc` have."""


class LastChoice(Protocol):
    """A score that is the mean of the last evaluations."""

    @property
    def last(self) -> int:
        """How many evaluations."""


ScoreChoice = str | LastChoice
"""A value of `training.score`."""


def score_of(row: Mapping[str, Any]) -> float | None:
    """The score of a row of `runs`.

    It is what `training.score` chose, or else the normalised AUC, or the plain one where no ideal return is known. A
    run without a curve has none; one that diverged may have NaN.
    """
    if row.get(SCORE_NAME) is not None:
        return float(row[SCORE_VALUE])
    value = row.get("normalised_auc")
    value = row.get("auc") if value is None else value
    return None if value is None else float(value)


def score_column(auc: Iterable[float | None], normalised: Iterable[float | None]) -> str:
    """The column of `runs` that is the score in one world, given both columns of all its runs with null as NaN or None.

    All runs of a world share one score: the plain AUC only where no run has a normalised one.
    """
    none_normalised = all(value is None or math.isnan(value) for value in normalised)
    some_auc = any(value is not None and not math.isnan(value) for value in auc)
    return "auc" if none_normalised and some_auc else "normalised_auc"


def score_name(column: str) -> str:
    """What a score of this column is called in figures and tables."""
    return AUC if column == "auc" else NORMALISED_AUC


def summary(curve: Sequence[Mapping[str, Any]], score: ScoreChoice = "auc") -> dict[str, Any]:
    """The columns of `runs` that a whole curve gives, with those of its score if that is not the AUC."""
    returns = [float(row["eval_return"] or 0.0) for row in curve]
    shares = [row["normalised_return"] for row in curve]
    normalised = [share for share in shares if share is not None]
    ideal = [row["iteration"] for row, share in zip(curve, shares, strict=True) if share is not None and share >= 1]
    return {
        "auc": sum(returns) / len(returns),
        "normalised_auc": sum(normalised) / len(normalised) if normalised else None,
        "final_return": returns[-1],
        "best_return": max(returns),
        "iterations_to_ideal": ideal[0] if ideal else None,
        "iterations": len(curve),
        "env_steps": curve[-1]["env_steps"],
        "seconds": sum(float(row["seconds"] or 0.0) for row in curve),
    } | _chosen_score(normalised or returns, score, "Normalised " if normalised else "")


def _chosen_score(returns: list[float], score: ScoreChoice, prefix: str) -> dict[str, Any]:
    """The value and the name of a score other than the AUC; normalised returns where there are any."""
    if score == "auc":
        return {}
    if not isinstance(score, str):
        last = returns[-score.last :]
        value, name = sum(last) / len(last), f"mean of the last {score.last} returns"
    else:
        value, name = (returns[-1], "final return") if score == "final" else (max(returns), "best return")
    named = prefix + name if prefix else name[0].upper() + name[1:]
    return {SCORE_VALUE: value, SCORE_NAME: named}
