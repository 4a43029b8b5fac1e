"""Claims about which runs and which heads reach the top, and from where."""

import numpy as np
import pandas as pd

from analysis.columns import HEAD_RETURN
from analysis.measures import best_rows
from analysis.statistics import estimate
from analysis.study.evidence import FALL, RISE, Evidence, mean_of, share_of_runs, superiority
from analysis.study.samples import NEARLY, Sweeps, may_yet_move, pair_of, samples_of
from analysis.study.speed import best_curves
from analysis.study.starts_table import read_starts
from analysis.tables import Tables

HEADS = (f"{HEAD_RETURN}first", f"{HEAD_RETURN}second")


def straight_to_the_exit(tables: Tables, _: Sweeps) -> list[Evidence]:
    """Measure the share of start states from which a policy never arrives."""
    starts = read_starts(tables)
    if starts is None:
        return []
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
    """Measure how much more a head earns that always acts than the other one, which never does."""
    scored = tables.scored
    if "p_1" not in scored or not set(HEADS) <= tables.matrices.keys():
        return []
    alone = scored[scored["p_1"].isin([0, 1])]
    if alone.empty:
        return []
    first, second = (np.nanmean(tables.matrices[name][alone.index], axis=1) for name in HEADS)
    gain = np.where(alone["p_1"].to_numpy() == 1, first - second, second - first)
    what = "mean return of the head that acts - the one that never does"
    return [mean_of(what, gain, 0.0, True, "acting", alone["draw"].to_numpy())]


def epsilon_greedy_fails(tables: Tables, _: Sweeps) -> list[Evidence]:
    """Measure the share of failed runs: those in which no evaluation earns more than half of the ideal."""
    samples = samples_of(tables)
    if "epsilon_greedy" not in samples:
        return []
    of = samples["epsilon_greedy"]
    peak = np.nanmax(tables.matrices["normalised_return"][of.runs.index], axis=1)
    what = "ε-greedy runs that never earn more than half of the ideal"
    return [share_of_runs(what, peak <= 0.5, of.runs["draw"].to_numpy(), 0.9, may_yet_move(tables, FALL))]


def beats_additive_and_gets_there(tables: Tables, _: Sweeps) -> list[Evidence]:
    if not (pair := pair_of(tables)):
        return []
    top, tops = best_curves(pair[0])
    what = f"highest mean return of the best {len(best_rows(pair[0].scores))} MuleX runs, of the ideal"
    highest, rises = estimate(float(top.max()), tops.max(axis=1), pair[0].draws), may_yet_move(tables, RISE)
    return [
        superiority("a MuleX draw beats one of Additive", *pair),
        Evidence(what, highest, NEARLY, draws=pair[0].draws, may_yet=rises),
    ]


def nearly_any_draw(tables: Tables, _: Sweeps) -> list[Evidence]:
    if not (pair := pair_of(tables)):
        return []
    peaks = [np.nanmax(tables.matrices["normalised_return"][of.runs.index], axis=1) >= NEARLY for of in pair]
    (a, many_a), (b, many_b) = (of.share(there) for of, there in zip(pair, peaks, strict=True))
    fewest = min(of.draws for of in pair)
    more = Evidence("the same, MuleX - Additive", estimate(a - b, many_a - many_b, fewest), 0.0, draws=fewest)
    draws, rises = pair[0].runs["draw"].to_numpy(), may_yet_move(tables, RISE)
    return [share_of_runs("MuleX runs that reach the top", peaks[0], draws, 0.8, rises), more]
