"""What dead processes leave is removed, and what live ones are writing is not."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from mulex.settings import digest
from mulex.store.checkpoints import begun_packs, note_runs, save_checkpoint
from mulex.store.folder import Folder, open_folder
from mulex.store.leftovers import sweep_leftovers

RUNS = ["a", "b"]


def checkpoint(folder: Folder, pack: str) -> str:
    """A small checkpoint."""
    return save_checkpoint(folder, pack, 1, {"x": np.zeros(3)}, {})


def make_old(path: Path, hours: float) -> None:
    """Say that everything below was written some hours ago."""
    then = time.time() - 3600 * hours
    for file in path.rglob("*"):
        os.utime(file, (then, then))


def test_old_parts_and_orphaned_checkpoints_go(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    kept = checkpoint(folder, digest(RUNS))
    note_runs(folder, RUNS)
    orphan = checkpoint(folder, "orphan")
    folder.write("runs/mulex/a.parquet", b"whole")
    parts = [".spec.yaml.1.part", "runs/mulex/.b.parquet.2.part", "checkpoints/orphan/.00000002-x.npz.3.part"]
    for name in parts:
        (tmp_path / name).write_bytes(b"half")
    make_old(tmp_path, hours=0.9)
    assert sweep_leftovers(folder) == [], "a live process may be writing them"
    make_old(tmp_path, hours=1.1)
    (tmp_path / ".new.4.part").write_bytes(b"half")
    assert sorted(sweep_leftovers(folder)) == sorted([*parts, orphan])
    there = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert there == {kept, f"checkpoints/{digest(RUNS)}/runs.json", "runs/mulex/a.parquet", ".new.4.part"}
    assert begun_packs(folder) == {digest(RUNS): RUNS}


@pytest.mark.parametrize("age, gone", [(-3600.0, True), (3600.0, False)])
def test_orphaned_checkpoints_in_a_bucket_go(s3_bucket: str, age: float, gone: bool) -> None:
    folder = open_folder(f"{s3_bucket}/sweep")
    checkpoint(folder, digest(RUNS))
    note_runs(folder, RUNS)
    orphan = checkpoint(folder, "orphan")
    assert sweep_leftovers(folder, older_than=age) == ([orphan] if gone else [])
    assert folder.exists(orphan) != gone
    assert len(folder.list("checkpoints")) == 2 + (not gone)
