"""Runs that fail or diverge, specs that cannot be trained, and packs that a scheduler stops: on a real Ray."""

import json
from pathlib import Path

import pandas as pd
import pytest
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from mulex.learners.dqn.engines import make_engine
from sweeps.execution.schedulers import make_scheduler
from sweeps.execution.task import make_task
from tests.support.broken_env import arm, reset_seed
from tests.support.sweeps import (
    RAY_MARKS,
    Plain,
    Process,
    assert_same_tables,
    files,
    gym_spec,
    launch,
    mulex,
    plan_of,
    run_files,
    tables,
    tiny,
    train_alone,
    write_spec,
)

pytest_plugins = ["tests.support.ray_plugin"]
pytestmark = RAY_MARKS


def statuses(out: Path) -> dict[str, int]:
    """How many runs ended how."""
    return dict(pd.read_parquet(out / "runs.parquet")["status"].value_counts())


class TestFailing:
    """A run that crashes takes no other down, a worker that dies is replaced."""

    def test_a_crashing_run_is_recorded_and_tried_again_by_the_next_launch(self, tmp_path: Path) -> None:
        out, control = tmp_path / "out", tmp_path / "control.json"
        spec = gym_spec(control, search={"draws": 1, "seeds": 3}, training={"iterations": 2})
        victim = list(plan_of(spec).runs())[1]
        arm(control, {reset_seed(victim.run_id, 12): "raise"})
        answer = launch(spec, out)
        assert answer.code == 1, answer.text
        words = f"failed: epsilon_greedy in broken, draw 0, seed 1 ({victim.run_id}): RuntimeError: the environment is"
        assert words in answer.text
        assert "Traceback" not in answer.text
        assert statuses(out) == {"done": 2, "failed": 1}
        row = tables(out)["runs"].set_index("run").loc[victim.run_id]
        assert row["error"].startswith("RuntimeError: the environment is broken")
        assert mulex("verify", str(out)).code == 1
        said = json.loads(mulex("status", str(out), "--json").text)
        assert [failure["run"] for failure in said["failures"]] == [victim.run_id]
        mates = {run: moment for run, moment in run_files(out).items() if run != victim.run_id}

        control.unlink()
        answer = launch(spec, out)
        assert answer.code == 0, answer.text
        assert mates.items() <= run_files(out).items()
        train_alone(spec, tmp_path / "alone")
        assert_same_tables(out, tmp_path / "alone")

    def test_a_worker_that_dies_is_replaced_and_leaves_no_trace(self, tmp_path: Path) -> None:
        """One ends its process, another is killed; their packs go on from their checkpoints elsewhere."""
        out, control = tmp_path / "out", tmp_path / "control.json"
        once = {"max_failures": 1, "checkpoint_every": 1e-3}
        spec = gym_spec(control, search={"draws": 2, "seeds": 2}, training={"iterations": 3}, execution=once)
        runs = list(plan_of(spec).runs())
        arm(control, {reset_seed(runs[1].run_id, 15): "exit", reset_seed(runs[2].run_id, 25): "kill"})
        answer = launch(spec, out)
        assert answer.code == 0, answer.text
        assert json.loads(control.read_text()) == {}, "both struck"
        train_alone(spec, tmp_path / "alone")
        assert_same_tables(out, tmp_path / "alone")

    def test_a_run_that_diverges_is_no_failure_of_its_pack(self, tmp_path: Path) -> None:
        """It is recorded as diverged, costs exit code 1, and is not trained again."""
        out = tmp_path / "out"
        methods = {"epsilon_greedy": {"learning_rate": {"uniform": [9, 10]}, "epsilon": 0.1}}
        spec = tiny(methods=methods, search={"seeds": 1}, training={"input_scale": 1e6})
        answer = launch(spec, out)
        assert answer.code == 1, answer.text
        assert "diverged: epsilon_greedy in small" in answer.text
        before = run_files(out)
        assert launch(spec, out).code == 1
        assert run_files(out) == before


def returns_at_first(spec: Plain) -> list[float]:
    """The evaluation return of each run after an iteration."""
    plan = plan_of(spec)
    engines = [
        make_engine(
            "auto", "cpu", [plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed)]
        )
        for run in plan.runs()
    ]
    return [float(engine.iterate()[0]["eval_return"] or 0.0) for engine in engines]


class TestMistakes:
    """What cannot be trained is refused before the folder belongs to it."""

    @pytest.mark.parametrize(
        ("changes", "options", "says"),
        [
            (
                {"worlds": {"a": {"id": "Nope-v0"}}, "methods": {"epsilon_greedy": {}}},
                [],
                "Environment `Nope` doesn't exist",
            ),
            ({"training": {"body": "textured"}}, [], "too small for a 8 x 8 kernel"),
        ],
    )
    def test_nothing_is_kept(self, changes: Plain, options: list[str], says: str, tmp_path: Path) -> None:
        answer = launch(tiny(**changes), tmp_path / "out", *options)
        assert answer.code == 2, answer.text
        assert says in answer.text
        assert files(tmp_path / "out") == {}

    def test_an_address_where_nobody_answers(self, tmp_path: Path) -> None:
        with Process(
            "sweep", write_spec(tmp_path, tiny()), "--out", f"{tmp_path}/out", "--address", "127.0.0.1:1"
        ) as it:
            answer = it.wait()
        assert answer.code == 2, answer.text
        assert "no Ray cluster answers there" in answer.text
        assert files(tmp_path / "out") == {}


class TestTunesOwn:
    """Schedulers of Ray Tune."""

    @pytest.mark.parametrize("name", ["asha", "median_stopping"])
    def test_a_scheduler_compares_packs_with_their_like_alone(self, name: str) -> None:
        """A pack that is far behind those of another world or method goes on; one behind its own kind does not."""
        worlds = {"easy": {"room_size": 3}, "large": {"room_size": 9}}
        plan = plan_of(tiny(worlds=worlds, search={"draws": 10}, execution={"scheduler": name}))
        packs = plan.packs(list(plan.runs()), 1)
        scheduler = make_scheduler(plan.spec)
        assert scheduler is not None

        def decide(world: str, method: str, score: float) -> str:
            pack = packs.pop(next(i for i, pack in enumerate(packs) if (pack.world, pack.method) == (world, method)))
            trial = Trial("packs", config=make_task(plan, pack, "/nowhere", "hash", 1).as_config(), stub=True)
            scheduler.on_trial_add(None, trial)
            return scheduler.on_trial_result(None, trial, {"iteration": 1, "time_total_s": 1, "score": score})

        for _ in range(8):
            decide("easy", "mulex", 1.5)
        assert decide("large", "mulex", 0.4) == TrialScheduler.CONTINUE
        assert decide("easy", "epsilon_greedy", 0.4) == TrialScheduler.CONTINUE
        assert decide("easy", "mulex", 0.4) == TrialScheduler.STOP

    def test_a_scheduler_stops_packs_early_and_trackers_know(self, tmp_path: Path) -> None:
        """One pack after another, none of which learns: the worse ones are stopped, once for all."""
        out = tmp_path / "out"
        methods = {"epsilon_greedy": {"learning_rate": 0, "epsilon": {"uniform": [0.1, 0.2]}}}
        execution = {"scheduler": "asha", "callbacks": ["json"], "max_concurrent": 1}
        specs = (
            gym_spec(
                Path("/nowhere"),
                methods=methods,
                search={"draws": 3, "seeds": 1, "seed": seed},
                training={"iterations": 40, "steps_per_iteration": 100},
                execution=execution,
            )
            for seed in range(100)
        )
        spec = next(spec for spec in specs if returns_at_first(spec) == [10.0, 0.0, 0.0])
        answer = launch(spec, out)
        assert answer.code == 0, answer.text
        runs = tables(out)["runs"].set_index("draw")
        assert runs["status"].tolist() == ["done", "stopped", "stopped"]
        assert runs["iterations"][0] == 40
        assert runs["iterations"][1:].between(4, 39).all()
        assert len(tables(out)["curves"]) == runs["iterations"].sum()
        assert not list(out.glob("checkpoints/*/*.npz"))
        tracked = [json.loads(line) for line in (out / "logs/json/runs.jsonl").read_text().splitlines()]
        assert {run["draw"]: (run["status"], run["sent"]) for run in tracked} == {
            draw: (row["status"], row["iterations"]) for draw, row in runs.iterrows()
        }
        assert len((out / f"logs/json/curves/epsilon_greedy/{runs['run'][0]}.jsonl").read_text().splitlines()) == 40
        before = run_files(out)
        assert launch(spec, out).code == 0
        assert run_files(out) == before
