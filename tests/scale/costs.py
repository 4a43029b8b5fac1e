"""The cost of a process, and the table of all costs."""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_MEASURE = """
import json, os, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[2:], stderr=subprocess.STDOUT)
_, status, usage = os.wait4(process.pid, 0)
cpu = usage.ru_utime + usage.ru_stime
cost = {"seconds": time.monotonic() - began, "cpu": cpu, "megabytes": usage.ru_maxrss / 1024}
open(sys.argv[1], "w").write(json.dumps(cost))
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs a command from a small process. The peak memory of a process counts that of its parent when it was started."""


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.cpu:.1f} s ({self.seconds:.0f} s), {self.megabytes:,.0f} MB"


def cost_of(*command: str) -> Cost:
    """Run a command of Python's to its end."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        whole = [sys.executable, "-S", "-c", _MEASURE, file.name, sys.executable, *command]
        done = subprocess.run(whole, stdout=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return Cost(**json.loads(Path(file.name).read_text()))


def mulex(*arguments: str) -> Cost:
    """Run a command of `mulex`."""
    return cost_of("-m", "cluster.cli", *arguments)


class Results:
    """The costs by number of runs and name, in a file that is written after each of them."""

    def __init__(self, file: Path) -> None:
        self.file = file
        plain = json.loads(file.read_text()) if file.exists() else {}
        self.costs = {int(size): {name: Cost(**cost) for name, cost in of.items()} for size, of in plain.items()}

    def has(self, size: int, name: str) -> bool:
        """Return whether something was measured already."""
        return name in self.costs.get(size, {})

    def add(self, size: int, name: str, cost: Cost) -> None:
        """Keep a cost, and print it."""
        self.costs.setdefault(size, {})[name] = cost
        plain = {size: {name: asdict(cost) for name, cost in of.items()} for size, of in self.costs.items()}
        self.file.write_text(json.dumps(plain, indent=1))
        print(f"{size:,} runs: {name}: {cost}", flush=True)


def table(costs: dict[int, dict[str, Cost]]) -> Iterator[str]:
    """Yield the table of docs/scale.md: seconds of a core, wall time in brackets, peak memory, and the exponents."""
    sizes = sorted(costs)
    names = list(dict.fromkeys(name for size in sizes for name in costs[size]))
    yield "| | " + " | ".join(f"{size:,} runs" for size in sizes) + " | exponent |"
    yield "| --- " * (len(sizes) + 2) + "|"
    for name in names:
        cells = [str(costs[size].get(name, "not measured")) for size in sizes]
        yield f"| {name} | " + " | ".join(cells) + f" | {exponent(costs, name)} |"


def exponent(costs: dict[int, dict[str, Cost]], name: str) -> str:
    """Return by which power of the number of runs the processor time grows, between the last two sizes."""
    known = [(size, costs[size][name].cpu) for size in sorted(costs) if name in costs[size]][-2:]
    if len(known) < 2:
        return ""
    (a, first), (b, last) = known
    return f"{math.log(last / first) / math.log(b / a):.2f}"
