"""The plan: ids that agree with the runs themselves, and packs that have each missing run exactly once."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.completeness import planned_counts
from mulex.config import LIMITS, GymWorldConfig, TrainingConfig
from mulex.methods import METHODS, with_bonus
from mulex.store.entry import RunEntry, entry_of_row
from mulex.store.folder import open_folder
from mulex.training import Pack
from sweeps.execution.task import make_task
from sweeps.plan import Family, Plan, PlannedRun
from sweeps.spec import parse_spec
from tests.support.sweeps import Plain, as_spec, plan_of, tiny

TWO_WORLDS = {
    "small": {"map": "two_rooms", "room_size": 3},
    "hard": {"map": "two_rooms", "room_size": 4, "hard": True, "training": {"iterations": 2}},
}
PLAN = plan_of(tiny(worlds=TWO_WORLDS, search={"draws": 5, "seeds": 3, "first_seed": 7}))
RUNS = list(PLAN.runs())


def a_value(name: str) -> st.SearchStrategy[float]:
    """Any that a run may have, whole numbers and very small ones included."""
    low, high = LIMITS[name]
    most = min(high, 0.5) if name in ("p_task", "p_1") else high
    return st.floats(low, most) | st.sampled_from([low, 1e-7, 0.1, 0.30000000000000004])


@pytest.mark.parametrize("world", ["small", "hard", "gym"])
@pytest.mark.parametrize("method", METHODS)
@given(data=st.data(), seed=st.integers(0, 2**62))
@settings(max_examples=40, deadline=None)
def test_the_quick_id_is_the_id_of_the_run(method: str, world: str, data: st.DataObject, seed: int) -> None:
    recipe = METHODS[method]
    config = PLAN.spec.world(world) if world != "gym" else GymWorldConfig(id="Gym-v1", kwargs={"b": 1, "a": "ü"})
    family = Family(world, config, method, recipe, TrainingConfig(iterations=3, discount=0.5))
    values = {name: data.draw(a_value(name), label=name) for name in recipe.hyperparameters}
    assert family.run_id(values, seed) == family.run(values, seed).run_id


def test_the_quick_id_is_the_id_of_the_run_on_another_bonus() -> None:
    recipe = with_bonus(METHODS["mulex"], "simhash")
    family = Family("small", PLAN.spec.world("small"), "mulex", recipe, TrainingConfig())
    values = dict(recipe.hyperparameters)
    assert family.run_id(values, 3) == family.run(values, 3).run_id
    assert family.run_id(values, 3) != RUNS[0].run_id


def test_every_run_is_planned_once() -> None:
    assert len(RUNS) == len({run.run_id for run in RUNS}) == 2 * 2 * 5 * 3
    assert {(run.world, run.method, run.draw, run.seed) for run in RUNS} == {
        (world, method, draw, seed)
        for world in TWO_WORLDS
        for method in ("epsilon_greedy", "mulex")
        for draw in range(5)
        for seed in (7, 8, 9)
    }


def test_every_world_meets_the_same_draws() -> None:
    """What is drawn is by method, so runs of two worlds can be compared draw by draw."""
    first, second = (PLAN.families[world, "mulex"] for world in TWO_WORLDS)
    assert first.training.iterations != second.training.iterations
    values = [[family.run(PLAN.values["mulex"][draw], 0).values for draw in range(5)] for family in (first, second)]
    assert values[0] == values[1]


def test_a_sweep_that_is_cut_short_is_balanced() -> None:
    """The methods take turns, draw by draw."""
    first = [(run.method, run.draw) for run in RUNS[:12]]
    assert first == [(method, draw) for draw in (0, 1) for method in ("epsilon_greedy", "mulex") for _ in range(3)]


@given(chosen=st.sets(st.integers(0, len(RUNS) - 1)), draws_per_pack=st.integers(1, 7))
@settings(max_examples=200, deadline=None)
def test_packing_covers_each_missing_run_once(chosen: set[int], draws_per_pack: int) -> None:
    missing = [RUNS[i] for i in sorted(chosen)]
    packs = PLAN.packs(missing, draws_per_pack)
    packed = [run for pack in packs for run in pack.runs]
    assert sorted(packed, key=RUNS.index) == missing
    for pack in packs:
        assert {(run.world, run.method) for run in pack.runs} == {(pack.world, pack.method)}
        assert len({run.draw // draws_per_pack for run in pack.runs}) == 1
    assert len({pack.name for pack in packs}) == len(packs)


@given(chosen=st.sets(st.integers(0, len(RUNS) - 1)), draws_per_pack=st.integers(1, 7))
@settings(max_examples=100, deadline=None)
def test_what_a_resume_trains_is_the_complement_of_what_is_done(chosen: set[int], draws_per_pack: int) -> None:
    """Done and packed together are the whole plan, and they have nothing in common."""
    done = {RUNS[i].run_id for i in chosen}
    packs = PLAN.packs([run for run in PLAN.runs() if run.run_id not in done], draws_per_pack)
    packed = [run.run_id for pack in packs for run in pack.runs]
    assert len(packed) + len(done) == len(RUNS)
    assert set(packed) | done == {run.run_id for run in RUNS}


def test_the_seeds_of_a_draw_are_one_pack_by_default() -> None:
    packs = PLAN.packs(RUNS, 1)
    assert len(packs) == 2 * 2 * 5
    assert all([run.seed for run in pack.runs] == [7, 8, 9] for pack in packs)


def test_a_worker_trains_the_runs_that_were_planned() -> None:
    """The task that is sent to it gives the same ids, and the pack the same name, so that it finds its checkpoint."""
    for pack in PLAN.packs(RUNS, 2):
        task = make_task(PLAN, pack, "/nowhere", "hash", 1)
        assert [run.run_id for run in task.runs] == [run.run_id for run in pack.runs]
        assert task.labels.draws == [run.draw for run in pack.runs]
        assert Pack(list(task.runs), task.labels).name == pack.name == task.name


def shuffled(plain: Any, order: Any) -> Any:
    """The same data with the keys of every mapping in another order."""
    if not isinstance(plain, dict):
        return plain
    keys = sorted(plain)
    order.shuffle(keys)
    return {key: shuffled(plain[key], order) for key in keys}


@given(order=st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_ids_do_not_depend_on_the_order_of_keys(order: Any) -> None:
    plain = tiny(worlds=TWO_WORLDS, search={"draws": 3, "seeds": 2})
    again = parse_spec(json.dumps(shuffled(plain, order)), "spec.yaml")
    assert set(plan_of(again.resolved()).runs()) == set(plan_of(plain).runs())
    assert again.outcome_hash() == as_spec(plain).outcome_hash()


GROWN: dict[str, tuple[Plain, int]] = {
    "draws": (tiny(search={"draws": 5}), 12),
    "seeds": (tiny(search={"seeds": 3}), 4),
    "earlier seeds": (tiny(search={"first_seed": 0, "seeds": 4}), 8),
    "a method": (tiny(methods={**tiny()["methods"], "additive": {"beta": {"uniform": [0.1, 1.0]}}}), 4),
    "a world": (tiny(worlds={**tiny()["worlds"], "big": {"map": "two_rooms", "room_size": 4}}), 8),
}


@pytest.mark.parametrize("what", GROWN)
def test_growing_keeps_every_run_and_adds_the_new_ones(what: str) -> None:
    plain, new = GROWN[what]
    before = tiny(search={"first_seed": 2}) if what == "earlier seeds" else tiny()
    old, grown = set(plan_of(before).runs()), set(plan_of(plain).runs())
    assert old <= grown
    assert len(grown - old) == new


def test_a_repeated_draw_is_planned_once() -> None:
    """Two choices and six draws give two kinds of runs; the same run is not trained three times."""
    methods = {"epsilon_greedy": {"learning_rate": {"choice": [1e-3, 1e-4]}, "epsilon": 0.1}}
    plan = plan_of(tiny(methods=methods, search={"draws": 6, "seeds": 2}))
    runs = list(plan.runs())
    assert len(runs) == len({run.run_id for run in runs}) == 4
    assert {plan.values[run.method][run.draw]["learning_rate"] for run in runs} == {1e-3, 1e-4}


def test_a_hundred_thousand_runs_are_planned() -> None:
    plan = plan_of(tiny(search={"draws": 10_000, "seeds": 5}))
    runs = list(plan.runs())
    assert len({run.run_id for run in runs}) == 100_000
    assert len(plan.packs(runs, 1)) == 20_000


def test_a_plan_of_a_search_that_asks_as_it_goes_has_what_was_asked_for() -> None:
    spec = as_spec(tiny(search={"algorithm": "tpe"}))
    values = {"learning_rate": 1e-4, "epsilon": 0.1}
    plan = Plan(spec, {"epsilon_greedy": [values], "mulex": []})
    assert [(run.method, run.draw, run.seed) for run in plan.runs()] == [("epsilon_greedy", 0, s) for s in (0, 1)]


OWN_SETTINGS = {
    "mulex": {
        "optimiser": {"choice": ["adam", "rmsprop"]},
        "batch_size": {"choice": [16, 32]},
        "bootstrap_at_time_limit": {"choice": [True, False]},
        "rmsprop_decay": {"uniform": [0.5, 0.9], "when": {"optimiser": "rmsprop"}},
        "p_task": {"uniform": [0.5, 0.9], "when": {"batch_size": 16}},
    }
}


def test_a_methods_own_training_settings_are_those_of_its_runs() -> None:
    """Whole numbers stay whole, and a value without its condition leaves the default."""
    plan = plan_of(tiny(methods=OWN_SETTINGS, search={"draws": 40}))
    family = plan.families["small", "mulex"]
    for values in plan.values["mulex"]:
        run = family.run(values, 1)
        assert family.run_id(values, 1) == run.run_id
        assert run.values == values
        assert run.training.optimiser == values["optimiser"]
        assert type(run.training.batch_size) is int
        assert run.training.batch_size == values["batch_size"]
        assert run.training.bootstrap_at_time_limit is values["bootstrap_at_time_limit"]
        assert run.training.rmsprop_decay == (values["rmsprop_decay"] or 0.95)
        assert run.weight("p_task") == (values["p_task"] or run.recipe.hyperparameters["p_task"])
        assert run.training.iterations == 4


def test_only_runs_of_one_shape_are_packed_together() -> None:
    plan = plan_of(tiny(methods=OWN_SETTINGS, search={"draws": 40}))
    runs = list(plan.runs())
    packs = plan.packs(runs, 40)
    assert sum(len(pack.runs) for pack in packs) == len(runs)
    for pack in packs:
        task = make_task(plan, pack, "/nowhere", "hash", 1)
        assert len({run.shape for run in task.runs}) == 1
    adam = [pack for pack in packs if plan.values["mulex"][pack.runs[0].draw]["optimiser"] == "adam"]
    assert len(adam) == 4, "draws whose settings are equal are one pack"


def test_equal_draws_of_a_conditional_space_are_planned_and_counted_once(tmp_path: Path) -> None:
    """Half of the draws have no rate of their own and are all the same run."""
    methods = {
        "mulex": {
            "optimiser": {"choice": ["adam", "rmsprop"]},
            "rmsprop_decay": {"uniform": [0.5, 0.9], "when": {"optimiser": "rmsprop"}},
        }
    }
    plan = plan_of(tiny(methods=methods, search={"draws": 30, "seeds": 1}))
    with_rate = [values for values in plan.values["mulex"] if values["rmsprop_decay"] is not None]
    assert 0 < len(with_rate) < 29
    assert len(list(plan.runs())) == len(with_rate) + 1
    counts = planned_counts(plan.spec, open_folder(tmp_path))
    assert counts["small", "mulex"].draws == {0: len(with_rate) + 1}
    plan.search.record(open_folder(tmp_path), plan.values)
    assert json.loads((tmp_path / "draws/mulex.json").read_text()) == plan.values["mulex"]


def million() -> Plan:
    """A million runs, of which nobody wants to compute more than a few."""
    return plan_of(tiny(search={"draws": 250_000, "seeds": 2}))


def test_the_first_packs_of_a_million_runs_are_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = million()
    asked = []
    run_ids = Family.run_ids
    monkeypatch.setattr(Family, "run_ids", lambda family, values: asked.append(1) or run_ids(family, values))
    assert sum(plan.counts().values()) == 1_000_000
    packs = plan.pack_by_pack(plan.missing(()), 1)
    first = [next(packs) for _ in range(3)]
    assert [(pack.method, pack.runs[0].draw, len(pack.runs)) for pack in first] == [
        ("epsilon_greedy", 0, 2),
        ("mulex", 0, 2),
        ("epsilon_greedy", 1, 2),
    ]
    assert len(asked) < 10


def entry(planned: PlannedRun, **more: object) -> RunEntry:
    """What the store says of a run that was trained for another spec, unless told otherwise."""
    row = {"run": planned.run_id, "world": planned.world, "method": planned.method}
    row |= {"draw": planned.draw, "seed": planned.seed}
    return entry_of_row("", row | {"status": "done", "finished_at": None, "spec_hash": "other"} | more, 1, "")


def test_what_is_missing_is_found_without_ids_of_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [entry(run) for run in RUNS[3:-2]]
    assert list(PLAN.missing(there)) == [*RUNS[:3], *RUNS[-2:]]
    repeating = plan_of(tiny(search={"draws": 9}, methods={"mulex": {"p_task": {"choice": [0.5, 0.6]}}}))
    assert repeating.may_repeat
    runs = list(repeating.runs())
    assert sum(repeating.counts().values()) == len(runs) < 9 * 2
    assert list(repeating.missing([entry(run) for run in runs[1:]])) == runs[:1]


def test_a_finished_run_is_known_by_its_spec_or_by_its_id() -> None:
    run = RUNS[5]
    assert PLAN.has(entry(run))
    assert not PLAN.has(entry(run, run="0" * 16))
    assert PLAN.has(entry(run, spec_hash=PLAN.spec.outcome_hash()))
    for wrong in ({"draw": 10**6}, {"seed": 99}, {"world": "nowhere"}, {"method": "none"}):
        assert not PLAN.has(entry(run, spec_hash=PLAN.spec.outcome_hash(), **wrong))
