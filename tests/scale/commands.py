"""What every command costs in a sweep of so many finished runs."""

import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from mulex.store.folder import open_folder
from sweeps.inventory import freeze_spec
from sweeps.plan import make_plan
from sweeps.spec.yaml_writer import write_yaml
from tests.scale.costs import Cost, Results, cost_of, mulex
from tests.scale.launching import launch_cost
from tests.scale.synthetic import fill, spec_of

NEW = 1_000
"""Runs that come in after the tables were made."""
LOOSE_BELOW = 20_000
"""Sweeps with fewer runs begin with loose files; larger ones are folded as they are made, which saves their writing."""
_MADE = "made"


def measure_commands(place: Path, runs: int, iterations: int, results: Results) -> None:
    """Make a sweep of synthetic runs, and measure every command that was not measured yet."""
    out = place / f"sweep-{runs}-{iterations}"
    steps: dict[str, Callable[[], Cost]] = {
        "plan all runs": lambda: cost_of("-m", "tests.scale", "--plan", str(runs)),
        "collect everything": lambda: mulex("collect", str(out)),
        "resume with nothing to do": lambda: mulex("resume", str(out)),
        "status": lambda: mulex("status", str(out)),
        "verify --quick": lambda: mulex("verify", "--quick", str(out)),
        "verify": lambda: mulex("verify", str(out)),
        "stats": lambda: mulex("stats", str(out)),
        "report": lambda: mulex("report", str(out)),
        f"collect {NEW:,} new runs": lambda: _collect_more(out, runs, iterations),
        "launch to the first run": lambda: launch_cost(place, runs),
    }
    if all(results.has(runs, name) for name in steps):
        return
    if not (out / _MADE).exists():
        shutil.rmtree(out, ignore_errors=True)
        folder, spec = open_folder(out), spec_of(runs, iterations)
        plan = make_plan(spec, open_folder("/nonexistent"))
        freeze_spec(folder, spec)
        fill(folder, plan, plan.runs(), loose=runs < LOOSE_BELOW)
        (out / _MADE).touch()
    for name, step in steps.items():
        if not results.has(runs, name):
            results.add(runs, name, step())
    shutil.rmtree(out)


def _collect_more(out: Path, runs: int, iterations: int) -> Cost:
    """Add runs as loose files, and collect."""
    more, folder = spec_of(runs + NEW, iterations), open_folder(out)
    (out / "spec.yaml").write_text(write_yaml(more.resolved()))
    grown = make_plan(more, folder)
    fill(folder, grown, islice(grown.runs(), runs, None), loose=True)
    return mulex("collect", str(out))
