"""Checkpoints on disk: whole or not at all, damage found, strangers refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.settings import digest
from mulex.store import checkpoints
from mulex.store.checkpoints import (
    Checkpoint,
    CheckpointRefused,
    begun_packs,
    load_checkpoint,
    note_runs,
    remove_checkpoints,
    save_checkpoint,
)
from mulex.store.folder import StorageError, open_folder

ARRAYS = {"weights": np.arange(12, dtype=np.float32).reshape(3, 4), "replay.flags": np.ones((2, 5), dtype=np.uint8)}


def save(folder: Path, iteration: int, pack: str = "pack") -> Path:
    """A small checkpoint whose content says which it is."""
    about = {"iteration": iteration, "curve": [0.1, float(iteration)]}
    return folder / save_checkpoint(open_folder(folder), pack, iteration, ARRAYS, about)


def load(folder: Path, pack: str = "pack") -> Checkpoint | None:
    """The newest whole one."""
    return load_checkpoint(open_folder(folder), pack)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path, 3)
    found = load(tmp_path)
    assert found is not None
    assert found.about == {"iteration": 3, "curve": [0.1, 3.0]}
    assert found.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array)
    assert found.skipped == []


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert load(tmp_path) is None
    assert load(tmp_path / "never made") is None


def test_the_latest_two_are_kept(tmp_path: Path) -> None:
    paths = [save(tmp_path, iteration) for iteration in (1, 5, 10, 100)]
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert sorted((tmp_path / "checkpoints" / "pack").iterdir()) == paths[2:]


def test_the_one_just_written_stays_whatever_else_is_there(tmp_path: Path) -> None:
    """Two of a higher iteration that cannot be used, as after damage or a change of engine, must not push it out."""
    for iteration in (100, 200):
        save(tmp_path, iteration).write_bytes(b"damaged")
    for iteration in (1, 2, 3):
        assert save(tmp_path, iteration).exists()
    found = load(tmp_path)
    assert found is not None
    assert found.about["iteration"] == 3
    assert len(found.unusable) == 2
    kept = sorted(path.name[:8] for path in (tmp_path / "checkpoints/pack").iterdir())
    assert kept == ["00000002", "00000003", "00000100", "00000200"]


def test_the_newest_of_the_same_engine_is_used(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    for iteration, engine in ((1, "torch"), (2, "native"), (3, "native")):
        save_checkpoint(folder, "pack", iteration, ARRAYS, {"iteration": iteration, "engine": engine})
        save_checkpoint(folder, "pack", 1, ARRAYS, {"iteration": 1, "engine": "torch"})
    native, torch, other = (load_checkpoint(folder, "pack", engine) for engine in ("native", "torch", "other"))
    assert native is not None
    assert torch is not None
    assert other is not None
    assert (native.about["iteration"], torch.about["iteration"], other.arrays) == (3, 1, {})
    assert (len(native.unusable), len(torch.unusable), len(other.unusable)) == (0, 2, 3)


def test_storage_that_does_not_answer_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)

    def refuses(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", refuses)
    with pytest.raises(StorageError, match="Input/output error"):
        load(tmp_path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_damage_is_found_and_the_one_before_is_used(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pack")
    save(folder, 1)
    newest = save(folder, 2)
    content = bytearray(newest.read_bytes())
    index = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[index:]
    else:
        content[index] ^= 1 << data.draw(st.integers(0, 7))
    newest.write_bytes(content)
    found = load(folder)
    assert found is not None
    assert found.about["iteration"] == 1
    assert len(found.skipped) == 1
    assert str(newest) in found.skipped[0]


def test_when_all_are_damaged_it_says_so(tmp_path: Path) -> None:
    save(tmp_path, 1).write_bytes(b"")
    found = load(tmp_path)
    assert found is not None
    assert found.arrays == {}
    assert len(found.skipped) == 1


def test_other_runs_and_other_major_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)
    (tmp_path / "checkpoints" / "pack").rename(tmp_path / "checkpoints" / "another")
    with pytest.raises(CheckpointRefused, match="of other runs"):
        load(tmp_path, "another")
    save(tmp_path, 1)
    monkeypatch.setattr(checkpoints, "package_major", lambda: "99")
    with pytest.raises(CheckpointRefused, match="this is 99"):
        load(tmp_path)


def test_finished_packs_leave_none(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2, "other")
    remove_checkpoints(open_folder(tmp_path), "pack")
    assert load(tmp_path) is None
    assert load(tmp_path, "other") is not None


def test_a_pack_that_was_begun_names_its_runs(tmp_path: Path) -> None:
    folder, runs = open_folder(tmp_path), ["a", "b"]
    save(tmp_path, 1, digest(runs))
    assert begun_packs(folder) == {}
    note_runs(folder, runs)
    assert begun_packs(folder) == {digest(runs): runs}
    for rubbish in (b"", b"[1", b'["a"]'):
        folder.write(f"checkpoints/{digest(runs)}/runs.json", rubbish)
        assert begun_packs(folder) == {}
    remove_checkpoints(folder, digest(runs))
    assert folder.list("checkpoints") == []
