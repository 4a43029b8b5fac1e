"""Kill sweeps in every way there is, at random moments, and see that nothing is lost and nothing differs.

python -m tests.chaos 100                        # a hundred kills, and a tally by kind
python -m tests.chaos 20 --seed 7 --kinds raylet launcher

Kinds: `launcher` is kill -9 of `mulex sweep`; `worker` of a process that trains; `raylet` of a node of a two-node Ray
cluster on this machine; `commit` of a process in the middle of writing a file; `restore` of one that takes up a
snapshot. A sweep is launched again and again until it is done. Then every run must be there once, `mulex verify` must
have nothing to say, and both tables must equal those of a sweep that nobody disturbed.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.sweep_helpers import (
    Plain,
    Process,
    assert_same_tables,
    clean_environment,
    end_session,
    plan_of,
    progress,
    run_files,
    tiny,
    wait_until,
    write_spec,
)

KINDS = ("launcher", "worker", "raylet", "commit", "restore")
SPEC: Plain = tiny(
    training={"iterations": 30, "steps_per_iteration": 2000},
    search={"draws": 2, "seeds": 2},
    execution={"max_concurrent": 2, "max_failures": 1000, "checkpoint_every": 0.2},
)
COMMITS = ("runs/", "runs/", "checkpoints/", "checkpoints/", "progress/", "lease.json", "curves.parquet")
"""What may be half-written: run files, snapshots and progress by workers, the lease and the tables by the launcher."""
MODES = ("half", "flushed", "renamed")
PATIENCE = 240.0  # seconds; of a launch, or until something can be killed


class Faults:
    """The folder that tests/faults/sitecustomize.py watches in every process of a sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    @property
    def env(self) -> dict[str, str]:
        return {"MULEX_FAULTS": str(self.folder), "MULEX_REPORT_SECONDS": "1", "RAY_AUTH_MODE": "token"}

    def arm(self, at: str, name: str, mode: str) -> Path:
        """The first process that comes by this takes the file away and dies."""
        self._count += 1
        path = self.folder / f"{self._count:04d}.json"
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps({"at": at, "name": name, "mode": mode}))
        beside.rename(path)
        return path

    def disarm(self) -> None:
        """Take away what nobody came by."""
        for path in self.folder.glob("*.json"):
            path.unlink(missing_ok=True)

    def commits(self) -> Counter[str]:
        """How often each run of the sweep was committed; forgets them."""
        log = self.folder / "commits.log"
        names = log.read_text().split() if log.exists() else []
        log.unlink(missing_ok=True)
        return Counter(names)


class TwoNodes:
    """A Ray cluster of two nodes on this machine; see tests/two_nodes.py."""

    def __init__(self, head_cpus: int, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.two_nodes", str(head_cpus)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**clean_environment(), **env},
            start_new_session=True,
        )
        self.address = self._line()
        self._raylet: int | None = None

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    @property
    def raylet(self) -> int:
        """The process that starts and keeps the workers of the second node; waits until there is one."""
        if self._raylet is None:
            self._raylet = int(self._line())
        return self._raylet

    def kill_raylet(self) -> None:
        """Another node takes the second one's place in some seconds."""
        assert self._process.stdin is not None
        os.kill(self.raylet, signal.SIGKILL)
        self._raylet = None
        self._process.stdin.write("another\n")
        self._process.stdin.flush()

    def close(self) -> None:
        with self._process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=30)
            end_session(self._process.pid)


@dataclass
class Tally:
    """What was done, and what came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    sweeps: int = 0
    launches: int = 0
    lost: int = 0
    twice: int = 0
    unequal: int = 0
    troubles: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.troubles and self.lost == self.unequal == 0

    def lines(self) -> Iterator[str]:
        """For people."""
        by_kind = ", ".join(f"{kind} {self.kills[kind]}" for kind in KINDS if self.kills[kind])
        yield f"kills: {sum(self.kills.values())} ({by_kind})"
        yield f"sweeps: {self.sweeps}, launches: {self.launches}"
        yield f"runs lost: {self.lost}"
        yield f"runs committed twice, with equal content: {self.twice}"
        yield f"tables equal to an undisturbed sweep's: {'yes' if not self.unequal else f'no, {self.unequal} not'}"
        yield from (f"trouble: {trouble}" for trouble in self.troubles)


class Chaos:
    """Sweeps one after another, each killed a few times, until all kills are done."""

    def __init__(self, place: Path, seed: int, cpus: int = 2, head_cpus: int = 1, kills_a_sweep: int = 5) -> None:
        """`cpus` are of the embedded Ray, `head_cpus` of the head of the two-node cluster."""
        self.place, self.cpus, self.head_cpus, self.kills_a_sweep = place, cpus, head_cpus, kills_a_sweep
        self.chance = random.Random(seed)
        (place / "faults").mkdir(parents=True)
        self.faults = Faults(place / "faults")
        self.spec = write_spec(place, SPEC)
        self.tally = Tally()
        self.cluster: TwoNodes | None = None
        self.reference = place / "undisturbed"

    def __enter__(self) -> "Chaos":
        return self

    def __exit__(self, *_: object) -> None:
        if self.cluster is not None:
            self.cluster.close()

    def run(self, kinds: Sequence[str]) -> Tally:
        """Kill in these ways, in this order."""
        self.train_undisturbed()
        left = list(kinds)
        while left:
            left = self._one_sweep(left)
        return self.tally

    def train_undisturbed(self) -> None:
        """What all other sweeps are compared with."""
        if (self.reference / "runs.parquet").exists():
            return
        with Process("sweep", self.spec, "--out", str(self.reference), env=self.faults.env) as process:
            answer = process.wait(PATIENCE)
        assert answer.code == 0, answer.text
        self.faults.commits()

    def _one_sweep(self, kinds: list[str]) -> list[str]:
        """Disturb a new sweep until it is done; gives the kills that it was too quick for."""
        self.tally.sweeps += 1
        out = self.place / f"sweep-{self.tally.sweeps}"
        left = kinds[: self.kills_a_sweep]
        on_cluster = "raylet" in left
        if on_cluster and self.cluster is None:
            self.cluster = TwoNodes(self.head_cpus, self.faults.env)
        with contextlib.ExitStack() as stack:
            process: Process | None = None
            while process is None or not (process.ended and process.process.returncode == 0):
                if process is None or process.ended:
                    self._expect_death(process)
                    process = stack.enter_context(self._launch(out, on_cluster))
                if left and self._kill(left[0], out, process):
                    print(f"  {left[0]} killed", flush=True)
                    self.tally.kills[left.pop(0)] += 1
                elif not left:
                    self.faults.disarm()
                    process.wait(PATIENCE)
        self.faults.disarm()
        self._check(out)
        return left + kinds[self.kills_a_sweep :]

    def _launch(self, out: Path, on_cluster: bool) -> Process:
        self.tally.launches += 1
        where = ["--address", self.cluster.address] if on_cluster and self.cluster else ["--cpus", str(self.cpus)]
        return Process("sweep", self.spec, "--out", str(out), *where, env=self.faults.env)

    def _expect_death(self, process: Process | None) -> None:
        """A launch may end by a kill and in no other way."""
        if process is not None and process.process.returncode >= 0:
            self.tally.troubles.append(f"exit code {process.process.returncode}: {process.text[-2000:]}")

    def _kill(self, kind: str, out: Path, process: Process) -> bool:
        """Whether it came to it; if not, the launch ended first."""
        return {
            "launcher": self._kill_launcher,
            "worker": self._kill_worker,
            "raylet": self._kill_raylet,
            "commit": self._kill_in_commit,
            "restore": self._kill_in_restore,
        }[kind](out, process)

    def _kill_launcher(self, out: Path, process: Process) -> bool:
        """Mostly while it trains, now and then while it starts."""
        if self.chance.random() < 0.75:
            self._training(out, process)
        self._pause(process, 3.0)
        if process.ended:
            return False
        process.kill()
        return True

    def _kill_worker(self, out: Path, process: Process) -> bool:
        if not self._training(out, process):
            return False
        self._pause(process, 1.5)
        return self._kill_some_worker(out)

    def _kill_some_worker(self, out: Path) -> bool:
        with contextlib.suppress(IndexError, ProcessLookupError):
            os.kill(self.chance.choice(workers(out)), signal.SIGKILL)
            return True
        return False

    def _kill_raylet(self, out: Path, process: Process) -> bool:
        """Of the other node, while one of its workers trains."""
        cluster = self.cluster
        assert cluster is not None
        if not self._sees(lambda: cluster.raylet in map(parent, workers(out)), process):
            return False
        self._pause(process, 1.0)
        if process.ended:
            return False
        cluster.kill_raylet()
        return True

    def _kill_in_commit(self, out: Path, process: Process) -> bool:
        fault = self.faults.arm("write", self.chance.choice(COMMITS), self.chance.choice(MODES))
        return self._strikes(fault, process)

    def _kill_in_restore(self, out: Path, process: Process) -> bool:
        """There must be a snapshot to restore: a worker is killed for it, which is not counted."""
        if not self._training(out, process) or not self._sees(lambda: list(out.glob("checkpoints/*/*.npz")), process):
            return False
        fault = self.faults.arm(self.chance.choice(("restore", "load")), "", "")
        self._kill_some_worker(out)
        return self._strikes(fault, process)

    def _strikes(self, fault: Path, process: Process) -> bool:
        """Wait until a process has died of it."""
        struck = self._sees(lambda: not fault.exists(), process)
        fault.unlink(missing_ok=True)
        return bool(struck)

    def _training(self, out: Path, process: Process) -> bool:
        """Wait until a worker of this launch is at it."""
        return bool(self._sees(lambda: workers(out), process))

    def _sees(self, happens: Callable[[], object], process: Process) -> object:
        found = wait_until(lambda: happens() or process.ended, PATIENCE, "a moment to kill")
        return None if process.ended and not happens() else found

    def _pause(self, process: Process, most: float) -> None:
        until = time.monotonic() + self.chance.uniform(0, most)
        while time.monotonic() < until and not process.ended:
            time.sleep(0.01)

    def _check(self, out: Path) -> None:
        """Every run once, nothing damaged, tables as if nothing had happened."""
        planned = {run.run_id for run in plan_of(SPEC).runs()}
        self.tally.lost += len(planned - set(run_files(out)))
        self.tally.twice += sum(times > 1 for times in self.faults.commits().values())
        if set(run_files(out)) != planned or (out / "damaged").exists():
            self.tally.troubles.append(f"{out}: files that should not be there")
        with Process("verify", str(out), env=self.faults.env) as process:
            answer = process.wait(PATIENCE)
        if answer.code != 0:
            self.tally.troubles.append(f"verify: {answer.text}")
        try:
            assert_same_tables(out, self.reference)
        except AssertionError as error:
            self.tally.unequal += 1
            print(error, flush=True)


def workers(out: Path) -> list[int]:
    """The living processes that train a sweep's packs."""
    pids = [said["pid"] for said in progress(out)]
    return [pid for pid in pids if parent(pid) is not None]


def parent(pid: int) -> int | None:
    """Of a process of Ray's that is alive."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    state, of = rest.split()[:2]
    return int(of) if name.startswith("ray::") and state != "Z" else None


def shuffled_kinds(count: int, kinds: Sequence[str], seed: int) -> list[str]:
    """As many of each as can be, in a random order; those that need a cluster together."""
    chosen = [kinds[i % len(kinds)] for i in range(count)]
    random.Random(seed).shuffle(chosen)
    return sorted(chosen, key=lambda kind: kind == "raylet")


def main() -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("kills", type=int, nargs="?", default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="chaos-") as place:
        with Chaos(Path(place), options.seed) as chaos:
            tally = chaos.run(shuffled_kinds(options.kills, options.kinds, options.seed))
        print("\n".join([*tally.lines(), f"minutes: {(time.monotonic() - began) / 60:.1f}"]))
    return 0 if tally.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
