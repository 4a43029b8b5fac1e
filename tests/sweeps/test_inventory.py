"""The store: the frozen spec, what is done and what is not, damage of every kind."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulex.errors import UserError
from mulex.store.folder import Folder, open_folder
from mulex.store.folding import set_aside
from mulex.store.layout import run_name
from mulex.store.provenance import provenance
from mulex.store.run_file import RunFile, curve_table, read_run_file, write_run_file
from mulex.store.run_store import RunStore
from sweeps.inventory import (
    SPEC,
    additions,
    freeze_spec,
    frozen_spec,
    has_result,
    record_failure,
    take_stock,
)
from sweeps.plan import Plan, PlannedRun, make_plan
from sweeps.spec import write_yaml
from tests.support.sweeps import Plain, as_spec, tiny

MOMENT = datetime(2026, 1, 2, tzinfo=UTC)


def planned(folder: Folder, plain: Plain | None = None) -> tuple[Plan, list[PlannedRun]]:
    """A plan and its runs."""
    plan = make_plan(as_spec(plain or tiny()), folder)
    return plan, list(plan.runs())


def leave(folder: Folder, run: PlannedRun, status: str = "done", launch: int = 0, **more: Any) -> str:
    """A small run file, as a worker leaves it."""
    common = {"run": run.run_id, "world": run.world, "method": run.method, "draw": run.draw, "seed": run.seed}
    row = common | {"status": status, "error": None, "auc": 1.0, "seconds": 2.0, "started_at": MOMENT} | provenance()
    curve = [common | {"iteration": 1, "eval_return": 1.0, "env_steps": 10, "seconds": 2.0}]
    return write_run_file(folder, RunFile(row | more, curve_table(curve), {}, launch))


def ids(runs: list[PlannedRun]) -> set[str]:
    """By which they are told apart."""
    return {run.run_id for run in runs}


def test_the_spec_is_frozen_at_the_first_launch(tmp_path: Path) -> None:
    folder, spec = open_folder(tmp_path), as_spec(tiny())
    assert additions(folder, spec) == []
    freeze_spec(folder, spec)
    assert frozen_spec(folder) == spec
    assert additions(folder, spec) == []


def test_what_is_frozen_leaves_nothing_to_defaults(tmp_path: Path) -> None:
    """So a later version with other defaults continues the same sweep."""
    freeze_spec(open_folder(tmp_path), as_spec(tiny()))
    text = (tmp_path / SPEC).read_text()
    assert "batch_size: 32" in text
    assert "draws_per_pack: 1" in text


def test_a_folder_that_is_no_sweep_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a sweep's folder"):
        frozen_spec(open_folder(tmp_path))


def test_additions_are_named_and_kept(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    freeze_spec(folder, as_spec(tiny()))
    methods = tiny()["methods"] | {"additive": {"beta": 1.0}}
    worlds = tiny()["worlds"] | {"big": {"room_size": 4}}
    grown = as_spec(tiny(search={"draws": 3, "seeds": 4}, methods=methods, worlds=worlds))
    added = additions(folder, grown)
    freeze_spec(folder, grown)
    for word in ("search.draws: 2 -> 3", "search.seeds: 2 -> 4", "methods.additive", "worlds.big"):
        assert any(word in line for line in added), (word, added)
    assert frozen_spec(folder) == grown


CHANGES: dict[str, tuple[Plain, str]] = {
    "fewer draws": (tiny(search={"draws": 1}), "search.draws: 2 -> 1"),
    "fewer seeds": (tiny(search={"seeds": 1}), "search.seeds: 2 -> 1"),
    "another seed": (tiny(search={"seed": 1}), "search.seed: 0 -> 1"),
    "other seeds": (tiny(search={"first_seed": 1}), "search.first_seed: 0 -> 1"),
    "another search": (tiny(search={"algorithm": "sobol"}), "search.algorithm"),
    "iterations": (tiny(training={"iterations": 5}), "training.iterations: 4 -> 5"),
    "a world": (tiny(worlds={"small": {"map": "two_rooms", "room_size": 4, "time_limit": 30}}), "room_size: 3 -> 4"),
    "no such world": (tiny(worlds={"other": tiny()["worlds"]["small"]}), "worlds.small: taken away"),
    "a method less": (tiny(methods={"mulex": tiny()["methods"]["mulex"]}), "methods.epsilon_greedy: taken away"),
    "a range": (
        tiny(methods=tiny()["methods"] | {"mulex": {"p_task": {"uniform": [0.5, 0.8]}}}),
        "methods.mulex.p_task",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_any_other_change_is_refused_with_the_difference(what: str, tmp_path: Path) -> None:
    changed, difference = CHANGES[what]
    folder = open_folder(tmp_path)
    freeze_spec(folder, as_spec(tiny()))
    before = (tmp_path / SPEC).read_bytes()
    with pytest.raises(UserError, match="was launched with another spec") as refused:
        freeze_spec(folder, as_spec(changed))
    assert difference in str(refused.value)
    assert (tmp_path / SPEC).read_bytes() == before


def test_how_a_sweep_is_carried_out_may_change(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    freeze_spec(folder, as_spec(tiny()))
    again = as_spec(tiny(execution={"draws_per_pack": 2, "max_failures": 9}) | {"name": "another"})
    assert additions(folder, again) == []
    freeze_spec(folder, again)
    assert frozen_spec(folder) == again


def test_stock_is_taken_by_what_became_of_each_run(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    plan, runs = planned(folder)
    for run, status in zip(runs, ("done", "stopped", "diverged", "failed"), strict=False):
        leave(folder, run, status)
    stock = take_stock(RunStore(folder), plan)
    assert ids(stock.done) == ids(runs[:2])
    assert ids(stock.diverged) == ids(runs[2:3])
    assert ids(stock.failed) == ids(runs[3:4])
    assert ids(stock.missing) == ids(runs[4:])
    assert stock.damaged == stock.strangers == []


@given(chosen=st.sets(st.integers(0, 7)))
@settings(max_examples=30, deadline=None)
def test_what_is_missing_is_the_complement_of_what_is_there(
    chosen: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = open_folder(tmp_path_factory.mktemp("sweep"))
    plan, runs = planned(folder)
    for i in chosen:
        leave(folder, runs[i])
    stock = take_stock(RunStore(folder), plan)
    assert ids(stock.done) == {runs[i].run_id for i in chosen}
    assert ids(stock.missing) == ids(runs) - ids(stock.done)


def damage(path: Path, data: st.DataObject) -> None:
    """Cut a file at any byte, or flip any of its bits."""
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1), label="place")
    if data.draw(st.booleans(), label="cut"):
        del content[place:]
    else:
        content[place] ^= 1 << data.draw(st.integers(0, 7), label="bit")
    path.write_bytes(content)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_damage_is_found_moved_aside_and_to_be_done_again(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("sweep")
    folder = open_folder(place)
    plan, runs = planned(folder)
    leave(folder, runs[0])
    name = leave(folder, runs[1])
    damage(place / name, data)
    hurt = (place / name).read_bytes()
    stock = take_stock(RunStore(folder), plan)
    assert (stock.damaged, ids(stock.done), ids(stock.missing)) == ([name], ids(runs[:1]), ids(runs[1:]))
    assert not has_result(RunStore(folder), runs[1])
    set_aside(RunStore(folder).refresh(), stock.damaged)
    assert (place / "damaged" / f"{runs[1].run_id}.parquet").read_bytes() == hurt
    stock = take_stock(RunStore(folder), plan)
    assert (stock.damaged, ids(stock.done), ids(stock.missing)) == ([], ids(runs[:1]), ids(runs[1:]))


def test_a_cut_run_file_is_found(tmp_path: Path) -> None:
    """Those of the last hundred bytes, where the checksum is, and one in 29 of the others."""
    folder = open_folder(tmp_path)
    plan, runs = planned(folder)
    path = tmp_path / leave(folder, runs[0])
    content = path.read_bytes()
    for length in {*range(0, len(content), 29), *range(len(content) - 100, len(content))}:
        path.write_bytes(content[:length])
        assert not has_result(RunStore(folder), runs[0]), f"cut to {length} of {len(content)} bytes"
    path.write_bytes(content)
    assert has_result(RunStore(folder), runs[0])
    assert ids(take_stock(RunStore(folder), plan).done) == ids(runs[:1])


def test_a_run_file_under_another_runs_name_is_a_damaged_one(tmp_path: Path) -> None:
    """Whole, but not what its name says: nobody may take it for that run."""
    folder = open_folder(tmp_path)
    plan, runs = planned(folder)
    right = tmp_path / leave(folder, runs[0])
    wrong = tmp_path / run_name(runs[1].method, runs[1].run_id)
    wrong.parent.mkdir(parents=True, exist_ok=True)
    wrong.write_bytes(right.read_bytes())
    stock = take_stock(RunStore(folder), plan)
    assert ids(stock.done) == ids(runs[:1])
    assert stock.damaged == [run_name(runs[1].method, runs[1].run_id)]


def test_strangers_and_parts_of_dead_writers_are_told_apart(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    plan, runs = planned(folder)
    leave(folder, runs[0])
    other = PlannedRun("0" * 16, "small", "mulex", 0, 0)
    name = leave(folder, other)
    (tmp_path / "runs" / "mulex" / ".x.parquet.4711.part").write_bytes(b"half")
    stock = take_stock(RunStore(folder), plan)
    assert stock.strangers == [name]
    assert len(stock.done) == 1


def test_a_failure_is_written_down_with_its_reason(tmp_path: Path) -> None:
    folder = open_folder(tmp_path)
    plan, runs = planned(folder)
    record_failure(folder, plan, runs[0], "ValueError: no", "the hash", 7)
    finished = read_run_file(folder, run_name(runs[0].method, runs[0].run_id))
    row = finished.row
    assert (row["status"], row["error"], row["iterations"]) == ("failed", "ValueError: no", 0)
    assert (row["draw"], row["seed"], row["world"], row["sweep"]) == (0, 0, "small", "tiny")
    assert row["epsilon"] == plan.values["epsilon_greedy"][0]["epsilon"]
    assert len(finished.curve) == 0
    assert not has_result(RunStore(folder), runs[0])
    assert ids(take_stock(RunStore(folder), plan).failed) == {runs[0].run_id}


def test_stock_of_an_empty_folder(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "new")
    plan, runs = planned(folder)
    stock = take_stock(RunStore(folder), plan)
    assert (stock.missing, stock.entries, stock.damaged, stock.strangers) == (runs, [], [], [])
    assert not (tmp_path / "new").exists()


def test_a_spec_that_is_written_is_read_again(tmp_path: Path) -> None:
    """The frozen spec of every tiny one that the tests use."""
    for plain in [tiny(), *(changed for changed, _ in CHANGES.values())]:
        spec = as_spec(plain)
        folder = open_folder(tmp_path / spec.outcome_hash() / str(spec.search.draws) / str(spec.search.seeds))
        folder.write(SPEC, write_yaml(spec.resolved()).encode())
        assert frozen_spec(folder) == spec
