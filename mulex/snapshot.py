"""Snapshots of a pack: all its arrays and a few words about it in one file, whole or not at all, with a checksum.

A snapshot is an uncompressed NPZ without pickle. Its name says after which iteration it was taken and begins the
SHA-256 of its content, so any flipped bit or missing byte is found. The latest two are kept.
"""

import hashlib
import json
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mulex.errors import UserError
from mulex.files import write_whole

KEPT = 2
_ABOUT = "about.json"
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


def save_snapshot(folder: Path, iteration: int, owner: str, arrays: dict[str, np.ndarray], about: Any) -> Path:
    """Write a snapshot of `owner` (a hash of what is trained), then remove all but the latest two."""
    content = {"owner": owner, "major": package_major(), "iteration": iteration, "about": about}
    words = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
    waiting = folder / "waiting"
    write_whole(waiting, lambda file: np.savez(file, allow_pickle=False, **{_ABOUT: words}, **arrays))
    path = waiting.rename(folder / f"{iteration:08d}-{_content_hash(waiting)}.npz")
    for old in _newest_first(folder)[KEPT:]:
        old.unlink()
    return path


def load_snapshot(folder: Path, owner: str) -> Snapshot | None:
    """The newest whole snapshot, or None; damaged ones are named, ones that do not fit are refused."""
    skipped = []
    for path in _newest_first(folder):
        found = _read(path)
        if found is None:
            skipped.append(f"{path}: damaged, using the one before it")
            continue
        arrays, content = found
        _check_fits(path, content, owner)
        return Snapshot(arrays, content["about"], skipped)
    return Snapshot({}, {}, skipped) if skipped else None


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    if _content_hash(path) != path.stem.partition("-")[2]:
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return arrays, json.loads(arrays.pop(_ABOUT).tobytes())
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _check_fits(path: Path, content: dict[str, Any], owner: str) -> None:
    if content["major"] != package_major():
        raise SnapshotRefused(
            f"{path}: written by version {content['major']} of mulex, this is {package_major()}; "
            "continue with that version, or remove the file to begin again"
        )
    if content["owner"] != owner:
        raise SnapshotRefused(f"{path}: of other runs ({content['owner']} instead of {owner}); move it elsewhere")


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.npz"), reverse=True)


def _content_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_HASH_DIGITS]
