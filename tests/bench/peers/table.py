"""The figures of the rounds, and the table that people read."""

import platform
import statistics
from pathlib import Path

from tests.bench.peers import flops
from tests.bench.peers.rounds import Measured
from tests.bench.peers.workload import PAPER_ITERATIONS, UPDATES

PLAIN_GREEDY_STEPS = 2250 + 1500  # an iteration: nine of ten training steps, and three episodes of 500


def figures_of(measured: Measured) -> dict[str, float]:
    """Seconds a run of the paper of every subject, and the medians of the rounds' ratios."""
    native = measured.seconds["native"]
    figures = {}
    for key, seconds in measured.seconds.items():
        figures[_seconds_key(key)] = statistics.median(seconds) * PAPER_ITERATIONS
        if not key.startswith("native"):
            figures[f"native_vs_{key}"] = _median_ratio(seconds, native)
    figures["native_mulex_vs_one_head"] = _median_ratio(measured.seconds["native_mulex"], native)
    plain, plain_mulex = measured.seconds["native_nothing_saved"], measured.seconds["native_nothing_saved_mulex"]
    figures["native_mulex_vs_one_head_nothing_saved"] = _median_ratio(plain_mulex, plain)
    counted = measured.seconds["native_counted"]
    speed = [work / seconds for work, seconds in zip(measured.counted_flops, counted, strict=True)]
    figures["native_fraction_of_sgemm_peak"] = _median_ratio(speed, measured.sgemm)
    return figures


def _seconds_key(key: str) -> str:
    name, _, variant = key.partition("_") if key.startswith("native_") else (key, "", "")
    return f"{name}_seconds_per_paper_run" + (f"_{variant}" if variant else "")


def _median_ratio(above: list[float], below: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def print_table(measured: Measured, figures: dict[str, float]) -> None:
    """A row a subject: a run of the paper, how far the rounds went apart, and how many times longer than ours."""
    peak = statistics.median(measured.sgemm)
    print(f"\n{processor()}, one thread, {len(measured.sgemm)} rounds, {measured.share:.0%} of the core was ours")
    print(f"sgemm peak {peak / 1e9:.0f} GFLOP/s (rounds {_span(measured.sgemm, 1e-9)})")
    print(f"{'':28}{'s a paper run':>14}{'rounds':>14}{'times ours':>12}")
    for key, seconds in measured.seconds.items():
        ratio = _median_ratio(seconds, measured.seconds["native"])
        row = f"{figures[_seconds_key(key)]:14.0f}{_span(seconds, PAPER_ITERATIONS):>14}{ratio:12.2f}"
        print(f"{measured.says[key]:28}{row}")
    for says, heads in (("plain arithmetic at the peak", 1), ("the same, MuleX", 2)):
        nothing_saved = flops.plain(UPDATES, PLAIN_GREEDY_STEPS, heads=heads) * PAPER_ITERATIONS / peak
        print(f"{says:28}{nothing_saved:14.0f}")
    ratio = figures["native_mulex_vs_one_head_nothing_saved"]
    print(f"where nothing is saved, MuleX takes {ratio:.2f} times a one-head run")
    share = figures["native_fraction_of_sgemm_peak"]
    print(f"with all patches and slopes computed, ours runs at {share:.0%} of the sgemm peak\n")


def _span(values: list[float], scale: float) -> str:
    return f"{min(values) * scale:.0f} to {max(values) * scale:.0f}"


def processor() -> str:
    """Its name, as the machine gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
