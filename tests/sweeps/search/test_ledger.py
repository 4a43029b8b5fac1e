"""The ledger of an adaptive search: what is damaged is refused in a line, and what is lost is rebuilt."""

import json
from pathlib import Path
from typing import Any

import pytest

from mulex.errors import UserError
from mulex.store.folder import open_folder
from mulex.store.layout import draws_name
from sweeps.inventory import freeze_spec
from sweeps.plan import make_plan
from tests.support.sweeps import as_spec, files, mulex
from tests.sweeps.search.test_tpe import METHOD, Trainer, searched

RIGHT = {"learning_rate": 1e-3, "epsilon": 0.5}


def write_ledger(folder: Path, content: bytes) -> None:
    (folder / "draws").mkdir()
    (folder / draws_name(METHOD)).write_bytes(content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not JSON"),
        (b"[{", "is not JSON"),
        (b"\x80\x81", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        ({"a": 1}, "got {a: 1}, needed is a list of draws"),
        ([5], "draw 0 is 5, needed is a value for each of learning_rate, epsilon"),
        ([RIGHT, {"learning_rate": 1e-3}], "draw 1 is {learning_rate: 0.001}, needed is a value for each of"),
        ([{**RIGHT, "beta": 1.0}], "needed is a value for each of learning_rate, epsilon"),
        ([{**RIGHT, "epsilon": 2.0}], "draw 0 has 2.0 as epsilon, which the spec draws from {uniform: [0.0, 1.0]}"),
        ([{**RIGHT, "epsilon": float("nan")}], "draw 0 has nan as epsilon"),
        ([{**RIGHT, "epsilon": None}], "draw 0 has null as epsilon"),
        ([{**RIGHT, "epsilon": True}], "draw 0 has true as epsilon"),
        ([{**RIGHT, "epsilon": "0.5"}], "draw 0 has '0.5' as epsilon"),
        ([RIGHT] * 7, "has 7 draws, but search.draws is 6"),
    ],
)
def test_a_damaged_ledger_is_refused_in_a_line_and_nothing_is_lost(content: Any, says: str, tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    freeze_spec(folder, as_spec(searched(draws=6)))
    write_ledger(tmp_path, content if isinstance(content, bytes) else json.dumps(content).encode())
    before = files(tmp_path)
    for command in (["status", str(tmp_path)], ["verify", str(tmp_path)], ["resume", str(tmp_path)]):
        answer = mulex(*command)
        assert answer.code == 2, answer.text
        text = " ".join(answer.text.split())
        assert says in text
        assert "restore the file, or move it away to rebuild it from the run files" in text
        assert "Traceback" not in answer.text
    assert files(tmp_path) == before


def test_a_lost_ledger_is_rebuilt_from_the_run_files(tmp_path: Path) -> None:
    """Draw 2 was chosen and has no run file yet; all others come back to the bit."""
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched(draws=6))
    for _ in range(2):
        pack = trainer.take()
        assert pack is not None
        trainer.train(pack)
    trainer.take()
    (tmp_path / draws_name(METHOD)).unlink()
    plan = make_plan(trainer.plan.spec, folder)
    assert plan.values[METHOD] == trainer.plan.values[METHOD][:2]
    again = Trainer(folder, searched(draws=6))
    assert again.told() == trainer.told()
    again.train_all()
    assert [pack.runs[0].draw for pack in again.asked] == [2, 3, 4, 5]


def test_a_lost_ledger_with_a_gap_is_refused(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    trainer = Trainer(folder, searched(draws=6))
    first, second = trainer.take(), trainer.take()
    assert first is not None
    assert second is not None
    trainer.train(second)
    (tmp_path / draws_name(METHOD)).unlink()
    with pytest.raises(UserError, match="no run file has the values of draw 0; restore the file"):
        make_plan(trainer.plan.spec, folder)
