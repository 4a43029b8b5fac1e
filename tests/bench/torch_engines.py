"""The torch engine before and after autograd, side by side: processor time of an iteration, and resident memory.

The engine before it had backward passes written by hand; it is taken from the repository's history.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
BEFORE = "bffd3ba"  # the last commit without autograd
ROUNDS = 7
SUBJECTS = ("mulex dqn 5", "mulex rainbow 5", "epsilon_greedy dqn 1", "mulex textured 2")

_SUBJECT = """
import resource, sys, time
from mulex.config import GridWorldConfig, TrainingConfig
from mulex.methods import make_run
try:
    from mulex.learners.dqn.torch.engine import TorchEngine
except ImportError:
    from mulex.torch_engine import TorchEngine

method, kind, members = sys.argv[1:]
flavour = "rainbow" if kind == "rainbow" else "dqn"
training = TrainingConfig(replay_size=50_000, steps_per_iteration=500, flavour=flavour)
world = GridWorldConfig(textured=kind == "textured")
engine = TorchEngine([make_run(world, method, training, seed=seed) for seed in range(int(members))])
for _ in range(3):
    engine.iterate()
for line in sys.stdin:
    started = time.process_time()
    engine.iterate()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(time.process_time() - started, peak, flush=True)
"""


def measure() -> dict[str, float]:
    """Measure every subject with both versions, one iteration of each in turn."""
    figures = {}
    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BEFORE, "mulex"], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        for subject in SUBJECTS:
            processes = [_start(version, subject) for version in (Path(folder), ROOT)]
            rounds = [[_iteration(process) for process in processes] for _ in range(ROUNDS)]
            for process in processes:
                process.communicate()
            for i, version in enumerate(("before", "after")):
                figures[f"torch {subject}, {version}, s"] = statistics.median(row[i][0] for row in rounds)
                figures[f"torch {subject}, {version}, MB"] = rounds[-1][i][1]
            ratios = [after[0] / before[0] for before, after in rounds]
            figures[f"torch {subject}, after / before"] = statistics.median(ratios)
    return figures


def _start(folder: Path, subject: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-c", _SUBJECT, *subject.split()]
    env = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _iteration(process: "subprocess.Popen[str]") -> tuple[float, float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    seconds, peak = process.stdout.readline().split()
    return float(seconds), float(peak)
