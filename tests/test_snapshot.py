"""Snapshots on disk: whole or not at all, damage found, strangers refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex import snapshot
from mulex.snapshot import SnapshotRefused, load_snapshot, save_snapshot

ARRAYS = {"weights": np.arange(12, dtype=np.float32).reshape(3, 4), "replay.flags": np.ones((2, 5), dtype=np.uint8)}


def save(folder: Path, iteration: int, owner: str = "pack") -> Path:
    """A small snapshot whose content says which it is."""
    return save_snapshot(folder, iteration, owner, ARRAYS, {"iteration": iteration, "curve": [0.1, float(iteration)]})


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path, 3)
    found = load_snapshot(tmp_path, "pack")
    assert found is not None
    assert found.about == {"iteration": 3, "curve": [0.1, 3.0]}
    assert found.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array)
    assert found.skipped == []


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert load_snapshot(tmp_path, "pack") is None
    assert load_snapshot(tmp_path / "never made", "pack") is None


def test_the_latest_two_are_kept(tmp_path: Path) -> None:
    paths = [save(tmp_path, iteration) for iteration in (1, 5, 10, 100)]
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert sorted(tmp_path.iterdir()) == paths[2:]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_damage_is_found_and_the_one_before_is_used(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pack")
    save(folder, 1)
    newest = save(folder, 2)
    content = bytearray(newest.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    newest.write_bytes(content)
    found = load_snapshot(folder, "pack")
    assert found is not None
    assert found.about["iteration"] == 1
    assert len(found.skipped) == 1
    assert str(newest) in found.skipped[0]


def test_when_all_are_damaged_it_says_so(tmp_path: Path) -> None:
    save(tmp_path, 1).write_bytes(b"")
    found = load_snapshot(tmp_path, "pack")
    assert found is not None
    assert found.arrays == {}
    assert len(found.skipped) == 1


def test_other_runs_and_other_major_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)
    with pytest.raises(SnapshotRefused, match="of other runs"):
        load_snapshot(tmp_path, "another pack")
    monkeypatch.setattr(snapshot, "package_major", lambda: "99")
    with pytest.raises(SnapshotRefused, match="this is 99"):
        load_snapshot(tmp_path, "pack")


def test_a_failed_write_leaves_the_old_one_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = save(tmp_path, 1)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        save(tmp_path, 2)
    assert list(tmp_path.iterdir()) == [kept]
