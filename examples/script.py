"""A script of its own as a learner: it imports nothing of mulex and prints one JSON object per row.

    command: [python, examples/script.py, --seed, "{key}", --step-size, "{step_size}", --iterations, "{rows_wanted}"]

It plays a bandit with ten arms. With --checkpoint FOLDER it can be stopped and goes on where it was.
"""

import argparse
import json
import random
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--step-size", type=float, default=0.1)
parser.add_argument("--iterations", type=int, default=10)
parser.add_argument("--checkpoint", type=Path)
options = parser.parse_args()

rng = random.Random(options.seed)
arms = [rng.gauss(0, 1) for _ in range(10)]
values, done = [0.0] * 10, 0

if options.checkpoint and (options.checkpoint / "state.json").exists():
    values, done, (version, words, gauss) = json.loads((options.checkpoint / "state.json").read_text())
    rng.setstate((version, tuple(words), gauss))

for iteration in range(done + 1, options.iterations + 1):
    for _ in range(100):
        arm = rng.randrange(10) if rng.random() < 0.1 else values.index(max(values))
        values[arm] += options.step_size * (rng.gauss(arms[arm], 1) - values[arm])
    # the row first, then the checkpoint that follows it
    print(json.dumps({"iteration": iteration, "eval_return": arms[values.index(max(values))]}), flush=True)
    if options.checkpoint:
        (options.checkpoint / "new.json").write_text(json.dumps([values, iteration, rng.getstate()]))
        (options.checkpoint / "new.json").replace(options.checkpoint / "state.json")
