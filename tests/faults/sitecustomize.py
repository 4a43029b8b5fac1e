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
from pathlib import Path

FOLDER = os.environ.get("MULEX_FAULTS")
REPORT_SECONDS = os.environ.get("MULEX_REPORT_SECONDS")
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

    Every run that was committed is noted.
    """
    write = module.LocalFolder.write

    def faulty(self, name, content):
        mode = armed("write", name)
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

    module.LocalFolder.write = faulty


def patch_snapshot(module):
    """Die when a snapshot has been read and nothing was done with it yet."""
    load = module.load_snapshot

    def faulty(folder, pack):
        found = load(folder, pack)
        if found is not None and armed("restore", pack):
            die()
        return found

    module.load_snapshot = faulty


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


PATCHES = {}
if FOLDER:
    PATCHES |= {"mulex.folder": patch_folder, "mulex.snapshot": patch_snapshot, "mulex.replay": patch_engine}
if REPORT_SECONDS:
    PATCHES["sweeps.trainable"] = patch_trainable


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
