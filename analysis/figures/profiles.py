"""`profiles`: the share of runs with a score above each threshold."""

from dataclasses import dataclass

import numpy as np

from analysis.bootstrap import generator, interval, resampled_means
from analysis.chart import Axis, Chart, Line, Mark, Panel
from analysis.errors import NotApplicableError
from analysis.figures.common import BANDS, bands, world_title
from analysis.labels import USUAL, Labels
from analysis.tables import Tables

GRID = 201


@dataclass(frozen=True)
class Profile:
    """The share of runs above each threshold, with a 95 % interval."""

    world: str
    method: str
    threshold: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


def compute(tables: Tables) -> list[Profile]:
    """Compute a profile for each method and world; worlds with the same kind of score share their thresholds."""
    if tables.scored.empty:
        raise NotApplicableError("profiles: no finished run has a score")
    by_name = tables.scored.groupby(tables.scored["world"].map(tables.score_names))["score"]
    thresholds = {name: np.linspace(min(0.0, of.min()), max(of.max(), 1e-9), GRID) for name, of in by_name}
    profiles = []
    for world, method, runs in tables.groups():
        threshold = thresholds[tables.score_names[world]]
        above = runs["score"].to_numpy()[:, None] > threshold
        shares = resampled_means(runs["draw"].to_numpy(), above, BANDS, generator(0, world, method))
        low, high = interval(shares, runs["draw"].nunique())
        profiles.append(Profile(world, method, threshold, above.mean(axis=0), low, high))
    return profiles


def chart(tables: Tables, data: list[Profile], labels: Labels = USUAL) -> Chart:
    """Draw one panel for each world."""
    panels = []
    for world in dict.fromkeys(profile.world for profile in data):
        marks: list[Mark] = []
        for profile in (p for p in data if p.world == world):
            marks += bands(profile.method, profile.threshold, profile.low, profile.high)
            marks.append(Line(profile.method, profile.threshold, profile.share))
        x, y = Axis(f"{tables.score_names[world]} above"), Axis("Share of runs", limits=(0.0, 1.02))
        panels.append(Panel(x, y, marks, world_title(tables, world, labels)))
    caption = "Share of runs with a score above each threshold. Bands are 95 % bootstrap intervals."
    return Chart("profiles", "Performance profiles", caption, labels.series(tables.methods), panels)
