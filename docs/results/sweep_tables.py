"""The tables that belong to one sweep, or to one question about a few."""

from dataclasses import replace

import numpy as np
import pandas as pd
from summary_tables import CURVES, HERE, METHODS, curves_of, last_quarter_of, runs_of

import analysis
from analysis.estimates import Estimate
from analysis.labels import display_name
from analysis.measures import iqr
from analysis.selection import confirmed
from analysis.statistics import probability_to_beat
from analysis.study.claims_table import markdown_table
from analysis.study.evidence import difference, mean_of, superiority
from analysis.study.samples import samples_of
from analysis.study.speed import speed_by_share
from analysis.tables import Tables


def short(x: float) -> str:
    return f"{x:.0f}" if x >= 10 else f"{x:.2g}"


def in_brackets(found: Estimate) -> str:
    ends = (f"{x:.2f}" if np.isfinite(x) else "∞" for x in (found.value, found.low, found.high))
    return "{} [{}, {}]".format(*ends) if not np.isnan(found.value) else "-"


LOOKS = ((0, 24), (0, 35), (0, 50), (0, 100), (50, 100))
"""The draws of `main` that the page had in turn, as first and end, and those that only its last look has."""


def looks_table() -> list[str]:
    """List what the claims about `main` came to at each look, and by the draws that only the last look has."""
    tables = analysis.load(HERE / "main")
    rows = []
    for first, end in LOOKS:
        some = of_draws(tables, first, end)
        of = samples_of(some)
        found = [
            superiority("", of["mulex"], of["epsilon_greedy"]),
            superiority("", of["mulex"], of["additive"]),
            difference("", iqr, of["additive"], of["mulex"]),
            *speed_by_share(some, {})[1:],
        ]
        medians = [f"{np.median(of[name].scores):.2f}" for name in METHODS]
        rows.append([f"{first} to {end - 1}", *medians, *[in_brackets(one.estimate) for one in found]])
    medians = [f"median, {display_name(name)}" for name in METHODS]
    beats = [f"a MuleX draw beats one of {display_name(name)}" for name in METHODS[:2]]
    speeds = [f"times as fast, best {share} %" for share in (5, 10)]
    return markdown_table(["draws", *medians, *beats, "IQR, Additive - MuleX", *speeds], rows)


def of_draws(tables: Tables, first: int, end: int) -> Tables:
    """Return the same tables with some of the draws alone."""
    here = tables.runs["draw"].between(first, end, inclusive="left")
    matrices = {name: matrix[here] for name, matrix in tables.matrices.items()}
    return replace(tables, runs=tables.runs[here].reset_index(drop=True), matrices=matrices)


def confirmed_table() -> list[str]:
    """List, by method, the draws of `main` that were trained again with test seeds, and how much of each was luck."""
    tables = analysis.load(HERE / "main")
    rows = []
    for one in confirmed(tables):
        runs = tables.tested[tables.tested["method"] == one.method]
        for draw in one.draws:
            mine = runs[runs["draw"] == draw.draw]
            peaks = np.nanmax(tables.matrices["normalised_return"][mine.index], axis=1)
            spread = f"{draw.scores.min():.2f} to {draw.scores.max():.2f}"
            seeds = [spread, f"{(peaks >= 1 - 1e-9).sum()} of {len(peaks)}"]
            numbers = [f"{draw.tuned:.3f}", in_brackets(draw.confirmed), in_brackets(draw.bias)]
            rows.append([display_name(one.method), str(draw.draw), *numbers, *seeds])
        rows.append([display_name(one.method), f"all {len(one.draws)}", "", "", in_brackets(one.bias), "", ""])
    head = ["method", "draw", "tuned score", "confirmed score", "luck: the difference", "test seeds from worst to best"]
    return markdown_table([*head, "ever at the ideal return"], rows)


DISCOUNTS = {
    "main": "0.97",
    "main-discount-0.99": "0.99",
    "quiet_bonus": "0.99, explorer's bonus / 100",
    "runaway": "0.99, target period 5000",
}


def discounts_table() -> list[str]:
    """Compare the methods at each discount by the draws that all three settings have."""
    places = ("main", "main-discount-0.99", "quiet_bonus")
    runs = {place: runs_of(place) for place in places}
    scores = {place: of.pivot(index="draw", columns="method", values="normalised_auc") for place, of in runs.items()}
    scores["quiet_bonus"] = scores["main-discount-0.99"].assign(mulex=scores["quiet_bonus"]["mulex"])
    shared = min(of["mulex"].count() for of in scores.values())
    before = scores["main-discount-0.99"]["mulex"][:shared]
    rows = []
    for place in places:
        of = scores[place][:shared]
        beats = [probability_to_beat(of["mulex"].to_numpy(), of[name].to_numpy()) for name in METHODS[:2]]
        gain = mean_of("gain", (of["mulex"] - before).to_numpy(), 0.0, True, f"discount {place}").estimate
        cells = [in_brackets(found) for found in [*beats, gain]]
        medians = [f"{of[name].median():.3f}" for name in METHODS]
        rows.append([DISCOUNTS[place], str(shared), *medians, *cells[:2], "" if place == places[1] else cells[2]])
    medians = [f"median, {display_name(name)}" for name in METHODS]
    beats = [f"a MuleX draw beats one of {display_name(name)}" for name in METHODS[:2]]
    return markdown_table(["discount", "draws", *medians, *beats, "MuleX's mean gain of a draw over 0.99"], rows)


def losses_table(*places: str) -> list[str]:
    """Compare the draws that all sweeps have, in the last quarter: what policies earn and how large losses are."""
    parts = []
    for place in places:
        curves, runs = last_quarter_of(place), runs_of(place).set_index("run")
        of_run = {"setting": DISCOUNTS[place], "score": curves["run"].map(runs["normalised_auc"])}
        parts.append(curves.assign(**of_run, endless=curves["eval_episode_length"] >= 500))
    shared = min(part["draw"].max() for part in parts)
    late = pd.concat(part[part["draw"] <= shared] for part in parts)
    columns = ["eval_return", "train_return", "endless", "loss_task", "loss_explore"]
    rows = []
    for method in METHODS:
        for setting, mine in late[late["method"] == method].groupby("setting", sort=False):
            mean = mine[columns].mean()
            score = mine.groupby("run")["score"].first().median()
            by_run = mine.groupby("run")["loss_explore"].mean()
            losses = [short(mean[name]) if pd.notna(mean[name]) else "" for name in columns[3:]]
            span = f"{short(by_run.min())} to {short(by_run.max())}" if by_run.notna().any() else ""
            returns = [f"{mean[name]:.2f}" for name in columns[:2]]
            first = [display_name(method), setting, str(mine["run"].nunique()), f"{score:.3f}"]
            rows.append([*first, *returns, f"{mean['endless']:.0%}", *losses, span])
    head = ["", "discount", "draws", "median score", "greedy return", "return while training"]
    return markdown_table(
        [*head, "greedy episodes that never end", "task head's loss", "explorer's loss", "by run"], rows
    )


def acting_table() -> list[str]:
    """List what each head's greedy policy earns by the first head's share of acting, mean over iterations and runs."""
    curves = curves_of("acting")
    heads = ["eval_return_first", "eval_return_second"]
    by_run = curves.groupby("run")[heads].mean()
    by_run["p_1"] = runs_of("acting").set_index("run")["p_1"]
    rows = []
    for share, runs in by_run.groupby("p_1"):
        gap = (runs[heads[0]] - runs[heads[1]]).abs().max()
        rows.append([f"{share:g}", str(len(runs)), *[f"{runs[head].mean():.2f}" for head in heads], f"{gap:.2f}"])
    return markdown_table(["p_1", "runs", "first head", "second head", "largest difference in a run"], rows)


def tandem_gaps() -> pd.DataFrame:
    """Return the runs of `tandem`, in all of which the second head acts alone: the mean return over training of each
    head's greedy policy, and how much more the head that acts has."""
    returns = curves_of("tandem").groupby("run")[["eval_return_first", "eval_return_second"]].mean()
    runs = runs_of("tandem").set_index("run").join(returns)
    return runs.assign(gap=runs["eval_return_second"] - runs["eval_return_first"])


def tandem_table() -> list[str]:
    """List what both heads earn at each point of the grid, with the gap of every seed."""
    rows = []
    for (share, size, epsilon), runs in tandem_gaps().groupby(["share_body", "replay_size", "epsilon"]):
        gaps = ", ".join(f"{round(gap, 2) + 0.0:.2f}" for gap in sorted(runs["gap"]))  # no minus before a zero
        means = [f"{runs[name].mean():.2f}" for name in ("eval_return_second", "eval_return_first", "gap")]
        rows.append(["shared" if share else "own", f"{size:,.0f}", f"{epsilon:g}", *means, gaps])
    head = ["convolutions", "replay", "epsilon", "the head that acts", "the head that never does", "gap", "by seed"]
    return markdown_table(head, rows)


def tandem_effects_table() -> list[str]:
    """List how much each of the three widens the gap where the other two are equal, with intervals over these pairs."""
    points = tandem_gaps().groupby(["share_body", "replay_size", "epsilon"])["gap"].mean()
    changes = (
        ("convolutions of their own instead of shared ones", "share_body", False, True),
        ("a replay of 20,000 instead of 1,000,000", "replay_size", 20_000, 1_000_000),
        ("epsilon 0.001 instead of 0.1", "epsilon", 0.001, 0.1),
    )
    rows = []
    for title, column, new, old in changes:
        wider = (points.xs(new, level=column) - points.xs(old, level=column)).to_numpy()
        found = mean_of("wider", wider, 0.0, True, f"tandem {column}").estimate
        rows.append([title, str(len(wider)), in_brackets(found), f"{wider.min():.2f} to {wider.max():.2f}"])
    return markdown_table(["", "pairs", "the gap is wider by", "smallest and largest"], rows)


def rainbow_table() -> list[str]:
    """Compare, by method, the draws that both sweeps have: their scores without and with Rainbow, what they gain by it,
    and how the greedy episodes of the median draw look in the end."""
    same = ["method", "draw", "seed", "learning_rate"]
    both = runs_of("main").merge(runs_of("rainbow"), on=same, suffixes=("_dqn", ""))
    late = last_quarter_of("rainbow").groupby("run")[["eval_return", "eval_episode_length"]].mean()
    rows = []
    for method in METHODS:
        mine = both[both["method"] == method]
        gain = (mine["normalised_auc"] - mine["normalised_auc_dqn"]).to_numpy()
        found = mean_of("gain", gain, 0.0, True, f"rainbow {method}").estimate
        medians = [f"{mine[name].median():.3f}" for name in ("normalised_auc_dqn", "normalised_auc")]
        gains = [in_brackets(found), f"{(gain > 0).sum()} of {len(gain)}"]
        ends = late.loc[mine["run"]].median()
        end = [f"{ends['eval_return']:.2f}", f"{ends['eval_episode_length']:.0f}"]
        rows.append([display_name(method), str(len(mine)), *medians, *gains, *end])
    head = ["", "draws", "median, DQN", "median, Rainbow", "mean gain of a draw", "draws that gain"]
    return markdown_table([*head, "return after iteration 600", "steps of an episode then"], rows)


def rooms_table() -> list[str]:
    """List MuleX's runs in each room: their scores, and their returns and losses in the last quarter."""
    runs = runs_of("rooms").set_index("run")
    late = last_quarter_of("rooms").groupby("run")[CURVES].mean()
    rows = []
    for run, row in runs[runs["method"] == "mulex"].sort_values(["world", "draw"]).iterrows():
        returns = [f"{late.loc[run, name]:.2f}" for name in CURVES[:2]]
        losses = [short(late.loc[run, name]) for name in CURVES[2:]]
        scores = [f"{row['learning_rate']:.2g}", f"{row['normalised_auc']:.3f}"]
        rows.append([row["world"], str(row["draw"]), *scores, *returns, *losses])
    head = ["MuleX at", "draw", "learning rate", "score", "greedy return", "return while training"]
    return markdown_table([*head, "task head's loss", "explorer's loss"], rows)
