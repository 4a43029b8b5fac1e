"""What docs/scale.md is made of: what the plan, the store and the commands cost, measured on this machine.

python -m tests.scale                          # 2,000, 20,000 and 200,000 runs, and all the rest; hours on two cores
python -m tests.scale --place out/scale        # keeps what was measured there, and goes on with what is missing
python -m tests.scale --runs 2000 20000        # some sizes alone
python -m tests.scale --only bucket            # a relaunch on a disk and in a bucket that answers after 30 ms
python -m tests.scale --only launch            # a launch of a million runs until the first of them trains
python -m tests.scale --only driver            # Tune's driver

The runs are synthetic: noisy curves, written by the store's own writer. Of 20,000 runs and more, files are folded into
segments as they are made, without being loose in between, to save the time of writing each of them to the disk.
Every command is a process of its own, whose wall time, processor time and peak memory are measured.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from mulex.store.folder import open_folder
from sweeps.plan import make_plan
from tests.scale.bucket import bucket_costs
from tests.scale.commands import measure_commands
from tests.scale.costs import Results, table
from tests.scale.driver import driving
from tests.scale.launching import launch_cost, ray_cost
from tests.scale.synthetic import ITERATIONS, spec_of

SIZES = (2_000, 20_000, 200_000)
MILLION = 1_000_000
BUCKET = 20_000
FEW = 5


def launch(place: Path) -> None:
    """Launch few runs and a million, and Ray without us, in turn: the difference is what grows with the plan."""
    print("Ray and one worker alone:", ray_cost(place), flush=True)
    for runs in (FEW, MILLION):
        print(f"first run of {runs:,}:", launch_cost(place, runs), flush=True)


def bucket() -> None:
    """Measure the bucket, and print each cost as it comes."""
    for name, cost in bucket_costs(BUCKET):
        print(f"{name}: {cost}", flush=True)


def commands(place: Path, sizes: list[int], iterations: int) -> None:
    """Measure the commands at each size, and print the table."""
    results = Results(place / "results.json")
    for runs in sizes:
        measure_commands(place, runs, iterations, results)
    print(*table(results.costs), sep="\n", flush=True)


def main() -> None:
    """Measure what the options name."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=SIZES)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--only", choices=("commands", "bucket", "launch", "driver"))
    parser.add_argument("--place", type=Path, help="Keep what was measured in this folder, and go on from there.")
    parser.add_argument("--plan", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plan:
        assert sum(1 for _ in make_plan(spec_of(options.plan), open_folder("/nonexistent")).runs()) == options.plan
        return
    kinds: dict[str, Callable[[Path], None]] = {
        "commands": lambda place: commands(place, options.runs, options.iterations),
        "launch": launch,
        "bucket": lambda place: bucket(),
        "driver": lambda place: print(json.dumps(driving())),
    }
    for name, measure in kinds.items():
        if options.only not in (None, name):
            continue
        if options.place and name == "commands":
            options.place.mkdir(parents=True, exist_ok=True)
            measure(options.place)
        else:
            with tempfile.TemporaryDirectory(prefix="mulex-scale-") as place:
                measure(Path(place))


if __name__ == "__main__":
    main()
