"""The benchmark against peers counts its arithmetic rightly, and its table and figures say what was measured."""

import numpy as np
import pytest
import torch

from mulex.config import GridWorldConfig, TrainingConfig
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import make_run
from tests.bench.peers import flops, rounds
from tests.bench.peers.rounds import ENTRIES, Entry, Measured
from tests.bench.peers.table import figures_of, print_table
from tests.bench.plain_dqn import PlainDQN


def test_operations_of_a_pass_are_those_of_the_network() -> None:
    counted = 0
    pictures = torch.zeros(1, 4, 8, 7)
    for layer in PlainDQN().online:
        pictures = layer(pictures)
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
            inputs = layer.weight[0].numel()
            counted += 2 * pictures.numel() * inputs
    assert counted == flops.BODY + flops.HEAD == 194_816
    assert flops.FIRST == 2 * 30 * 36 * 16


def test_the_network_of_the_count_is_the_engine_s() -> None:
    engine = TorchEngine([make_run(GridWorldConfig(), "epsilon_greedy", TrainingConfig(replay_size=100))])
    weights = {name: array.shape for name, array in engine.weights(0).items() if not name.endswith("bias")}
    assert [int(np.prod(shape)) for shape in weights.values()] == [36 * 16, 144 * 32, 384 * 64, 64 * 4]


def test_saved_work_is_not_counted() -> None:
    work = {"samples": 64, "distinct": 50, "target_samples": 64, "target_computed": 9, "acted": 8, "acted_computed": 7}
    forward = flops.BODY + flops.HEAD
    assert flops.computed(work) == 50 * (3 * forward - flops.FIRST) + 16 * forward
    whole = work | {"distinct": 64, "target_computed": 64, "acted_computed": 8}
    assert flops.computed(whole) == flops.plain(updates=2, greedy_steps=8)


def test_a_second_head_learns_and_does_not_act() -> None:
    more = flops.plain(updates=2, greedy_steps=8, heads=2) - flops.plain(updates=2, greedy_steps=8)
    assert more == 64 * 4 * flops.HEAD
    assert flops.plain(updates=0, greedy_steps=8, heads=2) == flops.plain(updates=0, greedy_steps=8)


def test_figures_are_medians_of_ratios_within_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = {"native": [1.0, 2.0, 1.0], "native_mulex": [1.5, 3.0, 1.4], "sb3": [10.0, 20.0, 40.0]}
    seconds["native_counted"] = seconds["native"]
    seconds |= {"native_nothing_saved": [4.0, 4.0, 4.0], "native_nothing_saved_mulex": [5.0, 6.0, 4.0]}
    measured = Measured(seconds, {key: key for key in seconds}, [100.0] * 3, [50.0, 150.0, 60.0])
    figures = figures_of(measured)
    assert figures == {
        "native_seconds_per_paper_run": 800,
        "native_seconds_per_paper_run_mulex": 1200,
        "native_seconds_per_paper_run_counted": 800,
        "native_seconds_per_paper_run_nothing_saved": 3200,
        "native_seconds_per_paper_run_nothing_saved_mulex": 4000,
        "sb3_seconds_per_paper_run": 16_000,
        "native_vs_sb3": 10,
        "native_mulex_vs_one_head": 1.5,
        "native_mulex_vs_one_head_nothing_saved": 1.25,
        "native_fraction_of_sgemm_peak": 0.6,
    }
    print_table(measured, figures)
    assert "60% of the sgemm peak" in capsys.readouterr().out


def test_a_missing_peer_is_skipped_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert rounds._make(Entry("x", "Some peer", "not_there", "Peer", 1)) is None
    assert "Some peer is skipped" in capsys.readouterr().out


class Idle:
    """A peer that forgets to learn."""

    def __init__(self) -> None:
        self.iterations = 0

    def iteration(self) -> float:
        self.iterations += 1
        return 0.0

    def counts(self) -> tuple[int, int, float]:
        return 0, 2500 * self.iterations, 0.0


def test_a_peer_with_another_workload_is_refused() -> None:
    with pytest.raises(RuntimeError, match="not 0 updates"):
        rounds._warm_up(ENTRIES[0], Idle())
