"""Run files: what is written is read, and any damage is found."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.store.folder import open_folder
from mulex.store.run_file import (
    LONGEST_ERROR,
    DamagedRunFile,
    RunFile,
    curve_table,
    read_run_file,
    read_run_note,
    write_run_file,
)

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def finished(run: str = "r1", method: str = "mulex", seed: int = 0, **more: Any) -> RunFile:
    """A small finished run."""
    common = {"run": run, "world": "w5", "method": method, "draw": 0, "seed": seed}
    curve = [
        common | {"iteration": i, "eval_return": i / 3, "env_steps": 10 * i, "train_return": None, "loss_task": 0.1 * i}
        for i in (1, 2, 3)
    ]
    row = common | {"learning_rate": 1e-3, "auc": 2 / 3, "started_at": MOMENT, "finished_at": MOMENT} | more
    return RunFile(row, curve_table(curve), {"seed": seed})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    run = finished()
    back = read_run_file(open_folder(tmp_path), write_run_file(open_folder(tmp_path), run))
    assert back.row == run.row | {"role": "tune"}
    assert back.config == run.config
    assert back.curve.equals(run.curve)
    assert back.curve["loss_task"].to_pylist() == [0.1 * i for i in (1, 2, 3)]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_damage_is_found(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("sweep")
    name = write_run_file(open_folder(folder), finished())
    path = folder / name
    content = bytearray(path.read_bytes())
    index = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[index:]
    else:
        content[index] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(DamagedRunFile, match="damaged"):
        read_run_file(open_folder(folder), name)


def test_an_error_is_stored_short_and_plain(tmp_path: Path) -> None:
    error = "\x1b[31mred\x1b[0m \x1b]0;title\x07 [bold]brackets[/bold]\tand\nlines\r\x00" + "x" * 5_000_000
    name = write_run_file(open_folder(tmp_path), finished(status="failed", error=error))
    assert (tmp_path / name).stat().st_size < 80_000
    stored = read_run_file(open_folder(tmp_path), name).row["error"]
    assert stored.startswith("red  [bold]brackets[/bold]\tand\nlinesxxx")
    assert stored.endswith("x")
    assert "x\n...\nx" in stored
    assert len(stored) == LONGEST_ERROR
    assert not {c for c in stored if not c.isprintable()} - {"\n", "\t"}


def test_a_short_error_stays_as_it_is(tmp_path: Path) -> None:
    name = write_run_file(open_folder(tmp_path), finished(error="ValueError: größer als 3 [a, b]"))
    assert read_run_note(open_folder(tmp_path), name).row["error"] == "ValueError: größer als 3 [a, b]"
