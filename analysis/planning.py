"""What a claim costs: the draws, runs and core-hours that it needs, for several numbers of seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.chart import Axis, Chart, Line, Mark, Panel, Rule, Series
from analysis.errors import AnalysisError
from analysis.power_curves import (
    SEEDS,
    Claim,
    Population,
    PowerCurve,
    check_power,
    pilot_population,
    power_curve,
    read_claim,
    with_effect,
)
from analysis.style import OTHERS
from analysis.tables import Tables
from mulex.messages import unknown

if TYPE_CHECKING:
    from analysis.renderer import Picture


@dataclass(frozen=True)
class Guesses:
    """What is stated and not taken from a pilot: the lead, the spreads by draw and by seed, the seconds of a run."""

    effect: float | None = None
    sd_draws: float | None = None
    sd_seeds: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("sd_draws", "sd_seeds", "seconds"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise AnalysisError(f"{name}: {value:g}: use a number that is not negative")


@dataclass(frozen=True)
class Power:
    """The power of a claim by draws and seeds, and what it needs for the power that was asked for."""

    claim: Claim
    measure: str
    power: float
    effect: float
    world: str
    populations: tuple[Population, Population]
    curves: list[PowerCurve]
    seconds: tuple[float, float] | None
    notes: list[str]

    @property
    def needed(self) -> pd.DataFrame:
        """A row for each number of seeds: draws of each method, runs of both, and core-hours (NaN if unknown)."""
        rows = []
        for curve in self.curves:
            draws = curve.needed(self.power)
            runs = None if draws is None else 2 * draws * curve.seeds
            known = draws is not None and self.seconds is not None
            hours = draws * curve.seeds * sum(self.seconds) / 3600 if known else np.nan  # type: ignore[operator, arg-type]
            rows.append({"seeds": curve.seeds, "draws": draws, "runs": runs, "core_hours": hours})
        return pd.DataFrame(rows).astype({"draws": "Int64", "runs": "Int64", "core_hours": "float64"})

    @property
    def frame(self) -> pd.DataFrame:
        """The power for each number of seeds and draws."""
        parts = [pd.DataFrame({"seeds": c.seeds, "draws": c.draws, "power": c.power}) for c in self.curves]
        return pd.concat(parts, ignore_index=True)

    def plain(self) -> dict[str, Any]:
        """Return it for JSON; null where more than 10,000 draws are needed or the cost is not known."""
        rows = self.needed.astype(object).where(self.needed.notna(), None).to_dict("records")
        better, worse = self.populations
        return {
            "claim": f"{self.claim.better} > {self.claim.worse}",
            "measure": self.measure,
            "world": self.world,
            "power": self.power,
            "effect": self.effect,
            "sd_draws": {self.claim.better: better.sd_draws, self.claim.worse: worse.sd_draws},
            "sd_seeds": {self.claim.better: better.sd_seeds, self.claim.worse: worse.sd_seeds},
            "needed": rows,
            "notes": self.notes,
        }

    def plot(self) -> "Picture":
        """Draw the power against the number of draws, with a line for each number of seeds."""
        from analysis.renderer import render
        from analysis.style import SIZES

        return render(self.chart(), SIZES["screen"])

    def chart(self) -> Chart:
        """Return the figure as data."""
        series = [Series(str(c.seeds), f"{c.seeds} seeds", OTHERS[i % len(OTHERS)]) for i, c in enumerate(self.curves)]
        needs = [draws for draws in self.needed["draws"] if not pd.isna(draws)]
        most = max(60, min(2 * max(needs, default=500), 10_000))
        marks: list[Mark] = [Rule(self.power, f"power {self.power:g}")]
        for curve in self.curves:
            shown = curve.draws <= most
            marks.append(Line(str(curve.seeds), curve.draws[shown].astype(float), curve.power[shown]))
        what = f"{self.claim.better} > {self.claim.worse} ({self.measure.replace('_', ' ')})"
        panel = Panel(Axis("Draws of each method", limits=(0.0, float(most))), Axis("Power", limits=(0.0, 1.02)), marks)
        caption = (
            f"Probability that a sweep decides {what}, if the difference is {self.effect:.3g}, by draws and seeds."
        )
        return Chart("power", "Power by draws", caption, series, [panel])


def plan_power(
    tables: Tables | None,
    methods: Sequence[str],
    claim: str,
    measure: str,
    power: float,
    guesses: Guesses,
    world: str | None = None,
    seeds: Sequence[int] = SEEDS,
    cpus: float = 1.0,
) -> Power:
    """Compute the power of a claim; `tables` is a pilot, None if everything is a guess.

    Raises:
        AnalysisError: The claim, the measure, the power or the world cannot be used, or there is too little to go by.
    """
    check_power(power, measure, seeds)
    read = read_claim(claim, methods)
    notes: list[str] = []
    if tables is None:
        pair, name, seconds = _guessed(guesses), "", None
    else:
        name, runs = _pilot(tables, read, world)
        pair = tuple(pilot_population(of, guesses.sd_draws, guesses.sd_seeds) for of in runs)  # type: ignore[assignment]
        seconds = _seconds(runs, cpus)
        notes += _notes(runs, guesses)
    if guesses.seconds is not None:
        seconds = (guesses.seconds * cpus, guesses.seconds * cpus)
    better, worse = pair
    if guesses.effect is not None:
        better = with_effect(better, worse, measure, guesses.effect)
    effect = better.value(measure) - worse.value(measure) if guesses.effect is None else guesses.effect
    if effect <= 0:
        notes.append(f"the pilot says the opposite ({effect:.3f}); state the difference to be found with --effect")
    curves = [power_curve(better, worse, measure, n) for n in seeds]
    return Power(read, measure, power, effect, name, (better, worse), curves, seconds, notes)


def _guessed(guesses: Guesses) -> tuple[Population, Population]:
    if guesses.effect is None or guesses.sd_draws is None:
        raise AnalysisError("plan: there are no runs yet; state guesses with --effect and --sd-draws (and --sd-seeds)")
    one = Population(0.0, guesses.sd_draws, guesses.sd_seeds or 0.0)
    return one, one


def _pilot(tables: Tables, claim: Claim, world: str | None) -> tuple[str, list[pd.DataFrame]]:
    """Return the world and the scored runs of both methods in it."""
    if world is not None and world not in tables.worlds:
        raise AnalysisError(f"world: {world}: {unknown('world', world, tables.worlds)}")
    groups = {(w, m): runs for w, m, runs in tables.groups()}
    for name in tables.worlds if world is None else [world]:
        runs = [groups.get((name, method)) for method in (claim.better, claim.worse)]
        if runs[0] is not None and runs[1] is not None:
            return name, [runs[0], runs[1]]
    where = "" if world is None else f" in {world}"
    raise AnalysisError(f"claim: {claim.better} and {claim.worse} have no finished runs together{where}")


def _seconds(runs: list[pd.DataFrame], cpus: float) -> tuple[float, float] | None:
    means = [float(pd.to_numeric(of["seconds"]).mean()) * cpus for of in runs]
    return (means[0], means[1]) if np.isfinite(means).all() else None


def _notes(runs: list[pd.DataFrame], guesses: Guesses) -> list[str]:
    sizes = [f"{of['draw'].nunique()} x {of['seed'].nunique()}" for of in runs]
    notes = [f"pilot: {sizes[0]} and {sizes[1]} draws x seeds; a small pilot may be far off"]
    if guesses.sd_seeds is None and all(of.groupby("draw").size().max() == 1 for of in runs):
        notes.append("the pilot has one seed of each draw, so the spread of seeds is unknown: state it with --sd-seeds")
    return notes
