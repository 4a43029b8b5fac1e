"""The Slurm script on a real Slurm on this machine: munged, slurmctld and two slurmd, one sweep, requeued on its way.

make test-slurm            # as root, on Debian or Ubuntu; it installs slurm-wlm and munge if they are not there

Slurm has a folder, a key, sockets and ports of its own, and ends with this program.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.ray_cluster import free_port
from tests.support.sweeps import (
    ROOT,
    assert_same_tables,
    clean_environment,
    plan_of,
    progress,
    run_files,
    tiny,
    train_alone,
    wait_until,
    write_spec,
)

SCRIPT = ROOT / "cluster" / "slurm" / "sweep.sbatch"
SPEC = tiny(
    training={"iterations": 400},
    search={"draws": 3},
    execution={"max_concurrent": None, "max_failures": 5, "checkpoint_every": 0.5},
)
NODES = 2
CONFIG = """
ClusterName=mulex
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=20
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
JobRequeue=1
KillWait=10
{nodes}
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """A controller and two nodes, all here."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="slurm"))
        self.folder.chmod(0o755)
        self.home = self.folder / "home"
        for name in ("state", "home", *[f"spool-n{n}" for n in range(1, NODES + 1)]):
            (self.folder / name).mkdir()
        self.config = self.folder / "slurm.conf"
        self.config.write_text(self._configuration())
        self.env = {**clean_environment(), "HOME": str(self.home), "SLURM_CONF": str(self.config)}
        self.env |= {"MULEX_CHECKOUT": str(ROOT)}
        self.daemons: list[subprocess.Popen[bytes]] = []

    def _configuration(self) -> str:
        host = socket.gethostname()
        nodes = "\n".join(
            f"NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=1 RealMemory=1000"
            for n in range(1, NODES + 1)
        )
        return CONFIG.format(host=host, controller=free_port(), folder=self.folder, nodes=nodes)

    def start(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [f"--{kind}-file={self.folder}/munge.{kind}" for kind in ("key", "pid", "log", "seed")]
        self._daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *files)
        wait_until((self.folder / "munge.socket").exists, what="munged")
        self._daemon("slurmctld", "-D", "-f", str(self.config))
        for n in range(1, NODES + 1):
            self._daemon("slurmd", "-D", "-N", f"n{n}", "-f", str(self.config))
        wait_until(lambda: self.run("sinfo", "--noheader", "-o", "%D %t") == f"{NODES} idle", 60, "idle nodes")

    def _daemon(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out").open("ab") as output:
            started = subprocess.Popen(command, stdout=output, stderr=output, env=self.env, start_new_session=True)
        self.daemons.append(started)

    def run(self, *command: str) -> str:
        """One of Slurm's own commands: what it says."""
        ended = subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, text=True, check=False)
        return (ended.stdout + ended.stderr).strip()

    def job(self, number: str) -> dict[str, str]:
        """What Slurm knows of it."""
        words = self.run("scontrol", "show", "job", number).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def stop(self) -> None:
        self.run("scancel", "--user=root")
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


def leftovers() -> set[str]:
    """Folders of Ray nodes that the script started."""
    return {path.name for path in Path("/tmp").glob("mulex-??????") if path.is_dir()}


def requeued_sweep(slurm: Slurm, place: Path) -> None:
    """Submit, requeue while packs are trained, and see the sweep done once."""
    out, spec, before = place / "out", write_spec(place, SPEC), leftovers()
    options = (f"--nodes={NODES}", "--cpus-per-task=1", f"--output={place}/log")
    said = slurm.run("sbatch", *options, str(SCRIPT), spec, str(out))
    print(said, flush=True)
    number = said.split()[-1]
    wait_until(
        lambda: out.exists() and run_files(out) and len(progress(out)) == NODES, 180, "a run done, two on their way"
    )
    done = run_files(out)
    print(f"requeued with {len(done)} of {plan_of(SPEC).spec.run_count} runs done", flush=True)
    print(slurm.run("scontrol", "requeue", number), flush=True)
    wait_until(lambda: slurm.job(number)["JobState"] != "RUNNING", 60, "the end of the first try")
    wait_until(lambda: slurm.job(number)["JobState"] in ("COMPLETED", "FAILED", "CANCELLED"), 400, "the end of the job")
    job, text = slurm.job(number), (place / "log").read_text()
    print(text, flush=True)
    assert (job["JobState"], job["Restarts"], job["ExitCode"]) == ("COMPLETED", "1", "0:0"), job
    assert "requeued for the 1. time" in text
    assert run_files(out).items() >= done.items(), "a run that was done is done, and its file untouched"
    assert sorted(run_files(out)) == sorted(run.run_id for run in plan_of(SPEC).runs())
    train_alone(SPEC, place / "alone")
    assert_same_tables(out, place / "alone")
    wait_until(lambda: leftovers() == before, 30, "the nodes' folders taken away")


def main() -> None:
    """Exit code 0 if all of it holds."""
    if os.geteuid() != 0 or not shutil.which("slurmctld"):
        sys.exit("needs root, and Slurm: apt-get install slurm-wlm munge")
    began, slurm = time.monotonic(), Slurm()
    place = Path(tempfile.mkdtemp(prefix="mulex-slurm-test-"))
    try:
        slurm.start()
        print(slurm.run("sinfo"), flush=True)
        requeued_sweep(slurm, place)
    except AssertionError:
        for log in [*slurm.folder.glob("slurm*.log"), place / "log"]:
            print(f"--- {log}\n{log.read_text()[-3000:]}" if log.exists() else f"--- no {log}", flush=True)
        raise
    finally:
        slurm.stop()
        shutil.rmtree(place, ignore_errors=True)
    print(f"the sweep was requeued, and finished once: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
