"""The memory of a pack: estimated before it is allocated, and refused with numbers where it cannot be had."""

import gymnasium
import numpy as np
import pytest

from mulex.config import GymWorldConfig, TrainingConfig
from mulex.errors import UserError
from mulex.learners.dqn import memory
from mulex.learners.dqn.engines import make_engine
from mulex.learners.dqn.memory import in_units, machine_memory, memory_needs
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import make_run
from tests.support.agents import Case


class Huge(gymnasium.Env):
    """Every observation has 12 million bytes."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(0, 255, (2000, 2000, 3), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros((2000, 2000, 3), dtype=np.uint8), {}

    def step(self, action):
        return np.zeros((2000, 2000, 3), dtype=np.uint8), 0.0, False, False, {}


@pytest.fixture
def huge():
    gymnasium.register("Huge-v0", entry_point=Huge)
    yield "Huge-v0"
    del gymnasium.registry["Huge-v0"]


def test_a_replay_of_terabytes_is_refused_before_it_is_allocated(huge):
    run = make_run(GymWorldConfig(id=huge), "epsilon_greedy", TrainingConfig())
    with pytest.raises(UserError) as error:
        make_engine("auto", "cpu", [run])
    text = str(error.value)
    assert text.startswith("training.replay_size: this run needs about 24")
    assert "TB of memory" in text
    assert "for the replay" in text
    assert f"this machine has {in_units(machine_memory())}; lower replay_size" in text


def test_a_network_larger_than_the_memory_is_refused(huge):
    settings = TrainingConfig(hidden=65_536, replay_size=100, iterations=1, steps_per_iteration=1)
    run = make_run(GymWorldConfig(id=huge), "epsilon_greedy", settings)
    with pytest.raises(UserError, match=r"training.hidden: .* for the network's parameters.*; lower hidden, atoms$"):
        make_engine("auto", "cpu", [run])


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_a_pack_too_large_for_this_machine_says_so_and_fewer_runs_fit(engine, monkeypatch):
    case = Case("mulex", training={"replay_size": 50_000, "iterations": 1000})
    runs = [case.run(seed=seed) for seed in range(8)]
    monkeypatch.setattr(memory, "machine_memory", lambda: 12_000_000)
    with pytest.raises(UserError, match=r"this pack of 8 runs needs about .* or train fewer runs in a pack"):
        make_engine(engine, "cpu", runs)
    make_engine(engine, "cpu", runs[:1]).close()


@pytest.mark.parametrize("flavour", ["dqn", "rainbow"])
def test_the_estimate_is_what_the_arrays_take(flavour):
    case = Case("mulex", training={"flavour": flavour, "replay_size": 3000, "iterations": 1000, "hidden": 512})
    runs = [case.run(seed=seed) for seed in range(3)]
    engine = TorchEngine(runs)
    needs = {need.part: need.bytes for need in memory_needs(runs, engine.worlds, "torch")}
    rings = sum(ring.nbytes for ring in engine.replay._rings().values())
    rings += sum(level.nbytes for level in engine.priorities.levels) if engine.priorities else 0
    assert needs["the replay"] == pytest.approx(rings, rel=0.05)
    learner = engine.learner
    tensors = [learner.parameters, learner.target, learner.gradient, *learner.optimiser.state.values()]
    held = sum(tensor.nbytes for tensor in tensors)
    assert held <= needs["the network's parameters"] <= 3 * held


def test_only_steps_that_are_taken_count_for_the_replay():
    short = Case("mulex", training={"replay_size": 1_000_000, "iterations": 2}).run()
    long = Case("mulex", training={"replay_size": 1_000_000, "iterations": 500_000}).run()
    worlds = TorchEngine([short]).worlds
    parts = [{need.part: need.bytes for need in memory_needs([run], worlds, "torch")} for run in (short, long)]
    assert parts[0]["the replay"] < 10_000 < 1_000_000 * 10 < parts[1]["the replay"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(999, "999 bytes"), (1500, "1.5 kB"), (24_123_456_789_012, "24.1 TB"), (12 * 10**18, "12,000 PB")],
)
def test_bytes_are_written_for_people(count, text):
    assert in_units(count) == text
