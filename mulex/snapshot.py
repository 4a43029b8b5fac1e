"""Snapshots of a pack: all its arrays and a few words about it in one file, whole or not at all, with a checksum.

A snapshot is an uncompressed NPZ without pickle. Its name says after which iteration it was taken and begins the
SHA-256 of its content, so any flipped bit or missing byte is found. The latest two are kept. A small file beside them
says which runs the pack has, so that a later launch can go on with the same pack.
"""

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from mulex.config import digest
from mulex.errors import UserError
from mulex.folder import Folder

KEPT = 2
_ABOUT = "about.json"
_RUNS = "runs.json"
_HASH_DIGITS = 16


class SnapshotRefused(UserError):  # noqa: N818
    """A snapshot that is whole, but not of this pack or not of this package version."""


@dataclass(frozen=True)
class Snapshot:
    """What was found in a folder."""

    arrays: dict[str, np.ndarray]
    about: dict[str, Any]
    skipped: list[str]
    """What was damaged and passed over, in words."""


def package_major() -> str:
    """Snapshots are exchanged between versions that agree in it."""
    return version("mulex").partition(".")[0]


def save_snapshot(folder: Folder, pack: str, iteration: int, arrays: dict[str, np.ndarray], about: Any) -> str:
    """Write a snapshot of a pack (its name is a hash of what is trained), then remove all but the latest two."""
    content = {"owner": pack, "major": package_major(), "iteration": iteration, "about": about}
    words = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **{_ABOUT: words}, **arrays)
    name = f"{_place(pack)}/{iteration:08d}-{_content_hash(file.getvalue())}.npz"
    folder.write(name, file.getvalue())
    for old in _newest_first(folder, pack)[KEPT:]:
        folder.remove(old)
    return name


def load_snapshot(folder: Folder, pack: str) -> Snapshot | None:
    """The newest whole snapshot, or None; damaged ones are named, ones that do not fit are refused."""
    skipped = []
    for name in _newest_first(folder, pack):
        found = _read(folder, name)
        if found is None:
            skipped.append(f"{folder.url}/{name}: damaged, using the one before it")
            continue
        arrays, content = found
        _check_fits(f"{folder.url}/{name}", content, pack)
        return Snapshot(arrays, content["about"], skipped)
    return Snapshot({}, {}, skipped) if skipped else None


def remove_snapshots(folder: Folder, pack: str) -> None:
    """When the pack is finished, they are not needed any more."""
    for name in _newest_first(folder, pack):
        folder.remove(name)
    folder.remove(f"{_place(pack)}/{_RUNS}")


def note_runs(folder: Folder, runs: list[str]) -> None:
    """Say beside its snapshots which runs a pack has."""
    name = f"{_place(digest(runs))}/{_RUNS}"
    if not folder.exists(name):
        folder.write(name, json.dumps(runs).encode())


def begun_packs(folder: Folder) -> dict[str, list[str]]:
    """The packs that have left snapshots, and their runs."""
    found = {}
    for name in folder.list("checkpoints"):
        if name.endswith(f"/{_RUNS}"):
            try:
                runs = json.loads(folder.read(name))
            except (FileNotFoundError, ValueError):
                continue
            if name == f"{_place(digest(runs))}/{_RUNS}":
                found[digest(runs)] = runs
    return found


def _place(pack: str) -> str:
    return f"checkpoints/{pack}"


def _read(folder: Folder, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    try:
        content = folder.read(name)
        if _content_hash(content) != name.rpartition("-")[2].removesuffix(".npz"):
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        return arrays, json.loads(arrays.pop(_ABOUT).tobytes())
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _check_fits(path: str, content: dict[str, Any], pack: str) -> None:
    if content["major"] != package_major():
        raise SnapshotRefused(
            f"{path}: written by version {content['major']} of mulex, this is {package_major()}; "
            "continue with that version, or remove the file to begin again"
        )
    if content["owner"] != pack:
        raise SnapshotRefused(f"{path}: of other runs ({content['owner']} instead of {pack}); move it elsewhere")


def _newest_first(folder: Folder, pack: str) -> list[str]:
    return [name for name in reversed(folder.list(_place(pack))) if name.endswith(".npz")]


def _content_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_HASH_DIGITS]
