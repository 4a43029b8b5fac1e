"""Warm every subject up, then measure them interleaved."""

import importlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from tests.bench.peers.ours import Counted
from tests.bench.peers.workload import STEPS, UPDATES, Subject

ROUNDS = 7
SGEMM_SIZES = (256, 384, 512, 768, 1024)


@dataclass(frozen=True)
class Entry:
    """A subject, where it lives, and how much of it is run. In a round each runs for about two seconds or more."""

    key: str
    says: str
    module: str
    make: str
    warm_up: int  # iterations; ours saves less as its replay grows, so it gets a full one
    iterations: int = 1  # a round
    arguments: tuple[str, ...] = ()


ENTRIES = (
    Entry("native", "ours", "ours", "Native", 40, 12),
    Entry("native_mulex", "ours, MuleX (two heads)", "ours", "Native", 40, 12, ("mulex",)),
    Entry("native_counted", "ours, all patches and slopes", "ours", "Counted", 40, 12),
    Entry("native_nothing_saved", "ours, nothing saved", "ours", "NothingSaved", 40, 8),
    Entry("native_nothing_saved_mulex", "ours, MuleX, nothing saved", "ours", "NothingSaved", 40, 8, ("mulex",)),
    Entry("jax_scan", "JAX, one jitted scan", "jax_scan", "JaxScan", 4, 5),
    Entry("plain_torch", "plain torch loop", "ours", "PlainTorch", 2),
    Entry("cleanrl_style", "CleanRL's style", "cleanrl_style", "CleanRLStyle", 2),
    Entry("sb3", "Stable-Baselines3", "sb3", "StableBaselines3", 2),
)


@dataclass
class Measured:
    """What the rounds gave."""

    seconds: dict[str, list[float]]  # by subject: of an iteration, a round
    says: dict[str, str]
    sgemm: list[float] = field(default_factory=list)  # operations a second
    counted_flops: list[float] = field(default_factory=list)  # of an iteration
    share: float = 0.0
    """How much of the core we had."""


def run_rounds() -> Measured:
    """Everything, interleaved."""
    torch.set_num_threads(1)
    subjects = {entry: subject for entry in ENTRIES if (subject := _make(entry))}
    for entry, subject in subjects.items():
        _warm_up(entry, subject)
    flops = next(subject for subject in subjects.values() if isinstance(subject, Counted)).flops()
    measured = Measured({entry.key: [] for entry in subjects}, {entry.key: entry.says for entry in subjects})
    wall, busy = time.perf_counter(), time.process_time()
    for number in range(ROUNDS):
        measured.sgemm.append(_sgemm())
        next(flops)
        for entry, subject in subjects.items():
            measured.seconds[entry.key].append(_iterate(entry, subject))
            if isinstance(subject, Counted):
                measured.counted_flops.append(next(flops) / entry.iterations)
        print(f"round {number + 1} of {ROUNDS}", flush=True)
    measured.share = (time.process_time() - busy) / (time.perf_counter() - wall)
    return measured


def _make(entry: Entry) -> Subject | None:
    try:
        module = importlib.import_module(f"tests.bench.peers.{entry.module}")
    except ModuleNotFoundError as error:
        print(f"{entry.says} is skipped: there is no {error.name} here (make bench-peers installs it)", flush=True)
        return None
    return getattr(module, entry.make)(*entry.arguments)


def _warm_up(entry: Entry, subject: Subject) -> None:
    """Compile, fill the replay, and see that an iteration is what it should be."""
    for _ in range(entry.warm_up - 1):
        subject.iteration()
    updates, held, _ = subject.counts()
    subject.iteration()
    more_updates, more_held, loss = subject.counts()
    if more_updates - updates != UPDATES or more_held - held != STEPS or not math.isfinite(loss):
        did = f"{more_updates - updates} updates, {more_held - held} transitions, loss {loss}"
        raise RuntimeError(f"{entry.says}: an iteration is {UPDATES} updates and {STEPS} transitions, not {did}")
    print(f"{entry.says}: warm, {more_held} transitions, {UPDATES} updates an iteration, loss {loss:.2g}", flush=True)


def _iterate(entry: Entry, subject: Subject) -> float:
    return _timed(lambda: [subject.iteration() for _ in range(entry.iterations)]) / entry.iterations


def _sgemm() -> float:
    """The core's peak as torch reaches it: the best of some sizes."""
    best = 0.0
    for size in SGEMM_SIZES:
        a, b, c = (torch.rand(size, size) for _ in range(3))
        times = max(1, 2**30 // size**3)
        seconds = min(_timed(lambda: [torch.mm(a, b, out=c) for _ in range(times)]) for _ in range(3))  # noqa: B023
        best = max(best, 2 * size**3 * times / seconds)
    return best


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
