"""Makes every figure and table of the results again, from the sweeps' tables beside this file: `make results`.

A table stands on its page between two comments, <!-- NAME --> and <!-- end of NAME -->.
"""

import re
from collections.abc import Callable
from functools import partial
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
from analysis.study.evidence import TOO_FEW, mean_of, sample

HERE = Path(__file__).parent
PAGES = (HERE.parent / "results.md", HERE.parent / "deviations.md", HERE / "sb3.md")
METHODS = ("epsilon_greedy", "additive", "mulex")
HYPERPARAMETERS = ("learning_rate", "epsilon", "beta", "p_task", "gamma_steps")
CURVES = ["eval_return", "train_return", "loss_task", "loss_explore"]
ROOMS = ("upper left", "upper right", "lower left", "lower right")
SB3 = "sb3"
ENDS = ("value", "low", "high")
FIGURES = ("curves", "violins", "starts", "acting", "rooms", "response", "sensitivity")


def sweeps(prefix: str = "") -> list[str]:
    """Return the folders that have tables, ordered by name."""
    return sorted(str(path.parent) for path in HERE.glob("*/runs.parquet") if path.parent.name.startswith(prefix))


def studies() -> list[str]:
    """Return the paper's sweeps without the pilot's, which compares settings and not methods."""
    return [place for place in sweeps() if not Path(place).name.startswith(("pilot", SB3))]


def draw_figures() -> None:
    """Draw the figures that apply to each sweep into its folder `figures`."""
    for folder in map(Path, [*studies(), HERE / SB3]):
        tables = analysis.load(folder)
        (folder / "figures").mkdir(exist_ok=True)
        for name in FIGURES:
            if applies(folder, name):
                analysis.plot(tables, name).savefig(folder / "figures" / f"{name}.png")


def applies(folder: Path, figure: str) -> bool:
    """Return whether a sweep has this figure on the page."""
    if figure == "starts":
        return (folder / "starts.parquet").exists()
    if figure == "sensitivity":
        return folder.name == SB3
    return figure not in ("acting", "rooms") or folder.name == figure


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
    for place in ("main", "hard"):
        for _, method, runs in analysis.load(HERE / place).groups():
            varied = [name for name in HYPERPARAMETERS if runs[name].nunique() > 1]
            parts = [f"{name} {spearmanr(runs[name], runs['score']).statistic:.2f}" for name in varied]
            rows.append([place, display_name(method), str(len(runs)), ", ".join(parts)])
    return markdown_table(["sweep", "method", "runs", "rank correlation of the score"], rows)


def starts_table() -> list[str]:
    """List, by sweep and method, the share of starts from which the best policies arrive, in each room."""
    rows = [row for place in ("main", "hard") for row in starts_rows(place)]
    return markdown_table(["sweep", "arrives from", "everywhere", *ROOMS, "policies that always arrive"], rows)


def starts_rows(place: str) -> list[list[str]]:
    starts = pd.read_parquet(HERE / place / "starts.parquet")
    middle = (starts["row"].min() + starts["row"].max()) / 2
    upper, left = starts["row"] < middle, starts["col"] < middle
    rooms = (upper & left, upper & ~left, ~upper & left, ~upper & ~left)
    rows = []
    for method in METHODS:
        mine = starts["method"] == method
        arrives = starts["steps"].notna()
        everywhere = arrives[mine].groupby(starts["run"]).all()
        shares = [f"{arrives[mine & where].mean():.0%}" for where in (mine, *rooms)]
        rows.append([place, display_name(method), *shares, f"{everywhere.sum()} of {len(everywhere)}"])
    return rows


def short(x: float) -> str:
    return f"{x:.0f}" if x >= 10 else f"{x:.2g}"


SETTINGS = {
    "main": "0.97",
    "main-discount-0.99": "0.99",
    "runaway": "0.99, target period 5000",
    "quiet_bonus": "0.99, explorer's bonus / 100",
}


def losses_table() -> list[str]:
    """Compare the draws that all settings have, after 600 iterations: what policies earn and how large losses are."""
    parts = []
    for place, setting in SETTINGS.items():
        curves = pd.read_parquet(HERE / place / "curves.parquet")
        runs = pd.read_parquet(HERE / place / "runs.parquet").set_index("run")
        of_run = {"setting": setting, "score": curves["run"].map(runs["normalised_auc"])}
        parts.append(curves.assign(**of_run, endless=curves["eval_episode_length"] >= 500))
    shared = min(part["draw"].max() for part in parts)
    late = pd.concat(part[(part["iteration"] > 600) & (part["draw"] <= shared)] for part in parts)
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
            rows.append(
                [display_name(method), setting, f"{score:.3f}", *returns, f"{mean['endless']:.0%}", *losses, span]
            )
    head = ["", "discount", "median score", "greedy return", "return while training", "greedy episodes that never end"]
    return markdown_table([*head, "task head's loss", "explorer's loss", "by run"], rows)


def acting_table() -> list[str]:
    """List what each head's greedy policy earns by the first head's share of acting, mean over iterations and runs."""
    curves = pd.read_parquet(HERE / "acting" / "curves.parquet")
    heads = ["eval_return_first", "eval_return_second"]
    by_run = curves.groupby("run")[heads].mean()
    by_run["p_1"] = pd.read_parquet(HERE / "acting" / "runs.parquet").set_index("run")["p_1"]
    rows = []
    for share, runs in by_run.groupby("p_1"):
        gap = (runs[heads[0]] - runs[heads[1]]).abs().max()
        rows.append([f"{share:g}", str(len(runs)), *[f"{runs[head].mean():.2f}" for head in heads], f"{gap:.2f}"])
    return markdown_table(["p_1", "runs", "first head", "second head", "largest difference in a run"], rows)


def tandem_gaps() -> pd.DataFrame:
    """Return the runs of `tandem`, in all of which the second head acts alone: the mean return over training of each
    head's greedy policy, and how much more the head that acts has."""
    curves = pd.read_parquet(HERE / "tandem" / "curves.parquet")
    returns = curves.groupby("run")[["eval_return_first", "eval_return_second"]].mean()
    runs = pd.read_parquet(HERE / "tandem" / "runs.parquet").set_index("run").join(returns)
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
        mean = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
        rows.append([title, str(len(wider)), mean, f"{wider.min():.2f} to {wider.max():.2f}"])
    return markdown_table(["", "pairs", "the gap is wider by", "smallest and largest"], rows)


def rainbow_table() -> list[str]:
    """Compare, by method, the draws that both sweeps have: their scores without and with Rainbow, what they gain by it,
    and how the greedy episodes of the median draw look in the end."""
    runs = [pd.read_parquet(HERE / name / "runs.parquet") for name in ("main", "rainbow")]
    both = runs[0].merge(runs[1], on=["method", "draw", "seed", "learning_rate"], suffixes=("_dqn", ""))
    curves = pd.read_parquet(HERE / "rainbow" / "curves.parquet")
    late = curves[curves["iteration"] > 600].groupby("run")[["eval_return", "eval_episode_length"]].mean()
    rows = []
    for method in METHODS:
        mine = both[both["method"] == method]
        gain = (mine["normalised_auc"] - mine["normalised_auc_dqn"]).to_numpy()
        found = mean_of("gain", gain, 0.0, True, f"rainbow {method}").estimate
        medians = [f"{mine[name].median():.3f}" for name in ("normalised_auc_dqn", "normalised_auc")]
        gains = [f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]", f"{(gain > 0).sum()} of {len(gain)}"]
        ends = late.loc[mine["run"]].median()
        end = [f"{ends['eval_return']:.2f}", f"{ends['eval_episode_length']:.0f}"]
        rows.append([display_name(method), str(len(mine)), *medians, *gains, *end])
    head = ["", "draws", "median, DQN", "median, Rainbow", "mean gain of a draw", "draws that gain"]
    return markdown_table([*head, "return after iteration 600", "steps of an episode then"], rows)


def rooms_table() -> list[str]:
    """List MuleX's runs in each room: their scores, and their returns and losses after 300 iterations."""
    runs = pd.read_parquet(HERE / "rooms" / "runs.parquet").set_index("run")
    curves = pd.read_parquet(HERE / "rooms" / "curves.parquet")
    late = curves[curves["iteration"] > 300].groupby("run")[CURVES].mean()
    rows = []
    for run, row in runs[runs["method"] == "mulex"].sort_values(["world", "draw"]).iterrows():
        returns = [f"{late.loc[run, name]:.2f}" for name in CURVES[:2]]
        losses = [short(late.loc[run, name]) for name in CURVES[2:]]
        scores = [f"{row['learning_rate']:.2g}", f"{row['normalised_auc']:.3f}"]
        rows.append([row["world"], str(row["draw"]), *scores, *returns, *losses])
    head = ["MuleX at", "draw", "learning rate", "score", "greedy return", "return while training"]
    return markdown_table([*head, "task head's loss", "explorer's loss"], rows)


def late_table() -> list[str]:
    """List what methods earn in the last quarter of the runs that end early, greedily and while training."""
    rows = []
    for place in ("rooms", "ghost", "textured"):
        if not (HERE / place / "curves.parquet").exists():
            continue
        spec = YAML(typ="safe").load((HERE / place / "spec.yaml").read_text())
        last = int(spec["training"]["iterations"] * 3 / 4)
        curves = pd.read_parquet(HERE / place / "curves.parquet")
        for world, settings in spec["worlds"].items():
            limit = settings["time_limit"] or 100 * settings["room_size"]
            for method in METHODS:
                mine = curves[(curves["world"] == world) & (curves["method"] == method) & (curves["iteration"] > last)]
                returns = [f"{mine[name].mean():.2f}" for name in CURVES[:2]]
                endless = f"{(mine['eval_episode_length'] >= limit).mean():.0%}"
                rows.append(
                    [place, world, display_name(method), str(mine["run"].nunique()), str(last), *returns, endless]
                )
    head = ["sweep", "world", "method", "runs", "after iteration", "greedy return", "return while training"]
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
        curves = pd.read_parquet(HERE / place / "curves.parquet")
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
        cells = [_with_interval(own.loc[name]) if name in own.index else "-" for name in measures]
        rows.append([world, method, f"{own['draws'].iloc[0]} ({own['runs'].iloc[0]} runs)", *cells])
    head = ["world", "method", "draws", "median", "mean", "best", "worst decile", "iterations to the ideal"]
    return markdown_table(head, rows)


def comparisons_table(sweep: str) -> list[str]:
    """List how often a draw of one method beats one of another in each world of a sweep."""
    found = analysis.stats(analysis.load(HERE / sweep))
    rows = [
        [
            row.world,
            f"{display_name(row.method)} over {display_name(row.other)}",
            _with_interval(pd.Series({"value": row.value, "low": row.low, "high": row.high})),
        ]
        for row in found[found["measure"] == "probability_to_beat"].itertuples()
    ]
    return markdown_table(["world", "comparison", "probability"], rows)


def sb3_sensitivity_table() -> list[str]:
    """List the points of the performance-sensitivity plane, with intervals."""
    rows = [
        [
            item.method,
            _with_interval(pd.Series(dict(zip(ENDS, (item.performance, *item.performance_interval), strict=True)))),
            _with_interval(pd.Series(dict(zip(ENDS, (item.sensitivity, *item.sensitivity_interval), strict=True)))),
        ]
        for item in sensitivity.compute(analysis.load(HERE / SB3))
    ]
    return markdown_table(["method", "performance, tuned by world", "loss by one setting for both worlds"], rows)


def _with_interval(row: pd.Series) -> str:
    shown = ["never" if np.isinf(row[name]) else f"{row[name]:.3g}" for name in ENDS]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


TABLES: dict[str, Callable[[], list[str]]] = {
    "claims": claims_table,
    "scores": scores_table,
    "pilot": pilot_table,
    "correlations": correlations_table,
    "starts": starts_table,
    "losses": losses_table,
    "acting": acting_table,
    "tandem": tandem_table,
    "tandem effects": tandem_effects_table,
    "rainbow": rainbow_table,
    "rooms": rooms_table,
    "late": late_table,
    "lengths": lengths_table,
    "sb3": sb3_table,
    "sb3 comparisons": partial(comparisons_table, SB3),
    "baselines comparisons": partial(comparisons_table, "baselines"),
    "sb3 sensitivity": sb3_sensitivity_table,
}


def with_tables(page: str) -> str:
    """Return a page with its tables made again."""
    for name, make in TABLES.items():
        found = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        if found.search(page):
            lines = "\n".join(make())
            page = found.sub(lambda match, lines=lines: f"{match[1]}{lines}\n{match[2]}", page)
    return page


if __name__ == "__main__":
    draw_figures()
    for path in PAGES:
        path.write_text(with_tables(path.read_text()))
