"""Sweeps' tables made up for tests of the analysis: a few methods, draws, seeds and iterations, known in full.

`python -m tests.support.analysis_tables` makes the example pictures of docs/figures.md from them.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

SPACES = {
    "epsilon_greedy": {"learning_rate": (1e-5, 1e-3, True), "epsilon": (1e-3, 0.5, True)},
    "additive": {"learning_rate": (1e-5, 1e-3, True), "beta": (0.01, 100, True)},
    "mulex": {"learning_rate": (1e-5, 1e-3, True), "p_task": (0.5, 0.9, False), "gamma_steps": (0.8, 0.99, False)},
    "two_task_heads": {"learning_rate": (1e-5, 1e-3, True), "epsilon": (1e-3, 0.5, True), "p_1": (0, 1, False)},
}
SKILL = {"epsilon_greedy": 0.45, "additive": 0.6, "mulex": 0.85, "two_task_heads": 0.5}
METHODS = ("epsilon_greedy", "additive", "mulex")
HYPERPARAMETERS = ("learning_rate", "epsilon", "beta", "p_task", "p_1", "gamma_steps")
SPACE = "epsilon: 0.01, learning_rate: {log_uniform: [1e-5, 1e-3]}"
START_ROWS = [
    ("mulex", "a", 1, 1, 4),
    ("mulex", "b", 1, 1, 6),
    ("mulex", "a", 1, 2, 3),
    ("mulex", "b", 1, 2, None),
    ("mulex", "a", 2, 1, None),
    ("mulex", "b", 2, 1, None),
]
MOMENT = pd.Timestamp("2026-01-01", tz="UTC")


def make_tables(methods=METHODS, worlds=("w5",), draws=6, seeds=2, iterations=20, name="made", seed=0):
    """The two tables as frames; returns rise to 4 the sooner, the better the draw."""
    rng = np.random.default_rng(seed)
    runs, curves = [], []
    for w, world in enumerate(worlds):
        for method in methods:
            for draw in range(draws):
                values = _values(method, draw, seed)
                for s in range(seeds):
                    run = f"{name}-{world}-{method}-{draw}-{s}"
                    returns = _returns(values, method, iterations, w, rng)
                    runs.append(_row(run, name, world, method, draw, s, values, returns))
                    curves.append(_curve(run, world, method, draw, s, returns, values, rng))
    return pd.DataFrame(runs), pd.concat(curves, ignore_index=True)


def with_tests(runs, curves, top=3, seeds=10):
    """The same tables with test runs of the best draws: further seeds whose curves are those of runs of other seeds."""
    rng, more, more_curves = np.random.default_rng(1), [runs.assign(role="tune")], [curves]
    for _, of in runs[runs["status"] == "done"].groupby(["world", "method"]):
        for draw in of.groupby("draw")["normalised_auc"].mean().nlargest(top).index:
            for s in range(seeds):
                like = of[of["draw"] == draw].sample(1, random_state=rng).iloc[0]
                name, seed = f"test-{like['run']}-{s}", 10**9 + s
                curve = curves[curves["run"] == like["run"]].assign(run=name, seed=seed)
                curve["eval_return"] = np.clip(curve["eval_return"] + rng.normal(-0.1, 0.3), 0, 4)
                score = curve["eval_return"].mean()
                row = {**like, "run": name, "seed": seed, "role": "test", "auc": score, "normalised_auc": score / 4}
                more.append(pd.DataFrame([row]))
                more_curves.append(curve.assign(normalised_return=curve["eval_return"] / 4))
    return pd.concat(more, ignore_index=True), pd.concat(more_curves, ignore_index=True)


def write_sweep(folder, runs, curves, planned=None, methods=None, space=SPACE, first_seed=0, algorithm="random"):
    """A sweep's folder with these tables, and a spec that plans (draws, seeds) if they are given."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pandas(runs, preserve_index=False), folder / "runs.parquet")
    pq.write_table(pa.Table.from_pandas(curves, preserve_index=False), folder / "curves.parquet")
    if planned:
        worlds = ", ".join(f"{world}: {{room_size: {5 + i}}}" for i, world in enumerate(runs["world"].unique()))
        methods = ", ".join(f"{m}: {{{space}}}" for m in methods or runs["method"].unique())
        seeds = f"seeds: {planned[1]}, first_seed: {first_seed}"
        search = f"search: {{algorithm: {algorithm}, draws: {planned[0]}, {seeds}, seed: 0}}"
        text = f"name: made\nworlds: {{{worlds}}}\n{search}\nmethods: {{{methods}}}\n"
        (folder / "spec.yaml").write_text(text)
    if "role" in runs:
        _write_confirmation(folder, runs[runs["role"] == "test"])
    return str(folder)


def _write_confirmation(folder, tests):
    draws = {}
    for (world, method), of in tests.groupby(["world", "method"]):
        draws.setdefault(world, {})[method] = [int(draw) for draw in of["draw"].unique()]
    plain = {"draws": draws, "seeds": int(tests["seed"].nunique()), "first_seed": 10**9}
    (folder / "confirm.json").write_text(json.dumps(plain))


def made(folder, methods=METHODS, planned=None, **how):
    """A sweep's folder with made-up tables."""
    return write_sweep(folder, *make_tables(methods, **how), planned=planned)


def write_starts(folder, methods=("additive", "mulex"), policies=10, world="w5", name="made"):
    """A table of starts in four rooms: mulex goes straight to the exit, the others stray in the upper rooms."""
    rng = np.random.default_rng(0)
    cells = [(r, c) for r in range(1, 12) for c in range(1, 12) if (r != 6 or c == 3) and (c != 6 or r in (3, 9))]
    rows = []
    for method in methods:
        for draw in range(policies):
            for row, col in cells:
                strays = method != "mulex" and row < 6
                steps = 11 - row + abs(col - 3) + 2 + (rng.integers(0, 50) if strays else 0)
                lost = rng.random() < (0.2 if strays else 0.003)
                rows.append((method, f"{name}-{world}-{method}-{draw}-0", row, col, None if lost else steps))
    write_start_rows(folder, rows)


def write_start_rows(folder, rows=START_ROWS):
    """A table of starts with these rows: method, run, row, column, and steps or None."""
    frame = pd.DataFrame(rows, columns=["method", "run", "row", "col", "steps"])
    frame.astype({"row": "int32", "col": "int32", "steps": "Int32"}).to_parquet(Path(folder) / "starts.parquet")


def constant_tables(scores, iterations=4, ideal=4.0):
    """Runs with flat curves of known scores: {(world, method): scores (draws, seeds)}."""
    runs, curves = [], []
    for (world, method), table in scores.items():
        for draw, of_draw in enumerate(table):
            for s, score in enumerate(of_draw):
                run = f"{world}-{method}-{draw}-{s}"
                returns = np.full(iterations, score * ideal)
                runs.append(_row(run, "flat", world, method, draw, s, {"learning_rate": 10.0**-draw}, returns))
                curves.append(_curve(run, world, method, draw, s, returns, {}, None))
    return pd.DataFrame(runs), pd.concat(curves, ignore_index=True)


def known(folder, scores, **how):
    """The loaded tables of runs with flat curves of known scores."""
    from analysis.tables import load_tables

    return load_tables([write_sweep(folder, *constant_tables(scores, **how))])


def fail(runs, curves, rows, status="failed"):
    """The same tables with these runs failed: no score, no curve."""
    runs = runs.copy()
    runs.loc[rows, "status"] = status
    if status == "failed":
        runs.loc[rows, ["auc", "normalised_auc", "final_return", "best_return"]] = np.nan
        runs.loc[rows, "error"] = "worker died"
        curves = curves[~curves["run"].isin(runs.loc[rows, "run"])]
    return runs, curves


def _values(method, draw, seed):
    """As in a sweep, a draw is the same in every world."""
    rng = np.random.default_rng([seed, draw, len(method)])
    values = {}
    for name, (low, high, log) in SPACES[method].items():
        values[name] = float(np.exp(rng.uniform(np.log(low), np.log(high))) if log else rng.uniform(low, high))
    return values | ({"p_1": draw % 11 / 10} if method == "two_task_heads" else {})


def _returns(values, method, iterations, w, rng):
    """A noisy staircase 0 to 4; a learning rate near 3e-4 is best, a further world harder."""
    off = abs(np.log10(values["learning_rate"]) + 3.5)
    speed = SKILL[method] * np.exp(-off) * (0.75**w) * rng.uniform(0.6, 1.4)
    progress = 1 - np.exp(-speed * np.arange(1, iterations + 1) / iterations * 8)
    return np.clip(np.round(4.4 * progress * 2 + rng.normal(0, 0.5, iterations)) / 2, 0, 4)


def _row(run, sweep, world, method, draw, seed, values, returns):
    reached = np.flatnonzero(returns >= 4)
    return {
        "run": run, "sweep": sweep, "world": world, "method": method, "draw": draw, "seed": seed,
        **{name: values.get(name, np.nan) for name in HYPERPARAMETERS},
        "auc": returns.mean(), "normalised_auc": returns.mean() / 4, "final_return": returns[-1],
        "best_return": returns.max(), "iterations_to_ideal": reached[0] + 1 if len(reached) else np.nan,
        "iterations": len(returns), "env_steps": len(returns) * 2500, "updates": len(returns) * 625,
        "seconds": 100.0 + draw + seed / 10, "engine": "native", "status": "done", "error": None,
        "started_at": MOMENT, "finished_at": MOMENT + pd.Timedelta(seconds=100), "host": "here",
        "package_version": "0.1.0", "git_commit": "0" * 40, "spec_hash": "abc", "schema_version": 1,
    }  # fmt: skip


def _curve(run, world, method, draw, seed, returns, values, rng):
    frame = {
        "run": run, "world": world, "method": method, "draw": draw, "seed": seed,
        "iteration": np.arange(1, len(returns) + 1, dtype=np.int32),
        "eval_return": returns, "normalised_return": returns / 4,
    }  # fmt: skip
    if method == "two_task_heads":
        p = values["p_1"]
        frame["eval_return_first"] = np.clip(returns * min(1, 0.15 + 2 * p), 0, 4)
        frame["eval_return_second"] = np.clip(returns * min(1, 0.15 + 2 * (1 - p)), 0, 4)
    return pd.DataFrame(frame)


def docs_pictures(target="docs/pictures/figures"):
    """One example of each figure: main and acting in one world, rooms in three; main is not quite whole."""
    import analysis

    with tempfile.TemporaryDirectory() as folder:
        main = made(f"{folder}/main", planned=(45, 5), draws=40, seeds=5, iterations=200)
        rooms = made(f"{folder}/rooms", worlds=("w5", "w10", "w15"), draws=40, seeds=5, iterations=100, name="rooms")
        acting = made(f"{folder}/acting", ["two_task_heads"], draws=44, seeds=3, iterations=100, name="acting")
        write_starts(main)
        confirmed = write_sweep(f"{folder}/confirmed", *with_tests(*make_tables(draws=40, seeds=3, iterations=60)))
        shown = {
            main: ("curves", "violins", "starts", "response", "profiles", "budget", "importance"),
            rooms: ("rooms", "sensitivity", "one_setting"),
            acting: ("acting",),
            confirmed: ("confirmed",),
        }
        for sweep, names in shown.items():
            tables = analysis.load(sweep)
            for name in names:
                analysis.plot(tables, name).savefig(f"{target}/{name}.png")
    for picture in Path(target).glob("*.png"):
        if picture.stat().st_size > 90_000:
            with Image.open(picture) as image:
                image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    docs_pictures()
