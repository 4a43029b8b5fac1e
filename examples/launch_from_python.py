"""Launch a small sweep from a dict, look at it, and plot it: python examples/launch_from_python.py [FOLDER]

It trains 8 runs on two cores, which takes well under a minute. Call it again and it trains nothing: the folder already
has every run. Raise "draws", call it once more, and only the new runs are trained.
"""

import sys
from pathlib import Path

import analysis
import sweeps

SPEC = {
    "name": "from_python",
    "worlds": {"two_rooms": {"map": "two_rooms", "room_size": 3}},
    "training": {"iterations": 20, "steps_per_iteration": 500, "warm_up": 200, "target_period": 200},
    "search": {"algorithm": "random", "draws": 2, "seeds": 2, "seed": 0},
    "methods": {
        "epsilon_greedy": {
            "learning_rate": {"log_uniform": [3e-4, 3e-3]},
            "epsilon": {"log_uniform": [0.05, 0.5]},
        },
        "mulex": {
            "learning_rate": {"log_uniform": [3e-4, 3e-3]},
            "p_task": {"uniform": [0.5, 0.9]},
            "gamma_steps": 0.9,
        },
    },
}


def main(folder: Path) -> None:
    """Train what the folder lacks, then print a table and write a figure."""
    spec = sweeps.load_spec(SPEC)
    sweeps.launch(spec, folder, cpus=2)
    print(sweeps.status(folder).runs[["method", "draw", "seed", "status", "score"]].to_string(index=False))

    tables = analysis.load(folder)
    print(tables.runs.groupby("method")["score"].describe()[["count", "min", "50%", "max"]])
    figure = analysis.plot(tables, "curves", methods={"mulex": "MuleX"}, title="Two rooms, 2 draws x 2 seeds")
    figure.savefig(folder / "curves.png")
    print(f"wrote {folder / 'curves.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/from_python"))
