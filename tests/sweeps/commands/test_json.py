"""`--json`: every command that answers a question answers other programs, too."""

import shutil
from pathlib import Path

import pytest

from tests.support.sweeps import ROOT, launch, mulex, tiny, write_spec

DATA = ROOT / "tests" / "data"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A sweep of 12 runs, two of them missing."""
    return Path(shutil.copytree(DATA / "old_sweep", tmp_path / "old"))


def test_validate_counts(tmp_path: Path) -> None:
    answer = mulex("validate", write_spec(tmp_path, tiny()), "--json")
    assert answer.json == {
        "sweep": "tiny",
        "worlds": ["small"],
        "draws": {"epsilon_greedy": 2, "mulex": 2},
        "seeds": 2,
        "runs": 8,
    }


def test_check_lists_its_points() -> None:
    where = ("--code", str(ROOT / "examples"), "--world", "FrozenLake-v1")
    answer = mulex("check", "q_learning:QLearning", *where, "--json")
    assert answer.code == 0
    assert {point["outcome"] for point in answer.json} == {"passed"}
    assert all(point["name"] and point["text"] for point in answer.json)


def test_collect_counts_and_names_what_it_leaves_out(old: Path) -> None:
    run = next((old / "runs" / "mulex").iterdir())
    run.write_bytes(run.read_bytes()[:-10])
    answer = mulex("collect", str(old), "--json")
    assert (answer.code, answer.json["runs"], answer.json["rows"]) == (1, 9, 36)
    assert answer.json["damaged"] == [f"runs/mulex/{run.name}"]


def test_verify_says_what_is_missing_and_what_is_damaged(old: Path) -> None:
    (old / "runs.parquet").write_bytes(b"no table")
    found = mulex("verify", str(old), "--json")
    assert (found.code, found.json["whole"], found.json["done"]) == (1, False, 10)
    assert [run["method"] for run in found.json["missing"]] == ["mulex", "mulex"]
    assert found.json["damaged_tables"] == ["runs.parquet"]
    shutil.copytree(DATA / "old_sweep_rest", old / "runs" / "mulex", dirs_exist_ok=True)
    assert mulex("collect", str(old), "--json").json["runs"] == 12
    whole = mulex("verify", str(old), "--json")
    assert (whole.code, whole.json["whole"], whole.json["missing"]) == (0, True, [])


def test_unpack_and_export_count(old: Path, tmp_path: Path) -> None:
    target = f"csv:{tmp_path / 'csv'}"
    assert mulex("export", str(old), "--to", target, "--json").json == [{"target": target, "runs": 10}]
    assert mulex("export", str(old), "--to", target, "--json").json == [{"target": target, "runs": 0}]
    shutil.rmtree(old / "runs")
    new = str(tmp_path / "new")
    assert mulex("unpack", str(old), "--out", new, "--json").json == {"runs": 10, "folder": new}


def test_checklist_has_its_sections(old: Path) -> None:
    found = mulex("checklist", str(old), "--json").json
    plain = mulex("checklist", str(old)).text
    assert len(found) == plain.count("\n## ") == 7
    assert all(part["section"] in plain and part["answer"] in plain for part in found)


def test_a_dry_run_prices(tmp_path: Path) -> None:
    answer = launch(tiny(), tmp_path / "out", "--dry-run", "--json", "--cpus", "2")
    found = answer.json
    assert (answer.code, found["to_train"], found["done"], found["workers"]) == (0, 8, 0, 1)
    assert [line["to_train"] for line in found["lines"]] == [4, 4]
    low, high = found["core_hours"]
    assert 0 < low <= high
    assert found["seconds"] == pytest.approx([3600 * low, 3600 * high])


def test_a_dry_confirmation_names_its_draws(old: Path) -> None:
    found = mulex("confirm", str(old), "--top", "1", "--seeds", "4", "--dry-run", "--json").json
    assert found["test_seeds"] == 4
    assert [len(draws) for methods in found["chosen"].values() for draws in methods.values()] == [1, 1]
    assert found["to_train"] == 8
