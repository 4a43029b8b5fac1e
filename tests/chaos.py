"""Disturb sweeps in every way there is, at random moments, and see that nothing is lost and nothing differs.

python -m tests.chaos 200                        # two hundred faults, on a disk and in a bucket, and two tallies
python -m tests.chaos 20 --seed 7 --kinds node launcher --where disk

Kinds: `launcher` is kill -9 of `mulex sweep`; `worker` of a process that trains; `node` of a node of a two-node Ray
cluster on this machine; `commit` of a process in the middle of writing a file; `restore` of one that takes up a
checkpoint; `folding` of the launcher while it folds run files; `frozen` stops a process that trains, for ever; `outage`
has the storage refuse everything for some seconds. Two run files are enough to be folded, so all kinds meet segments.
A sweep is launched again and again until it is done. Then every run must be there once, `mulex verify` must have
nothing to say, and both tables must equal those of a sweep that nobody disturbed.
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

from tests.support.storages import Disk, Storage, make_storage
from tests.support.sweeps import (
    Plain,
    Process,
    assert_same_tables,
    clean_environment,
    end_session,
    plan_of,
    tiny,
    wait_until,
    write_spec,
)

KINDS = ("launcher", "worker", "node", "commit", "restore", "folding", "frozen", "outage")
SPEC: Plain = tiny(
    training={"iterations": 30, "steps_per_iteration": 2000},
    search={"draws": 2, "seeds": 2},
    execution={"max_concurrent": 2, "max_failures": 1000, "checkpoint_every": 0.2, "silence_limit": 6},
)
_SCRIPT = ["python", "chaos_script.py", "{key}", "{step}", "{iterations}", "{checkpoint}"]
LEARNERS: Plain = {
    "name": "learners",
    "worlds": {"pole": {"id": "CartPole-v1"}},
    "training": {"iterations": 40},
    "search": {"draws": 2, "seeds": 1},
    "methods": {
        "class": {"learner": "chaos_learner:Wanderer", "step": {"uniform": [1, 2]}},
        "command": {"command": _SCRIPT, "step": {"uniform": [1, 2]}},
    },
    "execution": {**SPEC["execution"], "code": str(Path(__file__).parent / "support" / "chaos_code")},
}
SPECS = {"dqn": SPEC, "learners": LEARNERS}
COMMITS = ("runs/", "runs/", "checkpoints/", "checkpoints/", "progress/", "leases/", "curves.parquet")
"""What may be half-written: files of runs, checkpoints and progress by workers, lease and tables by the launcher."""
MODES = ("half", "flushed", "renamed")
FOLDING = (("write", "segments/"), ("write", ".index.parquet"), ("remove", "runs/"))
"""Where a folding may be killed: at a segment, at its index, at the removal of what was folded."""
PATIENCE = 240.0  # seconds for a launch, or until a fault can strike


class Faults:
    """The folder that tests/faults/sitecustomize.py watches in every process of a sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    @property
    def env(self) -> dict[str, str]:
        return {
            "MULEX_FAULTS": str(self.folder),
            "MULEX_REPORT_SECONDS": "1",
            "MULEX_START_SECONDS": "15",  # without it, a worker that freezes before its first report costs two minutes
            "RAY_AUTH_MODE": "token",
        }

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
    """A Ray cluster of two nodes on this machine; see tests/support/two_nodes.py."""

    def __init__(self, head_cpus: int, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.two_nodes", str(head_cpus)],
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

    faults: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    """From one fault to the next, by the kind of the latter; `end` is what came after the last of a sweep."""
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
        by_kind = ", ".join(f"{kind} {self.faults[kind]}" for kind in KINDS if self.faults[kind])
        yield f"faults: {sum(self.faults.values())} ({by_kind})"
        yield f"sweeps: {self.sweeps}, launches: {self.launches}"
        yield f"runs lost: {self.lost}"
        yield f"runs committed twice, with equal content: {self.twice}"
        yield f"tables equal to an undisturbed sweep's: {'yes' if not self.unequal else f'no, {self.unequal} not'}"
        spent = ", ".join(f"{kind} {seconds:.0f}" for kind, seconds in self.seconds.most_common())
        yield f"seconds until each kind struck, and to the end of each sweep: {spent}"
        yield from (f"trouble: {trouble}" for trouble in self.troubles)


class Chaos:
    """Sweeps one after another, each disturbed a few times, until all faults have struck."""

    def __init__(
        self,
        scratch: Path,
        seed: int,
        cpus: int = 2,
        head_cpus: int = 1,
        faults_a_sweep: int = 10,
        storage: Storage | None = None,
        spec: Plain = SPEC,
    ) -> None:
        """`cpus` are of the embedded Ray, `head_cpus` of the head of the two-node cluster."""
        self.scratch, self.cpus, self.head_cpus, self.faults_a_sweep = scratch, cpus, head_cpus, faults_a_sweep
        self.chance = random.Random(seed)
        (scratch / "faults").mkdir(parents=True, exist_ok=True)
        self.faults = Faults(scratch / "faults")
        self.plain, self.spec = spec, write_spec(scratch, spec)
        self.storage = storage or Disk(scratch)
        self.tally = Tally()
        self.cluster: TwoNodes | None = None
        self.reference = scratch / "undisturbed"
        self._outage = False

    def __enter__(self) -> "Chaos":
        return self

    def __exit__(self, *_: object) -> None:
        if self.cluster is not None:
            self.cluster.close()

    @property
    def env(self) -> dict[str, str]:
        return {**self.faults.env, **self.storage.env, "MULEX_FOLD_AT": "2"}

    def run(self, kinds: Sequence[str]) -> Tally:
        """Disturb in these ways, in this order."""
        self.train_undisturbed()
        left = list(kinds)
        while left:
            left = self._one_sweep(left)
        return self.tally

    def train_undisturbed(self) -> None:
        """Train what all other sweeps are compared with."""
        if (self.reference / "runs.parquet").exists():
            return
        with Process("sweep", self.spec, "--out", str(self.reference), env=self.faults.env) as process:
            answer = process.wait(PATIENCE)
        assert answer.code == 0, answer.text
        self.faults.commits()

    def _one_sweep(self, kinds: list[str]) -> list[str]:
        """Disturb a new sweep until it is done; returns the faults that it was too quick for."""
        self.tally.sweeps += 1
        out = f"{self.storage.url}/sweep-{self.tally.sweeps}"
        left = kinds[: self.faults_a_sweep]
        on_cluster = "node" in left
        if on_cluster and self.cluster is None:
            self.cluster = TwoNodes(self.head_cpus, self.env)
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            process: Process | None = None
            while process is None or not (process.ended and process.process.returncode == 0):
                if process is None or process.ended:
                    self._expect_death(process)
                    process = stack.enter_context(self._launch(out, on_cluster))
                if left and self._strike(left[0], out, process):
                    began = self._count_seconds(left[0], began)
                    self.tally.faults[left.pop(0)] += 1
                elif not left:
                    self.faults.disarm()
                    process.wait(PATIENCE)
        self.faults.disarm()
        self._check(out)
        self._count_seconds("end", began)
        return left + kinds[self.faults_a_sweep :]

    def _count_seconds(self, kind: str, began: float) -> float:
        now = time.monotonic()
        self.tally.seconds[kind] += now - began
        print(f"  {self.storage.name}: {kind} after {now - began:.1f} s", flush=True)
        return now

    def _launch(self, out: str, on_cluster: bool) -> Process:
        self.tally.launches += 1
        where = ["--address", self.cluster.address] if on_cluster and self.cluster else ["--cpus", str(self.cpus)]
        return Process("sweep", self.spec, "--out", out, *where, env=self.env)

    def _expect_death(self, process: Process | None) -> None:
        """A launch may end by a kill, or cleanly by an outage, and in no other way."""
        if process is not None and process.process.returncode >= 0 and not self._outage:
            self.tally.troubles.append(f"exit code {process.process.returncode}: {process.text[-2000:]}")
        if process is not None and "Traceback" in process.text:
            self.tally.troubles.append(f"a traceback: {process.text[-2000:]}")
        self._outage = False

    def _strike(self, kind: str, out: str, process: Process) -> bool:
        """Disturb in one way; returns whether it came to it before the launch ended."""
        return {
            "launcher": self._kill_launcher,
            "worker": self._kill_worker,
            "node": self._kill_node,
            "commit": self._kill_in_commit,
            "restore": self._kill_in_restore,
            "folding": self._kill_in_folding,
            "frozen": self._freeze_worker,
            "outage": self._cut_storage_off,
        }[kind](out, process)

    def _kill_launcher(self, out: str, process: Process) -> bool:
        """Mostly while it trains, now and then while it starts."""
        if self.chance.random() < 0.75:
            self._training(out, process)
        self._pause(process, 3.0)
        if process.ended:
            return False
        process.kill()
        return True

    def _kill_worker(self, out: str, process: Process) -> bool:
        if not self._training(out, process):
            return False
        self._pause(process, 1.5)
        return self._signal_some_worker(out, signal.SIGKILL)

    def _freeze_worker(self, out: str, process: Process) -> bool:
        """The launcher notices that it says nothing any more, and has it killed."""
        if not self._training(out, process):
            return False
        self._pause(process, 1.5)
        return self._signal_some_worker(out, signal.SIGSTOP)

    def _signal_some_worker(self, out: str, number: signal.Signals) -> bool:
        with contextlib.suppress(IndexError, ProcessLookupError):
            os.kill(self.chance.choice(self._workers(out)), number)
            return True
        return False

    def _kill_node(self, out: str, process: Process) -> bool:
        """Kill the raylet of the other node while one of its workers trains."""
        cluster = self.cluster
        assert cluster is not None
        if not self._sees(lambda: cluster.raylet in map(parent, self._workers(out)), process):
            return False
        self._pause(process, 1.0)
        if process.ended:
            return False
        cluster.kill_raylet()
        return True

    def _kill_in_commit(self, out: str, process: Process) -> bool:
        fault = self.faults.arm("write", self.chance.choice(COMMITS), self.chance.choice(MODES))
        return self._struck(fault, process)

    def _kill_in_folding(self, out: str, process: Process) -> bool:
        """Before, within or after one of its steps; it folds while it trains and at its end."""
        fault = self.faults.arm(*self.chance.choice(FOLDING), self.chance.choice(MODES))
        return self._struck(fault, process)

    def _kill_in_restore(self, out: str, process: Process) -> bool:
        """There must be a checkpoint to restore: a worker is killed for it, which is not counted."""
        if not self._training(out, process):
            return False
        if not self._sees(lambda: self.storage.has_checkpoints(out), process):
            return False
        fault = self.faults.arm(self.chance.choice(("restore", "load")), "", "")
        self._signal_some_worker(out, signal.SIGKILL)
        return self._struck(fault, process)

    def _cut_storage_off(self, out: str, process: Process) -> bool:
        if not self._training(out, process):
            return False
        self._pause(process, 1.5)
        if process.ended:
            return False
        self._outage = True
        self.storage.cut_off(self.chance.uniform(2.0, 12.0))
        return True

    def _struck(self, fault: Path, process: Process) -> bool:
        """Wait until a process has died of an armed fault."""
        struck = self._sees(lambda: not fault.exists(), process)
        fault.unlink(missing_ok=True)
        return bool(struck)

    def _training(self, out: str, process: Process) -> bool:
        """Wait until a worker of this launch trains."""
        return bool(self._sees(lambda: self._workers(out), process))

    def _workers(self, out: str) -> list[int]:
        """The living processes that train a sweep's packs."""
        return [pid for pid in self.storage.worker_pids(out) if parent(pid) is not None]

    def _sees(self, happens: Callable[[], object], process: Process) -> object:
        look = self.storage.look_seconds
        found = wait_until(lambda: happens() or process.ended, PATIENCE, "a moment to strike", look)
        return None if process.ended and not happens() else found

    def _pause(self, process: Process, most: float) -> None:
        until = time.monotonic() + self.chance.uniform(0, most)
        while time.monotonic() < until and not process.ended:
            time.sleep(0.01)

    def _check(self, out: str) -> None:
        """Every run once, nothing damaged, tables as if nothing had happened."""
        planned = {run.run_id for run in plan_of(self.plain).runs()}
        there = self.storage.run_ids(out)
        self.tally.lost += len(planned - there)
        self.tally.twice += sum(times > 1 for times in self.faults.commits().values())
        if there != planned or self.storage.has_damage(out):
            self.tally.troubles.append(f"{out}: files that should not be there")
        with Process("verify", out, env=self.env) as process:
            answer = process.wait(PATIENCE)
        if answer.code != 0:
            self.tally.troubles.append(f"verify: {answer.text}")
        try:
            assert_same_tables(self.storage.local_copy(out, self.scratch / "compared"), self.reference)
        except AssertionError as error:
            self.tally.unequal += 1
            print(error, flush=True)


def parent(pid: int) -> int | None:
    """The parent of a process of Ray's that is alive and not frozen."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    state, of = rest.split()[:2]
    return int(of) if name.startswith("ray::") and state not in "ZT" else None


def shuffled_kinds(count: int, kinds: Sequence[str], seed: int) -> list[str]:
    """As many of each as can be, in a random order; those that need a cluster together."""
    chosen = [kinds[i % len(kinds)] for i in range(count)]
    random.Random(seed).shuffle(chosen)
    return sorted(chosen, key=lambda kind: kind == "node")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("faults", type=int, nargs="?", default=28, help="how many, over all storages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--where", nargs="+", choices=("disk", "bucket"), default=("disk", "bucket"))
    parser.add_argument("--what", nargs="+", choices=tuple(SPECS), default=tuple(SPECS), help="whose sweeps")
    options = parser.parse_args()
    if len(options.where) > 1:
        return _at_once(options)
    tallies = []
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        for i, (what, count) in enumerate(_shares(options.faults, options.what)):
            where, seed = options.where[0], options.seed + i
            tallies.append(_disturb(Path(folder) / what, where, what, count, options.kinds, seed))
    return 0 if all(tally.is_clean for tally in tallies) else 1


def _at_once(options: argparse.Namespace) -> int:
    """Disturb in all storages at the same time, each in a process of its own: much of the time is spent waiting."""
    begun = []
    for i, (where, count) in enumerate(_shares(options.faults, options.where)):
        command = [sys.executable, "-m", "tests.chaos", str(count), "--where", where]
        command += ["--seed", str(options.seed + 10 * i), "--kinds", *options.kinds, "--what", *options.what]
        begun.append(subprocess.Popen(command))
    codes = [process.wait() for process in begun]
    return int(any(codes))


def _shares(faults: int, among: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Divide faults as equally as can be."""
    for i, name in enumerate(among):
        yield name, faults // len(among) + (i < faults % len(among))


def _disturb(folder: Path, where: str, what: str, count: int, kinds: Sequence[str], seed: int) -> Tally:
    """Disturb sweeps of some learners in one storage, and print the tally."""
    began = time.monotonic()
    folder.mkdir(exist_ok=True)
    with make_storage(where, folder) as storage, Chaos(folder, seed, storage=storage, spec=SPECS[what]) as chaos:
        usable = [kind for kind in kinds if kind != "outage" or storage.can_be_cut_off]
        tally = chaos.run(shuffled_kinds(count, usable, seed))
    minutes = f"minutes: {(time.monotonic() - began) / 60:.1f}"
    print("\n".join([f"{what}, {where}:", *tally.lines(), minutes]), flush=True)
    return tally


if __name__ == "__main__":
    sys.exit(main())
