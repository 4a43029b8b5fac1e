"""What earlier versions wrote still loads, counts, resumes and has the same names (tests/data)."""

import hashlib
import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

import sweeps
from analysis.tables import load_tables
from mulex.config import RunConfig
from mulex.learners.dqn.engines import make_engine
from mulex.store.checkpoints import load_checkpoint
from mulex.store.folder import open_folder
from mulex.store.run_file import parse_run_file
from mulex.store.run_store import RunStore
from mulex.store.tables import read_table, tables_are_of
from mulex.training import Labels, Pack, PackTraining
from sweeps.inventory import frozen_spec, take_stock
from sweeps.packing import choose_packs
from sweeps.plan import make_plan
from tests.support.sweeps import ROOT, mulex

DATA = ROOT / "tests" / "data"
RUN_IDS = json.loads((DATA / "run_ids.json").read_text())
RESULTS = sorted(path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/results/*/runs.parquet"))
COMPARED = ("auc", "normalised_auc", "final_return", "best_return", "env_steps", "updates", "status", "spec_hash")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the old sweep."""
    return Path(shutil.copytree(DATA / "old_sweep", tmp_path / "old"))


def test_its_tables_load_and_show_what_is_missing() -> None:
    tables = load_tables([str(DATA / "old_sweep")])
    assert tables.complete.note() == "10 of 12 runs"
    assert tables.complete.counts["done"].tolist() == [6, 4]
    assert tables.matrices["eval_return"].shape == (10, 4)


def test_its_run_files_load_without_the_tables(old: Path) -> None:
    whole = load_tables([str(old)])
    for name in ("runs.parquet", "curves.parquet"):
        (old / name).write_bytes(b"damaged")
    again = load_tables([str(old)])
    assert again.runs["run"].tolist() == whole.runs["run"].tolist()
    assert again.runs["score"].tolist() == whole.runs["score"].tolist()
    assert (again.matrices["eval_return"] == whole.matrices["eval_return"]).all()


def test_it_is_the_same_in_a_bucket(s3_bucket: str) -> None:
    local, bucket = open_folder(DATA / "old_sweep"), open_folder(f"{s3_bucket}/sweeps/old")
    for name in local.list(""):
        bucket.write(name, local.read(name))
    expected = load_tables([local.url])
    for _ in range(2):  # from the tables, then from the run files
        tables = load_tables([bucket.url])
        assert tables.runs["run"].tolist() == expected.runs["run"].tolist()
        assert (tables.matrices["eval_return"] == expected.matrices["eval_return"]).all()
        assert tables.complete.note() == "10 of 12 runs"
        bucket.remove("curves.parquet")
    answer = mulex("collect", bucket.url)
    assert (answer.code, answer.text) == (0, "10 runs, 40 rows of curves\n")
    assert mulex("verify", bucket.url).text.splitlines()[-1].startswith("10 done, 0 diverged, 0 failed, 2 missing")
    checkpoint = load_checkpoint(bucket, "e14625a5abf1f203")
    assert checkpoint is not None
    assert checkpoint.about["engine"] == "native"


def test_verify_counts_it(old: Path) -> None:
    answer = mulex("verify", str(old))
    assert (answer.code, answer.text.splitlines()[-1]) == (1, "10 done, 0 diverged, 0 failed, 2 missing, 0 damaged")


def test_its_tables_are_known_to_be_of_its_runs(old: Path) -> None:
    folder = open_folder(old)
    stock = take_stock(RunStore(folder), make_plan(frozen_spec(folder), folder))
    assert read_table(folder, "runs.parquet").is_of(stock.checksums)
    assert tables_are_of(folder, stock.checksums)


def test_its_pack_goes_on_from_its_checkpoint(old: Path) -> None:
    folder = open_folder(old)
    spec = frozen_spec(folder)
    plan = make_plan(spec, folder)
    (pack,) = choose_packs(plan, folder, take_stock(RunStore(folder), plan))
    family = plan.families[pack.world, pack.method]
    runs = [family.run(plan.values[run.method][run.draw], run.seed) for run in pack.runs]
    labels = Labels(spec.name, pack.world, [run.draw for run in pack.runs], spec.outcome_hash())
    engine = make_engine("auto", "cpu", runs)
    if engine.name != "native":
        pytest.skip("the checkpoint is the native engine's, which is not built here")
    with closing(engine):
        training = PackTraining(Pack(runs, labels), engine, folder)
        assert training.begin() == ["continuing after iteration 2"]
        while not training.finished:
            training.iterate()
        training.finish()
    assert mulex("collect", str(old)).text.splitlines()[-1] == "12 runs, 48 rows of curves"
    assert mulex("verify", str(old)).code == 0
    assert not list(old.glob("checkpoints/*/*"))
    _compare_with_the_run_that_was_not_stopped(old)


def _compare_with_the_run_that_was_not_stopped(old: Path) -> None:
    """On processors with other vector instructions the native engine rounds differently; then only counts agree."""
    for path in (DATA / "old_sweep_rest").glob("*.parquet"):
        name = f"runs/mulex/{path.name}"
        then, now = (parse_run_file(content, name, "") for content in (path.read_bytes(), (old / name).read_bytes()))
        assert len(now.curve) == len(then.curve) == 4
        assert now.config["training"].items() >= then.config["training"].items(), "settings may be added"
        assert RunConfig.model_validate(now.config) == RunConfig.model_validate(then.config)
        if now.curve["loss_task"][-1] == then.curve["loss_task"][-1]:
            assert {key: now.row[key] for key in COMPARED} == {key: then.row[key] for key in COMPARED}
            assert now.curve.drop(["seconds"]).equals(then.curve.drop(["seconds"]))


@pytest.mark.parametrize("name", RUN_IDS)
def test_the_run_ids_of_shipped_specs_stay(name: str, tmp_path: Path) -> None:
    spec = sweeps.load_spec(name)
    ids = [run.run_id for run in make_plan(spec, open_folder(tmp_path)).runs()]
    digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
    assert {"runs": len(ids), "first": ids[0], "sha256": digest, "spec_hash": spec.outcome_hash()} == RUN_IDS[name]


@pytest.mark.parametrize("folder", RESULTS)
def test_published_results_load_and_are_complete(folder: str) -> None:
    tables = load_tables([str(ROOT / folder)])
    assert tables.complete.is_planned
    assert tables.complete.note() == ""
