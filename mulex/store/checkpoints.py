"""Checkpoints of a pack: all its arrays and a description in one file, whole or not at all, with a checksum.

A checkpoint is an uncompressed NPZ without pickle. Its name says after which iteration it was taken and begins the
SHA-256 of its content, so any flipped bit or missing byte is found. The latest two are kept. A small file beside them
says which runs the pack has, so that a later launch can go on with the same pack.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from mulex.errors import UserError
from mulex.settings import digest
from mulex.store.folder import Folder, StorageError
from mulex.store.layout import CHECKPOINTS, checkpoint_folder, pack_runs_name
from mulex.store.layout import KEPT as KEPT_FOLDER

KEPT = 2
_ABOUT = "about.json"
_HASH_DIGITS = 16


class CheckpointRefused(UserError):  # noqa: N818
    """A checkpoint that is whole, but not of this pack or not of this package version."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a pack as it was found in a folder."""

    arrays: dict[str, np.ndarray]
    about: dict[str, Any]
    skipped: list[str]
    """Which checkpoints were passed over and why, in words."""
    unusable: list[str] = field(default_factory=list)
    """File names of the skipped checkpoints."""


def package_major() -> str:
    """The major version of this package; checkpoints are exchanged between versions that agree in it."""
    return version("mulex").partition(".")[0]


def save_checkpoint(
    folder: Folder, pack: str, iteration: int, arrays: dict[str, np.ndarray], about: Any, under: str = CHECKPOINTS
) -> str:
    """Write a checkpoint of a pack (its name is a hash of what is trained), then remove all but the latest two.

    Those of a higher iteration stay: they may belong to a worker that took this pack over from a frozen one.
    """
    content = {"owner": pack, "major": package_major(), "iteration": iteration, "about": about}
    words = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **{_ABOUT: words}, **arrays)
    name = f"{checkpoint_folder(pack, under)}/{iteration:08d}-{_content_hash(file.getvalue())}.npz"
    folder.write(name, file.getvalue())
    others = [other for other in _newest_first(folder, pack, under) if _iteration(other) <= iteration and other != name]
    for old in others[KEPT - 1 :]:
        folder.remove(old)
    return name


def load_checkpoint(
    folder: Folder, pack: str, engine: str | None = None, under: str = CHECKPOINTS
) -> Checkpoint | None:
    """The newest whole checkpoint, of this engine if one is named; None where there are no checkpoints at all.

    Damaged ones and those of another engine are passed over. One of other runs or of another major version is refused.
    """
    skipped, unusable = [], []
    for name in _newest_first(folder, pack, under):
        found = _read(folder, name)
        if found is None:
            skipped.append(f"{folder.url}/{name}: damaged, using the one before it")
            unusable.append(name)
            continue
        arrays, content = found
        _check_fits(f"{folder.url}/{name}", content, pack)
        other = content["about"].get("engine") if engine else None
        if other != engine:
            skipped.append(f"{folder.url}/{name}: of engine {other}, this is {engine}")
            unusable.append(name)
            continue
        return Checkpoint(arrays, content["about"], skipped, unusable)
    return Checkpoint({}, {}, skipped, unusable) if skipped else None


def remove_checkpoints(folder: Folder, pack: str, under: str = CHECKPOINTS) -> None:
    """Remove all checkpoints of a pack, as is done when it is finished."""
    for name in _newest_first(folder, pack, under):
        folder.remove(name)
    folder.remove(pack_runs_name(pack, under))


def kept_lengths(folder: Folder) -> dict[str, int]:
    """The iterations of every finished pack whose last checkpoint was kept, by the pack's name."""
    return {name.split("/")[1]: _iteration(name) for name in folder.list(KEPT_FOLDER) if name.endswith(".npz")}


def note_runs(folder: Folder, runs: list[str], under: str = CHECKPOINTS) -> None:
    """Say beside its checkpoints which runs a pack has."""
    name = pack_runs_name(digest(runs), under)
    if not folder.exists(name):
        folder.write(name, json.dumps(runs).encode())


def begun_packs(folder: Folder, under: str = CHECKPOINTS) -> dict[str, list[str]]:
    """The packs that have left checkpoints, and their runs."""
    names = [name for name in folder.list(under) if name == pack_runs_name(name.split("/")[1], under)]
    return read_pack_runs(folder, [name.split("/")[1] for name in names], under)


def read_pack_runs(folder: Folder, packs: Iterable[str], under: str = CHECKPOINTS) -> dict[str, list[str]]:
    """The runs of some packs, by the files beside their checkpoints; packs without a whole one are left out."""
    begun = {}
    for name, content in folder.read_many([pack_runs_name(pack, under) for pack in packs]).items():
        try:
            runs = json.loads(content)
        except ValueError:
            continue
        if name == pack_runs_name(digest(runs), under):
            begun[digest(runs)] = runs
    return begun


def newest_iterations(folder: Folder) -> dict[str, int]:
    """The iteration of the newest checkpoint of every pack that has one, from one listing of the folder."""
    newest: dict[str, int] = {}
    for name in folder.list(CHECKPOINTS):
        if name.endswith(".npz"):
            pack = name.split("/")[1]
            newest[pack] = max(newest.get(pack, 0), _iteration(name))
    return newest


def _read(folder: Folder, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """The arrays and the description in a checkpoint; None if it is damaged or was removed meanwhile."""
    try:
        content = folder.read(name)
        if _content_hash(content) != name.rpartition("-")[2].removesuffix(".npz"):
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        return arrays, json.loads(arrays.pop(_ABOUT).tobytes())
    except StorageError:  # storage that does not answer is no damage
        raise
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _check_fits(path: str, content: dict[str, Any], pack: str) -> None:
    if content["major"] != package_major():
        raise CheckpointRefused(
            f"{path}: written by version {content['major']} of mulex, this is {package_major()}; "
            "continue with that version, or remove the file to begin again"
        )
    if content["owner"] != pack:
        raise CheckpointRefused(f"{path}: of other runs ({content['owner']} instead of {pack}); move it elsewhere")


def _newest_first(folder: Folder, pack: str, under: str) -> list[str]:
    return [name for name in reversed(folder.list(checkpoint_folder(pack, under))) if name.endswith(".npz")]


def _iteration(name: str) -> int:
    digits = name.rpartition("/")[2].partition("-")[0]
    return int(digits) if digits.isdigit() else 0


def _content_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_HASH_DIGITS]
