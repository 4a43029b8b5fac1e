"""The same as a command: one JSON object a row, and a checkpoint that is replaced by renaming."""

import json
import random
import sys
import time
from pathlib import Path

key, step, iterations, checkpoint = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]) / "state.json"
state = json.loads(checkpoint.read_text()) if checkpoint.exists() else {"done": 0, "at": 0.0}
for i in range(state["done"] + 1, iterations + 1):
    time.sleep(0.15)
    state = {"done": i, "at": state["at"] + step * random.Random(f"{key} {i}").gauss(0, 1)}
    print(json.dumps({"eval_return": state["at"], "iteration": i}), flush=True)
    beside = checkpoint.with_suffix(".part")
    beside.write_text(json.dumps(state))
    beside.rename(checkpoint)
