"""`sensitivity`: the performance-sensitivity plane of Adkins et al. (2024), over several worlds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.bootstrap import generator, interval
from analysis.chart import Axis, Chart, Mark, Panel, Points, Rule, Span
from analysis.columns import varied
from analysis.errors import NotApplicableError
from analysis.figures.common import BANDS
from analysis.labels import USUAL, Labels
from analysis.tables import Tables

REFERENCE = "epsilon_greedy"


@dataclass(frozen=True)
class Sensitivity:
    """A method's performance if tuned for each world, and what it loses by using one draw for all worlds.

    Performance is the mean over worlds of the best draw's score. Both have 95 % intervals.
    """

    method: str
    performance: float
    sensitivity: float
    draws: int
    performance_interval: tuple[float, float]
    sensitivity_interval: tuple[float, float]


def compute(tables: Tables) -> list[Sensitivity]:
    """Compare the draws that a method tried in every world, scaled so that the 5th and 95th percentile are 0 and 1.

    A draw without a score in some world, because its runs failed there, can be the best one in other worlds but not
    for all of them.
    """
    if len(tables.worlds) < 2:
        raise NotApplicableError("sensitivity: needs several worlds, these runs have one")
    found = []
    scored = normalised(tables.scored)
    for method in tables.methods:
        runs = scored[scored["method"] == method]
        tried = tables.tuned[tables.tuned["method"] == method]
        scores = _scores(runs, tried, _drawn(tried, tables.hyperparameters))
        if scores.shape[1] == len(tables.worlds) and scores.notna().all(axis=1).any():
            found.append(_sensitivity(method, scores.to_numpy()))
    if not found:
        raise NotApplicableError("sensitivity: no method has a draw that is finished in every world")
    return found


def _sensitivity(method: str, scores: np.ndarray) -> Sensitivity:
    """Measure scores (D, W) of draws in worlds, NaN where a draw failed; the intervals are those of resampled draws."""
    picked = generator(0, "sensitivity", method).integers(0, len(scores), size=(BANDS, len(scores)))
    known = np.where(np.isnan(scores), -np.inf, scores)
    samples = np.concatenate([known[None], known[picked]])  # (1 + B, D, W), the draws themselves first
    performance, for_all = samples.max(axis=1).mean(axis=1), samples.mean(axis=2).max(axis=1)
    measured = np.isfinite(for_all)  # a replicate may have no draw that has a score in every world
    sensitivity = np.subtract(performance, for_all, where=measured, out=np.full(len(samples), np.nan))
    ends = [
        tuple(float(end) for end in interval(values[1:][measured[1:]], len(scores)))
        for values in (performance, sensitivity)
    ]
    return Sensitivity(method, float(performance[0]), float(sensitivity[0]), len(scores), *ends)  # type: ignore[arg-type]


def normalised(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with their draw's mean score, scaled so that the 5th and 95th percentile in a world are 0 and 1."""

    def to_unit(scores: pd.Series) -> pd.Series:
        low, high = np.quantile(scores, [0.05, 0.95])
        return (scores - low) / max(high - low, 1e-12)

    means = runs.groupby(["world", "method", "draw"])["score"].transform("mean")
    return runs.assign(score=means.groupby(runs["world"]).transform(to_unit))


def _drawn(runs: pd.DataFrame, names: list[str]) -> list[str]:
    """Return the hyperparameters that tell draws apart: one that differs between worlds alone is none of them."""
    return [name for name in names if any(varied(of_world, [name]) for _, of_world in runs.groupby("world"))]


def _scores(runs: pd.DataFrame, tried: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return mean scores by draw, identified by its values, and world, NaN where no run of it has a score.

    Only draws that were tried in every world count.
    """
    known, all_tried = (of.assign(values=list(map(str, of[names].to_numpy().tolist()))) for of in (runs, tried))
    worlds = all_tried.groupby("values")["world"].nunique()
    scores = known.pivot_table(index="values", columns="world", values="score")
    return scores.reindex(worlds.index[worlds == all_tried["world"].nunique()])


def chart(tables: Tables, data: list[Sensitivity], labels: Labels = USUAL) -> Chart:
    """Draw a point for each method, and the line of equal performance with one setting for all worlds."""
    reference = next((item for item in data if item.method == REFERENCE), data[0])
    name = labels.method(reference.method)
    start = reference.performance - reference.sensitivity
    marks: list[Mark] = []
    for item in data:
        x, y = np.array([item.sensitivity]), np.array([item.performance])
        marks.append(Span(item.method, np.array(item.sensitivity_interval), np.repeat(y, 2)))
        marks.append(Span(item.method, np.repeat(x, 2), np.array(item.performance_interval)))
        marks.append(Points(item.method, x, y, kind="ring"))
    widths = [end for item in data for end in (*item.sensitivity_interval, item.sensitivity)]
    heights = [end for item in data for end in (*item.performance_interval, item.performance)]
    across, up = _limits([0.0, *widths], 0.05), _limits(heights, 0.25)
    ends = min(across[1], up[1] - start)
    middle = (max(across[0], up[0] - start) + ends) / 2  # the text keeps away from the point of the reference itself
    marks.insert(0, Rule(start, f"{name}, one setting for all", 1.0, at_start=reference.sensitivity > middle))
    panel = Panel(
        Axis("Sensitivity: loss by one setting for all worlds", limits=across),
        Axis("Performance, tuned by world", limits=up),
        marks,
    )
    caption = (
        "Up: better when tuned for each world. Left: loses less by one setting for all worlds. Above the dashed line "
        f"a method does better than {name} with one setting for all worlds. Lines are 95 % bootstrap intervals."
    )
    return Chart("sensitivity", "Performance and sensitivity", caption, labels.series(tables.methods), [panel])


def _limits(values: list[float], share: float) -> tuple[float, float]:
    """Return the range of the values with some room below, and a quarter of it above."""
    low, high = min(values), max(values)
    width = max(high - low, 0.05)
    return low - width * share, high + width * 0.25
