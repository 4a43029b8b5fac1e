"""The curves of all runs as one DataFrame, for people who compute with them in pandas."""

import pandas as pd
import pyarrow as pa

KEYS = ["run", "world", "method", "draw", "seed"]


def join_curves(runs: pd.DataFrame, curves: list[pa.Table]) -> pd.DataFrame:
    """Return one row for each run of `runs` and iteration, in the order of `runs`.

    World, method, draw and seed are those of `runs`, where worlds and draws of joined sweeps may have other names. A
    run that is in several tables is taken from the first of them.
    """
    parts, seen = [], pd.Index([])
    for table in curves:
        if table.num_rows:
            part = table.to_pandas().astype({"run": "str"})
            parts.append(part[~part["run"].isin(seen)])
            seen = seen.union(pd.Index(part["run"].unique()))
    if not parts:
        return pd.DataFrame(columns=[*KEYS, "iteration", "eval_return", "normalised_return"])
    joined = pd.concat(parts, ignore_index=True)
    joined = joined.drop(columns=[name for name in KEYS[1:] if name in joined])
    order = runs[KEYS].assign(order=range(len(runs)))
    frame = order.merge(joined, on="run").sort_values(["order", "iteration"], ignore_index=True)
    return frame.drop(columns="order")
