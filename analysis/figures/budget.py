"""`budget`: the score to expect of the best of n draws."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from analysis.bootstrap import generator, interval, resample
from analysis.chart import Axis, Band, Chart, Line, Mark, Panel
from analysis.errors import NotApplicableError
from analysis.figures.common import BANDS, world_title
from analysis.measures import draw_means
from analysis.tables import AUC, Tables


@dataclass(frozen=True)
class Budget:
    """By number of draws the expected score of the best of them, a draw's score being its mean over seeds."""

    world: str
    method: str
    draws: np.ndarray
    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray


def best_of(n: int) -> np.ndarray:
    """Chances (n, n): row k - 1, column i is that of the i-th smallest to be the best of k of n without replacement.

    It is C(i, k - 1) / C(n, k) for i smaller ones below it.
    """
    k, below = np.arange(1, n + 1)[:, None], np.arange(n)[None]
    possible = below >= k - 1
    spare = np.where(possible, below - k + 1, 0)
    logs = gammaln(below + 1) - gammaln(k) - gammaln(spare + 1)
    logs -= gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.where(possible, np.exp(logs), 0.0)


def compute(tables: Tables) -> list[Budget]:
    """Exact from the order statistics of each method's draws."""
    budgets = []
    for world, method, runs in tables.groups():
        draws, scores = runs["draw"].to_numpy(), runs["score"].to_numpy()
        means = np.sort(draw_means(draws, scores))
        chances = best_of(len(means))
        # Draws only: resampled seeds would spread the means and so raise the best of them.
        rows = resample(np.arange(len(means)), BANDS, generator(0, world, method))
        resampled = np.sort(means[rows[:, :, 0]], axis=1)
        low, high = interval(resampled @ chances.T)
        budgets.append(Budget(world, method, np.arange(1, len(means) + 1), chances @ means, low, high))
    if not budgets or max(len(budget.draws) for budget in budgets) < 2:
        raise NotApplicableError("budget: needs several finished draws of a method")
    return budgets


def chart(tables: Tables, data: list[Budget]) -> Chart:
    """A panel a world."""
    panels = []
    for world in dict.fromkeys(budget.world for budget in data):
        marks: list[Mark] = []
        for budget in (b for b in data if b.world == world):
            marks.append(Band(budget.method, budget.draws, budget.low, budget.high))
            marks.append(Line(budget.method, budget.draws, budget.expected))
        most = max(len(budget.draws) for budget in data)
        y = Axis(f"Expected best {_lower(tables.score_names[world])}")
        panels.append(Panel(_axis(most), y, marks, world_title(tables, world)))
    caption = (
        "Expected score of the best of n random draws (mean over seeds), exact from order statistics. Bands are 95 % "
        "bootstrap intervals."
    )
    return Chart("budget", "Tuning budget", caption, tables.methods, panels, same_y=tables.has_one_score)


def _axis(most: int) -> Axis:
    steps = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if n <= most]
    return Axis("Draws tried", log=True, ticks=[(float(n), str(n)) for n in steps], limits=(0.95, most * 1.05))


def _lower(name: str) -> str:
    return name if name == AUC else name[0].lower() + name[1:]
