"""The best draws of each method: their scores over seeds, their values, and the command that trains one alone."""

import json
import math
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.estimates import mean_estimate
from analysis.tables import Tables
from mulex.errors import UserError
from mulex.methods import METHODS
from mulex.store.roles import TEST, TUNE

if TYPE_CHECKING:
    from sweeps.spec import Spec


@dataclass(frozen=True)
class BestDraw:
    """A draw with its mean score in a world; the interval is Student's over its seeds, NaN of a single seed.

    Draws are ranked by their tuned score. The score is that of the test seeds if there are any. Otherwise it is the
    tuned one, by which the draw was chosen, so it is likely to be too high.
    """

    world: str
    method: str
    rank: int
    draw: int
    seeds: int
    score: float
    low: float
    high: float
    values: dict[str, Any]
    command: str
    tuned: float
    role: str
    """`test` if the score is that of test seeds, otherwise `tune`."""

    def plain(self) -> dict[str, Any]:
        """Return it for JSON, with null for an interval that there is not."""
        ends = {name: x if math.isfinite(x) else None for name, x in (("low", self.low), ("high", self.high))}
        return {**vars(self), **ends}


def best_draws(tables: Tables, top: int = 3) -> list[BestDraw]:
    """Return the best draws of each method and world by their mean score over seeds."""
    found = []
    tests = dict(list(tables.tested.groupby(["world", "method", "draw"])["score"]))
    for world, method, runs in tables.groups():
        means = runs.groupby("draw")["score"].mean().sort_values(ascending=False, kind="stable")
        for rank, draw in enumerate(means.index[:top], start=1):
            of_draw = runs[runs["draw"] == draw]
            values = {n: _plain(of_draw[n].iloc[0]) for n in tables.hyperparameters if pd.notna(of_draw[n].iloc[0])}
            role = TEST if (world, method, draw) in tests else TUNE
            scores = (tests[world, method, draw] if role == TEST else of_draw["score"]).to_numpy(dtype=float)
            score, command = mean_estimate([scores]), _command(tables, world, method, values)
            numbers = (score.value, score.low, score.high)
            tuned = float(of_draw["score"].mean())
            found.append(BestDraw(world, method, rank, int(draw), len(scores), *numbers, values, command, tuned, role))
    return found


def shown_value(value: Any) -> str:
    """Return the value of a hyperparameter with the digits that a reader wants."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _command(tables: Tables, world: str, method: str, values: dict[str, Any]) -> str:
    """Return the command that trains this draw alone, by the sweep's own spec; empty where that is not known."""
    for sweep in tables.sweeps:
        spec = _spec(sweep.spec_text)
        if spec is None or method not in spec.methods or not (sweep.runs["method"] == method).any():
            continue
        resolved = spec.resolved()
        plain, searched = resolved["methods"][method], set(spec.space(method))
        kept = {
            name: value for name, value in plain.items() if name not in searched and not _is_usual(method, name, value)
        }
        text = json.dumps({method: {**kept, **{n: v for n, v in values.items() if n in searched}}})
        options = [f"methods={text}", "search.algorithm=random", "search.draws=1", f"search.seeds={spec.search.seeds}"]
        parts = ["mulex", "sweep", f"{sweep.folder.url.rstrip('/')}/spec.yaml", "--out", f"out/{method}-alone"]
        if world in resolved["worlds"] and len(resolved["worlds"]) > 1:
            options.append(f"worlds={json.dumps({world: resolved['worlds'][world]})}")
        for option in options:
            parts += ["--set", option]
        return shlex.join(parts)
    return ""


def _is_usual(method: str, name: str, value: Any) -> bool:
    """Whether a part of a method is the recipe that a method of this name has anyway."""
    return name == "recipe" and method in METHODS and value == METHODS[method].model_dump(mode="json")


def _spec(text: str) -> "Spec | None":
    from sweeps.spec import parse_frozen

    try:
        return parse_frozen(text, "spec.yaml") if text else None
    except UserError:
        return None
