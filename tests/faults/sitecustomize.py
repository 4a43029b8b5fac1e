"""Makes a process of a sweep die in the middle of something; Python imports it at start when its folder is on the path.

It watches the folder named by MULEX_FAULTS. A file there is one armed fault, as JSON: `{"at": "write", "name": "runs/",
"mode": "half"}`. The first process that comes by takes the file away and dies; without such a file nothing happens. So
the product has no hooks for tests, and what dies half-way is the product's own code.
"""

import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

FOLDER = os.environ.get("MULEX_FAULTS")
REPORT_SECONDS = os.environ.get("MULEX_REPORT_SECONDS")
START_SECONDS = os.environ.get("MULEX_START_SECONDS")
FOLD_AT = os.environ.get("MULEX_FOLD_AT")
SLOW_WHILE = os.environ.get("MULEX_SLOW_WHILE")
COMMITS = "commits.log"


def armed(at, name):
    """Take an armed fault that fits, if there is one: its mode."""
    for path in sorted(Path(FOLDER).glob("*.json")):
        try:
            fault = json.loads(path.read_text())
            if fault["at"] != at or fault["name"] not in name:
                continue
            path.unlink()
        except (FileNotFoundError, ValueError):
            continue  # another process was quicker
        return fault["mode"]
    return None


def die():
    """At once, as by kill -9."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_after_bytes(count):
    """The kernel ends the process when it writes a byte more to a file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, count))
    ctypes.CDLL(None).signal(signal.SIGXFSZ, None)  # SIG_DFL; Python's own signal() works in the main thread only


def patch_folder(module):
    """Die in the middle of a write, before the rename, or right after it; or stand still until somebody says go on.

    In object storage a file is put there whole by its nature, so half a write is none. Every run that was committed is
    noted.
    """
    for kind in (module.LocalFolder, module.RemoteFolder):
        kind.write = faulty_write(kind.write, is_local=kind is module.LocalFolder)
        kind.remove_many = faulty_remove_many(kind.remove_many)


def faulty_write(write, is_local):
    """A write that meets the armed faults."""

    def faulty(self, name, content):
        mode = armed("write", name)
        if mode in ("half", "flushed") and not is_local:
            die()
        if mode == "half":
            die_after_bytes(len(content) // 2)
        if mode == "flushed":
            os.fsync = lambda _: die()
        if mode == "frozen":
            os.kill(os.getpid(), signal.SIGSTOP)
        write(self, name, content)
        if name.startswith("runs/"):
            with (Path(FOLDER) / COMMITS).open("a") as file:
                file.write(f"{name}\n")
        if mode == "renamed":
            die()

    return faulty


def faulty_remove_many(remove_many):
    """A removal of several files that meets the armed faults: before it, in the middle of it, or after it."""

    def faulty(self, names):
        mode = armed("remove", " ".join(names))
        if mode == "half":
            remove_many(self, list(names)[: len(names) // 2])
        if mode in ("half", "flushed"):
            die()
        remove_many(self, names)
        if mode == "renamed":
            die()

    return faulty


def patch_folding(module):
    """Fold the few runs that a test has."""
    module.FOLD_AT = int(FOLD_AT)


def patch_background(module):
    """Look for run files to fold several times in a short sweep."""
    module.LOOK_SECONDS = 0.5


def patch_checkpoints(module):
    """Die when a checkpoint has been read and nothing was done with it yet."""
    load = module.load_checkpoint

    def faulty(folder, pack, *arguments):
        found = load(folder, pack, *arguments)
        if found is not None and armed("restore", pack):
            die()
        return found

    module.load_checkpoint = faulty


def patch_engine(module):
    """Die when half of an engine is restored."""
    load = module.Replay.load

    def faulty(self, arrays):
        if armed("load", "replay"):
            die()
        load(self, arrays)

    module.Replay.load = faulty


def patch_trainable(module):
    """Report more often, so that what depends on reports can be tested in seconds."""
    module.REPORT_SECONDS = float(REPORT_SECONDS)


def patch_silence(module):
    """Give a worker that has not reported yet less time."""
    module.START_SECONDS = float(START_SECONDS)


def patch_training(module):
    """Rest after each iteration while there is a file: a short run is then in training for as long as a test needs."""
    iterate = module.PackTraining.iterate

    def slow(self):
        iterate(self)
        if Path(SLOW_WHILE).exists():
            time.sleep(0.2)

    module.PackTraining.iterate = slow


PATCHES = {}
if FOLD_AT:
    PATCHES |= {"mulex.store.folding": patch_folding, "mulex.store.background": patch_background}
if FOLDER:
    PATCHES |= {
        "mulex.store.folder": patch_folder,
        "mulex.store.checkpoints": patch_checkpoints,
        "mulex.learners.dqn.replay": patch_engine,
    }
if REPORT_SECONDS:
    PATCHES["sweeps.execution.trainable"] = patch_trainable
if SLOW_WHILE:
    PATCHES["mulex.training"] = patch_training
if START_SECONDS:
    PATCHES["sweeps.execution.silence"] = patch_silence


class PatchingLoader(importlib.abc.Loader):
    """Loads a module as it is, then patches it."""

    def __init__(self, loader, patch):
        self.loader, self.patch = loader, patch

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        self.patch(module)


class PatchingFinder(importlib.abc.MetaPathFinder):
    """Finds what is to be patched, and leaves the rest to others."""

    def find_spec(self, fullname, path, target=None):
        if fullname not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = PatchingLoader(spec.loader, PATCHES[fullname])
        return spec


if PATCHES:
    sys.meta_path.insert(0, PatchingFinder())
