"""`mulex export`: every run is one entry with its true values and its whole curve, read back by the tracker itself."""

import json
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest

from mulex.store.folder import open_folder
from mulex.store.layout import run_name
from mulex.store.run_file import read_run_file
from sweeps.inventory import freeze_spec, record_failure
from sweeps.plan import make_plan
from sweeps.trackers import targets
from tests.support.sweeps import as_spec, files, mulex, tiny, train_alone
from tests.sweeps.trackers import readers
from tests.sweeps.trackers.readers import Seen

SPEC = tiny(training={"iterations": 3, "steps_per_iteration": 30})


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of eight runs, the first of which failed."""
    out = tmp_path_factory.mktemp("export") / "out"
    train_alone(SPEC, out)
    spec, folder = as_spec(SPEC), open_folder(out)
    freeze_spec(folder, spec)
    plan = make_plan(spec, folder)
    run = next(iter(plan.runs()))
    folder.remove(run_name(run.method, run.run_id))
    record_failure(folder, plan, run, "ZeroDivisionError: division by zero", spec.outcome_hash(), 1)
    return out


def expected(out: Path) -> dict[str, Seen]:
    """What a tracker should have: values and status by the plan and the run files."""
    spec, folder = as_spec(SPEC), open_folder(out)
    plan = make_plan(spec, folder)
    seen = {}
    for run in plan.runs():
        file = read_run_file(folder, run_name(run.method, run.run_id))
        labels = {"run": run.run_id, "world": run.world, "method": run.method, "draw": run.draw, "seed": run.seed}
        labels["role"] = run.role
        rows = file.curve.to_pylist()
        kept = [
            n for n in file.curve.schema.names if n not in (*labels, "iteration") and rows and rows[0][n] is not None
        ]
        curves = {n: [(row["iteration"], row[n]) for row in rows if row[n] is not None] for n in kept}
        values = plan.values[run.method][run.draw]
        seen[run.run_id] = Seen({**labels, "sweep": "tiny", **values}, curves, file.row["status"])
    return seen


def check(found: dict[str, Seen], out: Path, rel: float = 1e-12) -> None:
    """One entry a run, with every value, every column at every iteration once, and its status."""
    wanted = expected(out)
    assert found.keys() == wanted.keys()
    for run, seen in found.items():
        values = {name: seen.parameters[name] for name in wanted[run].parameters}
        texts = {name: str(value) for name, value in wanted[run].parameters.items()}
        assert values == wanted[run].parameters or values == texts
        assert seen.status == wanted[run].status
        for name, points in wanted[run].curves.items():
            assert [step for step, _ in seen.curves[name]] == [step for step, _ in points], name
            assert [x for _, x in seen.curves[name]] == pytest.approx([x for _, x in points], rel=rel), name


def read_csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


def read_json(path: Path) -> pd.DataFrame:
    return pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])


def send(out: Path, target: str, says: str = "8 runs sent") -> None:
    answer = mulex("export", str(out), "--to", target)
    assert answer.code == 0, answer.text
    assert says in answer.text


class TestReadBack:
    """Each tracker's own reader finds the runs, and the same command again changes nothing."""

    def test_tensorboard(self, out: Path, tmp_path: Path) -> None:
        target = f"tensorboard:{tmp_path}"
        send(out, target)
        check(readers.tensorboard(tmp_path), out, rel=1e-6)  # TensorBoard keeps 32 bits
        before = files(tmp_path)
        send(out, target, "up to date")
        assert files(tmp_path) == before

    @pytest.mark.filterwarnings("ignore")
    def test_mlflow(self, out: Path, mlflow_uri: str) -> None:
        send(out, f"mlflow:{mlflow_uri}")
        check(readers.mlflow(mlflow_uri, "tiny"), out)
        send(out, f"mlflow:{mlflow_uri}", "up to date")
        check(readers.mlflow(mlflow_uri, "tiny"), out)

    @pytest.mark.filterwarnings("ignore")
    def test_wandb(self, out: Path, tmp_path: Path) -> None:
        target = f"wandb:{tmp_path}/wb"
        send(out, target)
        check(readers.wandb_offline(tmp_path / "wb"), out)
        send(out, target, "up to date")
        check(readers.wandb_offline(tmp_path / "wb"), out)

    def test_csv_and_json(self, out: Path, tmp_path: Path) -> None:
        answer = mulex("export", str(out), "--to", f"csv:{tmp_path}/csv", "--to", f"json:{tmp_path}/json")
        assert answer.code == 0, answer.text
        for form, read in (("csv", read_csv), ("jsonl", read_json)):
            folder = tmp_path / form.removesuffix("l")
            runs = read(folder / f"runs.{form}")
            found = {}
            for row in runs.to_dict("records"):
                path = folder / "curves" / row["method"] / f"{row['run']}.{form}"
                curve = read(path) if path.read_text().strip() else pd.DataFrame()
                points = {n: list(zip(curve["iteration"], curve[n], strict=True)) for n in curve if n != "iteration"}
                found[row["run"]] = Seen(row, points, row["status"])
            check(found, out)
        before = files(tmp_path)
        send(out, f"csv:{tmp_path}/csv", "up to date")
        assert files(tmp_path) == before

    def test_optuna(self, out: Path, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/optuna.db"
        send(out, f"optuna:{url}")
        send(out, f"optuna:{url}", "up to date")
        wanted = expected(out)
        trials = [
            trial
            for method in ("epsilon_greedy", "mulex")
            for trial in optuna.load_study(study_name=f"tiny/small/{method}", storage=url).trials
        ]
        assert len(trials) == 8
        for trial in trials:
            run = wanted[trial.user_attrs["run"]]
            assert trial.params.items() <= run.parameters.items()
            assert {"learning_rate"} <= trial.params.keys()
            assert trial.user_attrs["seed"] == run.parameters["seed"]
            assert trial.state.name == ("FAIL" if run.status == "failed" else "COMPLETE")
            if run.status != "failed":
                assert list(trial.intermediate_values.items()) == run.curves["eval_return"]
                name = run_name(trial.user_attrs["method"], trial.user_attrs["run"])
                row = read_run_file(open_folder(out), name).row
                assert trial.datetime_start.astimezone() == row["started_at"]
                assert trial.datetime_complete.astimezone() == row["finished_at"]
        study = optuna.load_study(study_name="tiny/small/mulex", storage=url)
        assert study.metric_names == ["score"]
        assert study.user_attrs == {"sweep": "tiny", "world": "small", "method": "mulex"}

    def test_rliable(self, out: Path, tmp_path: Path) -> None:
        """The failed run has no score, so it has no line."""
        send(out, f"rliable:{tmp_path}/scores.npz")
        with np.load(tmp_path / "scores.npz") as file:
            scores = dict(file)
        assert scores["worlds"].tolist() == ["small"]
        assert (scores["epsilon_greedy"].shape, scores["mulex"].shape) == ((3, 1), (4, 1))
        runs = pd.read_parquet(out / "runs.parquet")
        of_mulex = runs[runs["method"] == "mulex"].sort_values(["draw", "seed"])
        assert scores["mulex"][:, 0].tolist() == of_mulex["normalised_auc"].tolist()


def test_an_archive_of_two_tables(out: Path, tmp_path: Path) -> None:
    """A folder with tables alone, as archives have it, gives the same."""
    archive = tmp_path / "archive"
    archive.mkdir()
    assert mulex("collect", str(out)).code == 0
    for name in ("runs.parquet", "curves.parquet", "spec.yaml"):
        (archive / name).write_bytes((out / name).read_bytes())
    send(archive, f"json:{tmp_path}/json")
    lines = [json.loads(line) for line in (tmp_path / "json/runs.jsonl").read_text().splitlines()]
    wanted = expected(out)
    assert {line["run"]: line["status"] for line in lines} == {run: seen.status for run, seen in wanted.items()}
    assert all(seen.parameters.items() <= line.items() for line in lines if (seen := wanted[line["run"]]))


class TestMistakes:
    """A target that cannot be used is refused before anything is written."""

    @pytest.mark.parametrize(
        ("target", "says"),
        [
            ("tensorbord:x", "did you mean 'tensorboard'?"),
            ("tensorboard", "say where"),
            ("optuna:nonsense", "cannot be opened"),
            ("tensorboard:s3://bucket/x", "writes to a disk"),
        ],
    )
    def test_refused(self, target: str, says: str, out: Path) -> None:
        before = files(out)
        answer = mulex("export", str(out), "--to", target)
        assert (answer.code, files(out)) == (2, before)
        assert says in answer.text

    def test_nobody_is_logged_in(self, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        for name in ("WANDB_API_KEY", "WANDB_MODE", "NETRC"):
            monkeypatch.delenv(name, raising=False)
        answer = mulex("export", str(out), "--to", "wandb")
        assert answer.code == 2
        assert "wandb login" in answer.text

    def test_a_tracker_that_is_not_installed(self, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(targets.PACKAGES, "csv", "nowhere")  # as if csv needed a package
        monkeypatch.setattr(targets.importlib.util, "find_spec", lambda name: None)
        answer = mulex("export", str(out), "--to", "csv:x")
        assert answer.code == 2
        assert "pip install 'mulex[trackers]'" in answer.text
