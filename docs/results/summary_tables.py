"""The tables that span several sweeps, and those that any sweep can have."""

from pathlib import Path

import numpy as np
import pandas as pd
from ruamel.yaml import YAML
from scipy.stats import spearmanr

import analysis
from analysis.figures import sensitivity
from analysis.labels import display_name
from analysis.measures import best, iqr, median, worst
from analysis.study.claims import CLAIMS, check_claims
from analysis.study.claims_table import HEAD, claim_rows, markdown_table
from analysis.study.evidence import TOO_FEW, sample

HERE = Path(__file__).parent
METHODS = ("epsilon_greedy", "additive", "mulex")
HYPERPARAMETERS = ("learning_rate", "epsilon", "beta", "p_task", "gamma_steps")
CURVES = ["eval_return", "train_return", "loss_task", "loss_explore"]
ROOMS = ("upper left", "upper right", "lower left", "lower right")
SB3 = "sb3"
ENDS = ("value", "low", "high")


def sweeps(prefix: str = "") -> list[str]:
    """Return the folders that have tables, ordered by name."""
    return sorted(str(path.parent) for path in HERE.glob("*/runs.parquet") if path.parent.name.startswith(prefix))


def studies() -> list[str]:
    """Return the paper's sweeps without the pilot's, which compares settings and not methods."""
    return [place for place in sweeps() if not Path(place).name.startswith(("pilot", SB3))]


def runs_of(place: str) -> pd.DataFrame:
    """Return the tuning runs of a sweep; test runs have tables of their own."""
    return analysis.load(HERE / place).tuned


def curves_of(place: str) -> pd.DataFrame:
    """Return the curves of a sweep's tuning runs, with every column."""
    tables = analysis.load(HERE / place)
    return tables.curves[tables.curves["run"].isin(tables.tuned["run"])]


def last_quarter_of(place: str) -> pd.DataFrame:
    """Return the curves of the last quarter of a sweep's iterations."""
    curves = curves_of(place)
    return curves[curves["iteration"] > curves["iteration"].max() * 3 / 4]


def claims_table() -> list[str]:
    """List the claims as measured, and then those about experiments that have no sweep here."""
    found = check_claims([analysis.load(path) for path in studies()])
    measured = {finding.claim.says for finding in found}
    missing = [[claim.experiment, "none", claim.says, "-", TOO_FEW] for claim in CLAIMS if claim.says not in measured]
    return markdown_table(HEAD, [*claim_rows(found), *missing])


def scores_table() -> list[str]:
    """List normalised AUCs by sweep, world and method."""
    rows = []
    for place in studies():
        tables = analysis.load(place)
        for world, method, runs in tables.groups():
            of = sample(tables, world, method)
            assert of is not None
            numbers = [f"{of.measure(measure)[0]:.3f}" for measure in (worst, median, best, iqr)]
            at_ideal = np.nanmax(tables.matrices["normalised_return"][runs.index], axis=1) >= 1 - 1e-9
            sizes = f"{of.draws} x {runs['seed'].nunique()}"
            sweep = f"[{Path(place).name}](results/{Path(place).name})"
            rows.append([sweep, world, display_name(method), sizes, *numbers, f"{at_ideal.sum()} of {len(runs)}"])
    head = ["sweep", "world", "method", "draws x seeds", "worst", "median", "best", "IQR", "ever at the ideal return"]
    return markdown_table(head, rows)


def pilot_table() -> list[str]:
    """List the median normalised AUC by arm and method, and the mean of the three, which decides."""
    tables = analysis.load(*sweeps("pilot"))
    medians: dict[str, dict[str, float]] = {}
    for world, method, runs in tables.groups():
        medians.setdefault(world, {})[method] = float(median(runs["score"].to_numpy()[None])[0])
    base = medians["base"]
    rows = []
    for arm, found in medians.items():
        three = [found.get(method, base[method]) for method in METHODS]
        words = [
            f"{x:.3f}" + ("" if method in found else " (of base)") for method, x in zip(METHODS, three, strict=True)
        ]
        order = " > ".join(display_name(METHODS[i]) for i in np.argsort(three)[::-1])
        rows.append((float(np.mean(three)), [f"`{arm}`", *words, f"{np.mean(three):.3f}", order]))
    rows.sort(key=lambda row: -row[0])
    return markdown_table(
        ["arm", *[display_name(method) for method in METHODS], "mean", "order of the methods"], [row for _, row in rows]
    )


def correlations_table() -> list[str]:
    """List, by method, Spearman's rank correlation of a run's score with each hyperparameter of its search space."""
    rows = []
    for place in ("main", "main-discount-0.99", "hard"):
        for _, method, runs in analysis.load(HERE / place).groups():
            varied = [name for name in HYPERPARAMETERS if runs[name].nunique() > 1]
            parts = [f"{name} {spearmanr(runs[name], runs['score']).statistic:.2f}" for name in varied]
            rows.append([place, display_name(method), str(len(runs)), ", ".join(parts)])
    return markdown_table(["sweep", "method", "runs", "rank correlation of the score"], rows)


def starts_table() -> list[str]:
    """List, by sweep and method, the share of starts from which the best policies arrive, in each room."""
    rows = [row for place in ("main", "hard", "rainbow") for row in starts_rows(place)]
    return markdown_table(["policies of", "arrive from", "everywhere", *ROOMS, "policies that always arrive"], rows)


def starts_rows(place: str) -> list[list[str]]:
    starts = pd.read_parquet(HERE / place / "starts.parquet")
    is_test = ~starts["run"].isin(runs_of(place)["run"])
    parts = ((f"{place}, best runs", starts[~is_test]), (f"{place}, test runs", starts[is_test]))
    return [row for name, of in parts if len(of) for row in starts_rows_of(name, of)]


def starts_rows_of(name: str, starts: pd.DataFrame) -> list[list[str]]:
    middle = (starts["row"].min() + starts["row"].max()) / 2
    upper, left = starts["row"] < middle, starts["col"] < middle
    rooms = (upper & left, upper & ~left, ~upper & left, ~upper & ~left)
    rows = []
    for method in METHODS:
        mine = starts["method"] == method
        arrives = starts["steps"].notna()
        everywhere = arrives[mine].groupby(starts["run"]).all()
        shares = [f"{arrives[mine & where].mean():.0%}" for where in (mine, *rooms)]
        rows.append([name, display_name(method), *shares, f"{everywhere.sum()} of {len(everywhere)}"])
    return rows


def late_table(place: str) -> list[str]:
    """List what methods earn in the last quarter of a sweep's runs, greedily and while training."""
    spec = YAML(typ="safe").load((HERE / place / "spec.yaml").read_text())
    late = last_quarter_of(place)
    rows = []
    for world, settings in spec["worlds"].items():
        limit = settings["time_limit"] or 100 * settings["room_size"]
        for method in METHODS:
            mine = late[(late["world"] == world) & (late["method"] == method)]
            returns = [f"{mine[name].mean():.2f}" for name in CURVES[:2]]
            endless = f"{(mine['eval_episode_length'] >= limit).mean():.0%}"
            rows.append([world, display_name(method), str(mine["run"].nunique()), *returns, endless])
    head = [
        "world",
        "method",
        "runs",
        f"greedy return after iteration {late['iteration'].min() - 1}",
        "return while training",
    ]
    return markdown_table([*head, "greedy episodes that never end"], rows)


def lengths_table() -> list[str]:
    """List how often a MuleX draw is ahead of another method's, by the AUC of the first iterations alone."""
    rows = []
    for place, world in (
        ("main", "w5"),
        ("rooms", "w5"),
        ("rooms", "w10"),
        ("ghost", "ghost"),
        ("textured", "textured"),
    ):
        curves = curves_of(place)
        curves = curves[curves["world"] == world]
        for iterations in (200, 300, 400, 800):
            if iterations <= curves["iteration"].max():
                first = curves[curves["iteration"] <= iterations]
                scores = first.groupby(["method", "draw"])["normalised_return"].mean().unstack("method")
                mine, others = scores["mulex"].to_numpy(), [scores[name].to_numpy() for name in METHODS[:2]]
                ahead = [(mine[:, None] > other).mean() + (mine[:, None] == other).mean() / 2 for other in others]
                rows.append([place, world, str(len(mine)), str(iterations), *[f"{share:.2f}" for share in ahead]])
    return markdown_table(["sweep", "world", "draws", "first iterations", "of ε-greedy", "of Additive"], rows)


def sb3_table() -> list[str]:
    """List the scores of the learners of Stable-Baselines3 in each world, with intervals."""
    found = analysis.stats(analysis.load(HERE / SB3))
    measures = ("median", "mean", "best", "worst_decile", "iterations_to_ideal")
    rows = []
    for (world, method), of in found[found["other"].isna()].groupby(["world", "method"], sort=False):
        own = of.set_index("measure")
        cells = [with_interval(own.loc[name]) if name in own.index else "-" for name in measures]
        rows.append([world, method, f"{own['draws'].iloc[0]} ({own['runs'].iloc[0]} runs)", *cells])
    head = ["world", "method", "draws", "median", "mean", "best", "worst decile", "iterations to the ideal"]
    return markdown_table(head, rows)


def comparisons_table(sweep: str, other: str | None = None) -> list[str]:
    """List how often a draw of one method beats one of another (or of any other) in each world of a sweep."""
    found = analysis.stats(analysis.load(HERE / sweep))
    found = found[(found["measure"] == "probability_to_beat") & ((found["other"] == other) | (other is None))]
    rows = [
        [
            row.world,
            f"{display_name(row.method)} over {display_name(row.other)}",
            with_interval(pd.Series({"value": row.value, "low": row.low, "high": row.high})),
        ]
        for row in found.itertuples()
    ]
    return markdown_table(["world", "comparison", "probability"], rows)


def sb3_sensitivity_table() -> list[str]:
    """List the points of the performance-sensitivity plane, with intervals."""
    rows = [
        [
            item.method,
            with_interval(pd.Series(dict(zip(ENDS, (item.performance, *item.performance_interval), strict=True)))),
            with_interval(pd.Series(dict(zip(ENDS, (item.sensitivity, *item.sensitivity_interval), strict=True)))),
        ]
        for item in sensitivity.compute(analysis.load(HERE / SB3))
    ]
    return markdown_table(["method", "performance, tuned by world", "loss by one setting for both worlds"], rows)


def with_interval(row: pd.Series) -> str:
    shown = ["never" if np.isinf(row[name]) else f"{row[name]:.3g}" for name in ENDS]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"
