"""The paper's claims, each measured on the sweep that its experiment is named after."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.columns import HEAD_RETURN
from analysis.evidence import (
    FALL,
    RISE,
    TURN,
    Evidence,
    Sample,
    difference,
    judge,
    mean_of,
    sample,
    share_of_runs,
    superiority,
)
from analysis.figures.starts import TABLE, read_starts
from analysis.measures import best_rows, first_at_ideal, iqr, mean, median, worst_decile
from analysis.statistics import Estimate, estimate
from analysis.style import shown
from analysis.tables import NORMALISED, Tables

NEARLY = 0.95
"""The share of the ideal return that counts as the top: a mean of ten policies is hardly ever at the ideal itself."""
ITERATIONS = 800
"""Of the paper's runs."""
HEADS = (f"{HEAD_RETURN}first", f"{HEAD_RETURN}second")
THREE = ("epsilon_greedy", "additive", "mulex")
Sweeps = Mapping[str, Tables]


def _first_world(tables: Tables) -> list[str]:
    """If its scores are shares of an ideal return, as the claims have them."""
    return [world for world in tables.worlds[:1] if tables.score_names.get(world) == NORMALISED]


@dataclass(frozen=True)
class Claim:
    """What the paper says of one of its experiments, and how that is measured."""

    experiment: str
    says: str
    measure: Callable[[Tables, Sweeps], list[Evidence]]
    worlds: Callable[[Tables], list[str]] = _first_world
    """Those of a sweep that it is measured in."""


@dataclass(frozen=True)
class Finding:
    """A claim, measured on a sweep."""

    sweep: str
    claim: Claim
    evidence: list[Evidence]
    runs: str
    iterations: int

    @property
    def verdict(self) -> str:
        return judge(self.evidence)

    @property
    def scope(self) -> str:
        """What the verdict is about, where runs are shorter than the paper's."""
        return f" (first {self.iterations} iterations)" if self.iterations < ITERATIONS else ""


def experiment_of(sweep: str) -> str:
    """`main-discount-0.99` is another `main`."""
    return sweep.partition("-")[0]


def findings(sweeps: Sweeps) -> Iterator[Finding]:
    """Every claim on every sweep that it is about, where the runs it needs are there; sweeps are by name."""
    for claim in CLAIMS:
        for name, whole in sweeps.items():
            if experiment_of(name) == claim.experiment and (worlds := claim.worlds(whole)):
                tables = whole.only(worlds)
                if evidence := claim.measure(tables, sweeps):
                    judged = [replace(one, may_yet=one.may_yet or _may_yet(tables, TURN)) for one in evidence]
                    yield Finding(name, claim, judged, _runs(tables), tables.iterations)


def _runs(tables: Tables) -> str:
    groups = [runs for _, _, runs in tables.groups()]
    return " or ".join(sorted({_size(len(runs), runs["draw"].nunique(), runs["seed"].nunique()) for runs in groups}))


def _size(runs: int, draws: int, seeds: int) -> str:
    """Draws x seeds, and how many of them there are where it is not all."""
    return ("" if runs == draws * seeds else f"{runs} of ") + f"{draws} x {seeds}"


def _may_yet(tables: Tables, move: str) -> str:
    """How a number may move in longer runs, where those at hand are shorter than the paper's."""
    return move if tables.iterations < ITERATIONS else ""


def _main(tables: Tables, sweeps: Sweeps) -> Tables | None:
    """The main comparison, if its runs are as long as those that are compared with it."""
    if "main" not in sweeps:
        return None
    main = sweeps["main"].only(_first_world(sweeps["main"]))
    return main if main.iterations == tables.iterations else None


def _samples(tables: Tables, world: str | None = None) -> dict[str, Sample]:
    found = {method: sample(tables, world or tables.worlds[0], method) for method in tables.methods}
    return {method: one for method, one in found.items() if one is not None}


def _pair(tables: Tables) -> tuple[Sample, Sample] | None:
    """MuleX and Additive."""
    samples = _samples(tables)
    return (samples["mulex"], samples["additive"]) if {"mulex", "additive"} <= samples.keys() else None


def _best_curves(of: Sample) -> tuple[np.ndarray, np.ndarray]:
    """The mean normalised curve of the best ten runs (T,), and of the best ten of every replicate (B, T)."""
    curves, scores, rows = of.tables.curves["normalised_return"][of.runs.index], of.scores, of.flat_rows
    curves = curves[:, np.isfinite(curves).all(axis=0)]
    best = len(best_rows(scores))
    order = np.argsort(-np.where(rows >= 0, scores[rows], -np.inf), axis=1, kind="stable")[:, :best]
    chosen = np.take_along_axis(rows, order, axis=1)
    return curves[best_rows(scores)].mean(axis=0), np.stack([curves[row[row >= 0]].mean(axis=0) for row in chosen])


def _when(curve: np.ndarray) -> str:
    first = first_at_ideal(curve[None], NEARLY)[0]
    return f"{first:.0f}" if np.isfinite(first) else "never"


def speed_of_the_best(tables: Tables, _: Sweeps) -> list[Evidence]:
    """How many times as long Additive's best ten need to the top."""
    if not (pair := _pair(tables)):
        return []
    (one, many_one), (other, many_other) = (_best_curves(of) for of in pair)

    def ratio(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        a, b = first_at_ideal(mine, NEARLY), first_at_ideal(theirs, NEARLY)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(a) & np.isinf(b), np.nan, b / a)

    value, samples = float(ratio(one[None], other[None])[0]), ratio(many_one, many_other)
    known = samples[~np.isnan(samples)]
    best = f"until the mean of the best {len(best_rows(pair[0].scores))} is at 95 %"
    what = f"Additive's iterations / MuleX's {best} ({_when(other)} / {_when(one)})"
    if np.isnan(value) or len(known) < 0.975 * len(samples):
        peaks = f"the highest means are {other.max():.2f} / {one.max():.2f} of the ideal"
        return [Evidence(f"{what}, where often neither gets there and {peaks}", Estimate(np.nan, np.nan, np.nan), 1.0)]
    low, high = np.quantile(known, [0.025, 0.975], method="inverted_cdf")
    return [Evidence(what, Estimate(value, float(low), float(high)), 1.0, draws=min(of.draws for of in pair))]


def higher_mean(tables: Tables, _: Sweeps) -> list[Evidence]:
    pair = _pair(tables)
    return [difference("mean AUC, MuleX - Additive", mean, *pair)] if pair else []


def beats_the_others(tables: Tables, _: Sweeps) -> list[Evidence]:
    samples = _samples(tables)
    if set(THREE) - samples.keys():
        return []
    return [
        superiority("a MuleX draw beats one of Additive", samples["mulex"], samples["additive"]),
        superiority("a MuleX draw beats one of ε-greedy", samples["mulex"], samples["epsilon_greedy"]),
    ]


def tighter(tables: Tables, _: Sweeps) -> list[Evidence]:
    pair = _pair(tables)
    return [difference("interquartile range of AUC, Additive - MuleX", iqr, pair[1], pair[0])] if pair else []


def straight_to_the_exit(tables: Tables, _: Sweeps) -> list[Evidence]:
    """By policy, the share of start states from which it never arrives."""
    found = [read_starts(sweep) for sweep in tables.sweeps if sweep.place.exists(TABLE)]
    if not found:
        return []
    starts = pd.concat(found)
    lost = starts["steps"].isna().groupby(starts["run"]).mean()
    policies = tables.scored.assign(lost=tables.scored["run"].map(lost)).dropna(subset="lost")
    mine, theirs = (policies[policies["method"] == method] for method in ("mulex", "additive"))
    if mine.empty or theirs.empty:
        return []

    def share(what: str, of: pd.DataFrame, above: bool, name: str) -> Evidence:
        text = f"{what} ({len(of)} policies)"
        return mean_of(text, of["lost"].to_numpy(), 0.05, above, name, of["draw"].to_numpy())

    return [
        share("starts from which MuleX never arrives", mine, False, "starts mulex"),
        share("the same of Additive", theirs, True, "starts additive"),
    ]


def a_head_must_act(tables: Tables, _: Sweeps) -> list[Evidence]:
    """In runs where one of two heads never acts, how much more the other one earns."""
    scored = tables.scored
    if "p_1" not in scored or not set(HEADS) <= tables.curves.keys():
        return []
    alone = scored[scored["p_1"].isin([0, 1])]
    if alone.empty:
        return []
    first, second = (np.nanmean(tables.curves[name][alone.index], axis=1) for name in HEADS)
    gain = np.where(alone["p_1"].to_numpy() == 1, first - second, second - first)
    what = "mean return of the head that acts - the one that never does"
    return [mean_of(what, gain, 0.0, True, "acting", alone["draw"].to_numpy())]


def _rooms(tables: Tables) -> list[str]:
    """Worlds called w5, w10 and so on."""
    return [world for world in tables.worlds if world[:1] == "w" and world[1:].isdigit()]


def _by_room(tables: Tables, sweeps: Sweeps) -> list[tuple[str, dict[str, Sample]]]:
    """The smallest first; that of the main comparison too."""
    places = {world: found for found in (_main(tables, sweeps), tables) if found for world in _rooms(found)}
    found = [(world, _samples(places[world], world)) for world in sorted(places, key=lambda world: int(world[1:]))]
    return [(world, samples) for world, samples in found if not set(THREE) - samples.keys()]


def better_in_larger_rooms(tables: Tables, sweeps: Sweeps) -> list[Evidence]:
    """MuleX's median over that of epsilon-greedy, in the largest rooms less in the smallest."""
    rooms = _by_room(tables, sweeps)
    if len(rooms) < 2:
        return []

    def relative(samples: dict[str, Sample]) -> tuple[float, np.ndarray]:
        """No number where ε-greedy's median is nothing."""
        (a, many_a), (b, many_b) = samples["mulex"].measure(median), samples["epsilon_greedy"].measure(median)
        return a / b if b > 0 else np.nan, many_a / np.where(many_b > 0, many_b, np.nan)

    (small, in_small), (large, in_large) = rooms[0], rooms[-1]
    (a, many_a), (b, many_b) = relative(in_small), relative(in_large)
    draws = min(of[method].draws for of in (in_small, in_large) for method in ("mulex", "epsilon_greedy"))
    what = f"MuleX's median / ε-greedy's, {large} - {small}"
    return [Evidence(what, estimate(b - a, many_b - many_a), 0.0, draws=draws)]


def _largest_rooms(tables: Tables) -> list[str]:
    return [world for world in tables.worlds if world == "w15"]


def ahead_in_the_largest_rooms(tables: Tables, _: Sweeps) -> list[Evidence]:
    pair = _pair(tables)
    return [superiority("a MuleX draw beats one of Additive at w = 15", *pair)] if pair else []


def epsilon_greedy_fails(tables: Tables, _: Sweeps) -> list[Evidence]:
    """A run fails if no evaluation earns more than half of the ideal."""
    samples = _samples(tables)
    if "epsilon_greedy" not in samples:
        return []
    of = samples["epsilon_greedy"]
    peak = np.nanmax(tables.curves["normalised_return"][of.runs.index], axis=1)
    what = "ε-greedy runs that never earn more than half of the ideal"
    return [share_of_runs(what, peak <= 0.5, of.runs["draw"].to_numpy(), 0.9, _may_yet(tables, FALL))]


def beats_additive_and_gets_there(tables: Tables, _: Sweeps) -> list[Evidence]:
    if not (pair := _pair(tables)):
        return []
    top, tops = _best_curves(pair[0])
    what = f"highest mean return of the best {len(best_rows(pair[0].scores))} MuleX runs, of the ideal"
    highest, rises = estimate(float(top.max()), tops.max(axis=1)), _may_yet(tables, RISE)
    return [
        superiority("a MuleX draw beats one of Additive", *pair),
        Evidence(what, highest, NEARLY, draws=pair[0].draws, may_yet=rises),
    ]


def all_struggle(tables: Tables, _: Sweeps) -> list[Evidence]:
    samples = _samples(tables)
    if set(THREE) - samples.keys():
        return []
    best = max(THREE, key=lambda method: samples[method].measure(mean)[0])
    value, many = samples[best].measure(mean)
    what, rises = f"mean AUC of the best method, {shown(best)}", _may_yet(tables, RISE)
    return [Evidence(what, estimate(value, many), 0.5, False, samples[best].draws, rises)]


def nearly_any_draw(tables: Tables, _: Sweeps) -> list[Evidence]:
    if not (pair := _pair(tables)):
        return []
    peaks = [np.nanmax(tables.curves["normalised_return"][of.runs.index], axis=1) >= NEARLY for of in pair]
    (a, many_a), (b, many_b) = (of.share(there) for of, there in zip(pair, peaks, strict=True))
    more = Evidence(
        "the same, MuleX - Additive", estimate(a - b, many_a - many_b), 0.0, draws=min(p.draws for p in pair)
    )
    draws, rises = pair[0].runs["draw"].to_numpy(), _may_yet(tables, RISE)
    return [share_of_runs("MuleX runs that reach the top", peaks[0], draws, 0.8, rises), more]


def _gains(tables: Tables, sweeps: Sweeps) -> dict[str, tuple[Sample, Sample]]:
    """By method its runs with Rainbow and those of the main comparison."""
    if not (main := _main(tables, sweeps)):
        return {}
    now, before = _samples(tables), _samples(main)
    return {method: (now[method], before[method]) for method in THREE if method in now and method in before}


def all_gain(tables: Tables, sweeps: Sweeps) -> list[Evidence]:
    gains = _gains(tables, sweeps)
    return [
        difference(f"median AUC of {shown(method)}, Rainbow - DQN", median, *pair) for method, pair in gains.items()
    ]


def the_worst_gain_most(tables: Tables, sweeps: Sweeps) -> list[Evidence]:
    gains = _gains(tables, sweeps)
    if set(THREE) - gains.keys():
        return []

    def gain(method: str) -> tuple[float, np.ndarray]:
        (a, many_a), (b, many_b) = (of.measure(worst_decile) for of in gains[method])
        return a - b, many_a - many_b

    (mine, many), others = gain("mulex"), [gain(method) for method in THREE[:2]]
    value = mine - max(other for other, _ in others)
    samples = many - np.maximum(*[many_other for _, many_other in others])
    draws = min(of.draws for pair in gains.values() for of in pair)
    what = "gain of the worst tenth by Rainbow, MuleX - the better of the others"
    return [Evidence(what, estimate(value, samples), 0.0, draws=draws)]


STRAIGHT = "From everywhere MuleX goes straight to the exit, and Additive does not"
CLAIMS = (
    Claim("main", "MuleX's best ten runs reach the top about twice as fast as Additive's", speed_of_the_best),
    Claim("main", "The mean over all MuleX runs is higher than Additive's", higher_mean),
    Claim("main", "MuleX's scores are clearly higher than those of the others", beats_the_others),
    Claim("main", "MuleX's scores are tighter than Additive's", tighter),
    Claim("main", STRAIGHT, straight_to_the_exit),
    Claim("start_states", STRAIGHT, straight_to_the_exit),
    Claim("acting", "A head that never acts learns badly", a_head_must_act),
    Claim("rooms", "Over ε-greedy, MuleX's median improves as rooms grow", better_in_larger_rooms, _rooms),
    Claim("rooms", "At w = 15 MuleX is well ahead of Additive", ahead_in_the_largest_rooms, _largest_rooms),
    Claim("hard", "ε-greedy fails where walls teleport", epsilon_greedy_fails),
    Claim("hard", "There MuleX beats Additive, and reaches the top", beats_additive_and_gets_there),
    Claim("ghost", "With a ghost MuleX is best", beats_the_others),
    Claim("ghost", "With a ghost all struggle", all_struggle),
    Claim("textured", "With textures MuleX reaches the top for nearly any draw, Additive for fewer", nearly_any_draw),
    Claim("rainbow", "All methods gain by Rainbow", all_gain),
    Claim("rainbow", "By Rainbow MuleX's worst runs gain most", the_worst_gain_most),
)
