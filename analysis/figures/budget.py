"""`budget`: the expected score of the best of n draws."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from analysis.bootstrap import generator, interval, resample_some
from analysis.chart import Axis, Chart, Line, Mark, Panel
from analysis.errors import NotApplicableError
from analysis.figures.common import BANDS, bands, world_title
from analysis.labels import USUAL, Labels
from analysis.measures import draw_means
from analysis.tables import Tables
from mulex.store.score import AUC


@dataclass(frozen=True)
class Budget:
    """The expected score of the best draw by the number of draws, where a draw's score is its mean over seeds."""

    world: str
    method: str
    draws: np.ndarray
    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray


MOST_POINTS = 1000
"""Up to so many draws, every number of draws has a point; above it, so many numbers at most, evenly spaced by ratio."""


def numbers_of_draws(n: int) -> np.ndarray:
    """Return the numbers of draws from 1 to n at which the expectation is computed."""
    if n <= MOST_POINTS:
        return np.arange(1, n + 1)
    return np.unique(np.round(np.geomspace(1, n, MOST_POINTS)).astype(int))


def best_of(n: int, of: np.ndarray | None = None) -> np.ndarray:
    """Return probabilities (K, n): entry (j, i) is that the i-th smallest of n is the best of `of[j]` of them.

    The numbers `of` are 1 to n unless they are given. With i smaller values below it, and k picked without
    replacement, that is C(i, k - 1) / C(n, k).
    """
    k, below = (np.arange(1, n + 1) if of is None else of)[:, None], np.arange(n)[None]
    possible = below >= k - 1
    spare = np.where(possible, below - k + 1, 0)
    logs = gammaln(below + 1) - gammaln(k) - gammaln(spare + 1)
    logs -= gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.where(possible, np.exp(logs), 0.0)


def compute(tables: Tables) -> list[Budget]:
    """Compute the expectation exactly, from the order statistics of each method's draws."""
    budgets = []
    for world, method, runs in tables.groups():
        draws, scores = runs["draw"].to_numpy(), runs["score"].to_numpy()
        means = np.sort(draw_means(draws, scores))
        numbers = numbers_of_draws(len(means))
        probabilities = best_of(len(means), numbers)
        resampled = [
            np.sort(means[rows[:, :, 0]], axis=1) @ probabilities.T
            for rows in resample_some(np.arange(len(means)), BANDS, generator(0, world, method))
        ]
        low, high = interval(np.concatenate(resampled), len(means))
        budgets.append(Budget(world, method, numbers, probabilities @ means, low, high))
    if not budgets or max(budget.draws[-1] for budget in budgets) < 2:
        raise NotApplicableError("budget: needs several finished draws of a method")
    return budgets


def chart(tables: Tables, data: list[Budget], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each world."""
    panels = []
    for world in dict.fromkeys(budget.world for budget in data):
        marks: list[Mark] = []
        for budget in (b for b in data if b.world == world):
            marks += bands(budget.method, budget.draws, budget.low, budget.high)
            marks.append(Line(budget.method, budget.draws, budget.expected))
        most = int(max(budget.draws[-1] for budget in data))
        y = Axis(f"Expected best {_lower(tables.score_names[world])}")
        panels.append(Panel(_axis(most), y, marks, world_title(tables, world, labels)))
    caption = (
        "Expected score of the best of n random draws (mean over seeds), exact from order statistics. Bands are 95 % "
        "bootstrap intervals."
    )
    series = labels.series(tables.methods)
    return Chart("budget", "Tuning budget", caption, series, panels, same_y=tables.has_one_score)


def _axis(most: int) -> Axis:
    steps = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if n <= most]
    return Axis("Draws tried", log=True, ticks=[(float(n), str(n)) for n in steps], limits=(0.95, most * 1.05))


def _lower(name: str) -> str:
    return name if name == AUC else name[0].lower() + name[1:]
