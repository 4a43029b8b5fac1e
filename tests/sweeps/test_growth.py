"""Longer runs: a sweep whose iterations grow goes on from kept checkpoints, bit for bit."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from mulex.config import RunConfig
from mulex.learners.dqn.engines import make_engine
from mulex.store.folder import open_folder
from mulex.store.run_store import RunStore
from mulex.training import Labels, Pack, PackTraining
from sweeps.growth import shorter_packs, with_growth
from sweeps.inventory import freeze_spec, take_stock
from sweeps.plan import make_plan
from tests.support.slow import SLOW
from tests.support.sweeps import (
    RAY_MARKS,
    Plain,
    as_spec,
    assert_same_bits,
    assert_same_tables,
    files,
    launch,
    mulex,
    plan_of,
    tables,
    tiny,
    train_alone,
)

pytest_plugins = ["tests.support.ray_plugin"]
KEPT = {"keep_checkpoints": True}
EVERYTHING = {
    "epsilon_decay_steps": 350,
    "bonus_decay_steps": 500,
    "flavour": "rainbow",
    "replay_size": 250,
    "target_period": 70,
}


def run_of(iterations: int, grown_from: int | None, training: Plain, method: str = "mulex") -> RunConfig:
    """One run of a small spec."""
    changes = {"iterations": iterations, **training} | ({"grown_from": grown_from} if grown_from else {})
    plan = plan_of(tiny(training=changes))
    return plan.families["small", method].run(plan.values[method][0], 1)


def train(run: RunConfig, folder: Path, engine: str, source: str = "") -> pd.DataFrame:
    """Train a run to its end and keep its checkpoint; returns its curve."""
    pack = Pack([run], Labels("tiny", "small", [0], "hash"))
    training = PackTraining(pack, make_engine(engine, "cpu", [run]), open_folder(folder), False, True, source)
    training.begin()
    begun = training.engine.iterations
    while not training.finished:
        training.iterate()
    training.finish()
    training.engine.close()
    return pd.DataFrame(pack.curves[0]).drop(columns="seconds").assign(begun=begun)


class TestRuns:
    """A longer run has another id, and the random numbers and bits of the run that it was."""

    def test_a_longer_run_has_another_id_and_the_same_streams(self) -> None:
        short, grown, long = run_of(4, None, {}), run_of(8, 4, {}), run_of(8, None, {})
        assert len({short.run_id, grown.run_id, long.run_id}) == 3
        assert grown.stream_id == short.run_id == short.stream_id
        assert long.stream_id == long.run_id

    @pytest.mark.parametrize("engine", ["torch", "native"])
    @pytest.mark.parametrize("training", [{}, EVERYTHING], ids=["plain", "everything"])
    def test_it_goes_on_bit_for_bit_as_if_it_had_been_long_from_the_start(
        self, engine: str, training: Plain, tmp_path: Path
    ) -> None:
        short = run_of(3, None, training)
        train(short, tmp_path / "a", engine)
        name = Pack([short], Labels("tiny", "small", [0], "hash")).name
        assert list((tmp_path / "a" / "kept" / name).glob("00000003-*.npz"))
        grown = train(run_of(6, 3, training), tmp_path / "a", engine, name)
        assert set(grown.pop("begun")) == {3}
        from_the_start = train(run_of(6, 3, training), tmp_path / "b", engine)
        assert set(from_the_start.pop("begun")) == {0}
        assert_same_bits(grown, from_the_start)
        assert not (tmp_path / "a" / "kept" / name).exists() or not list((tmp_path / "a" / "kept" / name).iterdir())

    def test_it_begins_again_if_what_was_kept_is_damaged(self, tmp_path: Path) -> None:
        short = run_of(2, None, {})
        train(short, tmp_path, "native")
        (kept,) = tmp_path.glob("kept/*/*.npz")
        kept.write_bytes(b"broken")
        grown = train(run_of(4, 2, {}), tmp_path, "native", kept.parent.name)
        assert set(grown["begun"]) == {0}

    def test_nothing_is_kept_unless_it_is_asked_for(self, tmp_path: Path) -> None:
        train_alone(tiny(), tmp_path)
        assert not (tmp_path / "kept").exists()


class TestSpecs:
    """What may grow, and what is refused."""

    def refused(self, before: Plain, after: Plain, tmp_path: Path) -> str:
        freeze_spec(open_folder(tmp_path / "out"), as_spec(before))
        there = files(tmp_path / "out")
        answer = launch(after, tmp_path / "out")
        assert answer.code == 2
        assert files(tmp_path / "out") == there
        return answer.text

    def test_without_kept_checkpoints_it_is_refused_with_what_to_do(self, tmp_path: Path) -> None:
        text = self.refused(tiny(), tiny(training={"iterations": 8}), tmp_path)
        assert "training.iterations: 4 -> 8 (runs can go on only if execution.keep_checkpoints was true" in text
        assert "use another --out" in text

    def test_iterations_that_shrink_are_refused(self, tmp_path: Path) -> None:
        text = self.refused(tiny(execution=KEPT), tiny(training={"iterations": 3}, execution=KEPT), tmp_path)
        assert "training.iterations: 4 -> 3 (runs cannot become shorter)" in text

    def test_the_first_length_is_remembered_through_several_growths(self, tmp_path: Path) -> None:
        folder = open_folder(tmp_path)
        freeze_spec(folder, as_spec(tiny(execution=KEPT)))
        for iterations in (8, 12, 12):
            spec = with_growth(folder, as_spec(tiny(training={"iterations": iterations}, execution=KEPT)))
            assert (spec.training_in("small").iterations, spec.training_in("small").grown_from) == (iterations, 4)
            freeze_spec(folder, spec)

    def test_a_new_world_is_long_from_the_start(self, tmp_path: Path) -> None:
        folder = open_folder(tmp_path)
        freeze_spec(folder, as_spec(tiny(execution=KEPT)))
        worlds = {**tiny()["worlds"], "other": {"map": "two_rooms", "room_size": 4}}
        spec = with_growth(folder, as_spec(tiny(training={"iterations": 8}, worlds=worlds)))
        assert spec.training_in("other").grown_from is None

    @pytest.mark.parametrize("grown_from", [0, 4, 5])
    def test_a_first_length_that_is_not_shorter_is_refused(self, grown_from: int, tmp_path: Path) -> None:
        answer = launch(tiny(training={"grown_from": grown_from}), tmp_path / "out")
        assert answer.code == 2
        assert "grown_from" in answer.text


class TestSweeps:
    """With a real Ray."""

    pytestmark = RAY_MARKS

    def test_a_grown_sweep_goes_on_and_is_that_of_long_runs(self, tmp_path: Path) -> None:
        out, short = tmp_path / "out", tiny(execution=KEPT)
        assert launch(short, out).code == 0
        starts = pd.read_parquet(out / "runs.parquet").set_index(["method", "draw", "seed"])["started_at"]
        longer = tiny(training={"iterations": 6}, search={"draws": 3, "seeds": 3}, execution=KEPT)
        answer = launch(longer, out)
        assert answer.code == 0, answer.text
        assert "added: training.iterations: 4 -> 6" in answer.text
        train_alone(
            tiny(training={"iterations": 6, "grown_from": 4}, search={"draws": 3, "seeds": 3}), tmp_path / "alone"
        )
        assert_same_tables(out, tmp_path / "alone")
        now = pd.read_parquet(out / "runs.parquet").set_index(["method", "draw", "seed"])["started_at"]
        assert (now[starts.index] == starts).all(), "their shorter runs were begun then"
        before = files(out)
        for command in ("resume", "collect", "verify"):
            answer = mulex(command, str(out))
            assert answer.code == 0, answer.text
        assert files(out, "runs") == {name: at for name, at in before.items() if name.startswith("runs/")}
        assert len(list(out.glob("kept/*/00000006-*.npz"))) == len(list(out.glob("kept/*/*.npz")))

    @SLOW
    def test_a_growth_that_was_interrupted_goes_on(self, tmp_path: Path) -> None:
        """The spec is frozen and nothing is trained: the packs still find the checkpoints of their shorter runs."""
        out, folder = tmp_path / "out", open_folder(tmp_path / "out")
        plain = tiny(execution=KEPT, search={"draws": 1})
        assert launch(plain, out).code == 0
        spec = with_growth(folder, as_spec(tiny(training={"iterations": 6}, execution=KEPT, search={"draws": 1})))
        freeze_spec(folder, spec)
        plan = make_plan(spec, folder)
        assert take_stock(RunStore(folder), plan).strangers == []
        assert len(list(shorter_packs(plan, folder))) == 2
        shutil.copytree(out, tmp_path / "copy")
        assert mulex("resume", str(out)).code == 0
        curves = tables(out)["curves"]
        assert curves.groupby("run")["iteration"].max().tolist() == [6] * 4
