"""`mulex unpack`: run files again from the two tables of a sweep."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from mulex.errors import UserError
from mulex.store.folder import open_folder
from mulex.store.run_file import read_run_file
from mulex.store.run_store import RunStore
from sweeps.confirmation import Confirmation, write_confirmation
from sweeps.inventory import additions, freeze_spec, take_stock
from sweeps.plan import make_plan
from sweeps.spec.loading import load_spec
from sweeps.unpacking import unpack
from tests.support.sweeps import ROOT, as_spec, mulex, tiny, train_run

MAIN = ROOT / "docs" / "results" / "main"
DATA = ROOT / "tests" / "data"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The spec and the tables of a sweep of 12 runs, with its run files in a folder beside it."""
    whole, kept = tmp_path / "whole", tmp_path / "archive"
    shutil.copytree(DATA / "old_sweep", whole, ignore=shutil.ignore_patterns("checkpoints"))
    shutil.copytree(DATA / "old_sweep_rest", whole / "runs" / "mulex", dirs_exist_ok=True)
    assert mulex("collect", str(whole)).code == 0
    kept.mkdir()
    for name in ("spec.yaml", "runs.parquet", "curves.parquet"):
        shutil.copy(whole / name, kept / name)
    return kept


def test_the_published_main_sweep_can_be_extended(tmp_path: Path) -> None:
    runs = pd.read_parquet(MAIN / "runs.parquet")
    draws = int(runs["draw"].max()) + 1
    folder = open_folder(tmp_path)
    assert unpack(open_folder(MAIN), folder) == len(runs)
    spec = load_spec("main", {"search.draws": draws + 5, "search.seeds": 1})
    assert additions(folder, spec) == [f"search.draws: {draws} -> {draws + 5}"]
    stock = take_stock(RunStore(folder), make_plan(spec, folder))
    assert (len(stock.done), len(stock.missing), stock.damaged, stock.strangers) == (len(runs), 15, [], [])


def test_test_runs_are_unpacked_and_stay_planned(tmp_path: Path) -> None:
    whole, kept, new = (open_folder(tmp_path / name) for name in ("whole", "kept", "new"))
    spec = as_spec(tiny(search={"seeds": 1}))
    freeze_spec(whole, spec)
    write_confirmation(whole, Confirmation({"small": {"mulex": [1]}}, 2))
    for run in make_plan(spec, whole).runs():
        train_run(make_plan(spec, whole), run, whole)
    assert mulex("collect", whole.url).code == 0
    for name in ("spec.yaml", "runs.parquet", "curves.parquet", "confirm.json"):
        kept.write(name, whole.read(name))
    assert mulex("unpack", kept.url, "--out", new.url).code == 0
    stock = take_stock(RunStore(new), make_plan(spec, new))
    assert (len(stock.done), stock.missing, stock.strangers) == (6, [], [])
    assert mulex("verify", new.url).code == 0


def test_unpacked_run_files_hold_what_the_originals_held(archive: Path, tmp_path: Path) -> None:
    original, folder = open_folder(tmp_path / "whole"), open_folder(tmp_path / "new")
    answer = mulex("unpack", str(archive), "--out", folder.url)
    assert (answer.code, "12 runs unpacked" in answer.text) == (0, True)
    assert folder.list("runs") == original.list("runs")
    for name in folder.list("runs"):
        was, now = read_run_file(original, name), read_run_file(folder, name)
        assert {key: value for key, value in was.row.items() if value is not None} == {
            key: value for key, value in now.row.items() if value is not None
        }
        assert now.curve.equals(was.curve)
        assert now.config["training"].items() >= was.config["training"].items()
        assert (now.config["values"], now.config["seed"]) == (was.config["values"], was.config["seed"])
    for name in ("runs.parquet", "curves.parquet"):
        pd.testing.assert_frame_equal(
            pq.read_table(tmp_path / "new" / name).to_pandas(), pq.read_table(archive / name).to_pandas()
        )
    assert mulex("verify", folder.url).code == 0


def test_an_interrupted_unpacking_is_repeated(archive: Path, tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "new")
    unpack(open_folder(archive), folder)
    names = folder.list("runs")
    for name in [*names[:5], "spec.yaml", "runs.parquet"]:
        folder.remove(name)
    (tmp_path / "new" / names[6]).write_bytes(b"half")
    assert unpack(open_folder(archive), folder) == 6
    assert mulex("verify", folder.url).code == 0


Change = Callable[[pd.DataFrame], pd.DataFrame]


def edit(archive: Path, name: str, change: Change) -> None:
    """Change a table, as a version without checksums would have written it."""
    change(pd.read_parquet(archive / name)).to_parquet(archive / name, index=False)


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        (
            "runs.parquet",
            lambda t: t.assign(run=["0" * 16, *t["run"][1:]]),
            "curves.parquet: run 0000000000000000 has 0",
        ),
        ("runs.parquet", lambda t: t.assign(draw=t["draw"] + 1), "has another world, method, draw or seed"),
        ("runs.parquet", lambda t: t.assign(learning_rate=1.0), "the column 'learning_rate' does not fit spec.yaml"),
        ("curves.parquet", lambda t: t[1:], "has 3 iterations, its row says 4"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    archive: Path, tmp_path: Path, name: str, change: Change, problem: str
) -> None:
    edit(archive, name, change)
    with pytest.raises(UserError) as error:
        unpack(open_folder(archive), open_folder(tmp_path / "new"))
    assert problem in str(error.value)
    assert not (tmp_path / "new").exists()


def test_runs_of_another_spec_damaged_tables_and_other_folders_are_refused(archive: Path, tmp_path: Path) -> None:
    text = (archive / "spec.yaml").read_text()
    (archive / "spec.yaml").write_text(text.replace("iterations: 4", "iterations: 5"))
    answer = mulex("unpack", str(archive), "--out", str(tmp_path / "new"))
    assert (answer.code, "spec.yaml does not plan run" in answer.text) == (2, True)
    (archive / "spec.yaml").write_text(text)
    other = tmp_path / "other"
    other.mkdir()
    (other / "spec.yaml").write_text(text + "\n")
    answer = mulex("unpack", str(archive), "--out", str(other))
    assert (answer.code, "is the folder of another sweep" in answer.text) == (2, True)
    content = (archive / "curves.parquet").read_bytes()
    (archive / "curves.parquet").write_bytes(content[:-1])
    answer = mulex("unpack", str(archive), "--out", str(tmp_path / "new"))
    assert (answer.code, "cannot be read as Parquet" in answer.text) == (2, True)
    assert not (tmp_path / "new").exists()
