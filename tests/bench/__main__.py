"""Run the benchmarks named on the command line, or all: `python -m tests.bench [worlds ...]`."""

import importlib
import json
import pkgutil
import sys
from pathlib import Path

import tests.bench

RESULTS = Path("build/bench.json")
HELPERS = ("__main__", "plain_dqn", "peers", "test_peers", "coverage_of_intervals")  # make bench-peers, make coverage


def main(names: list[str]) -> None:
    """Each benchmark is a module with `measure() -> dict[name, figure]`; figures of earlier runs are kept."""
    known = [module.name for module in pkgutil.iter_modules(tests.bench.__path__) if module.name not in HELPERS]
    if unknown := set(names) - set(known):
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    RESULTS.parent.mkdir(exist_ok=True)
    figures: dict[str, float] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names or known:
        for key, figure in importlib.import_module(f"tests.bench.{name}").measure().items():
            figures[key] = figure
            print(f"{key:48} {figure:12.4g}", flush=True)
        RESULTS.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
