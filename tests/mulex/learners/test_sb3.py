"""Stable-Baselines3's algorithms as learners: trained for a moment, resumed exactly, and their arguments checked."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("stable_baselines3")

from mulex.errors import UserError
from mulex.learners.engine import LearnerEngine
from mulex.learners.names import LearnerName
from mulex.learners.registry import describe
from mulex.learners.sb3_arguments import ALGORITHMS, check_names, constructor_arguments
from mulex.learners.signatures import REQUIRED
from tests.mulex.learners.support import CART_POLE, make_run, python_engine, rows_of

PENDULUM = {"id": "Pendulum-v1", "kwargs": {}}
SMALL: dict[str, dict[str, Any]] = {
    "PPO": {"n_steps": 48, "batch_size": 16, "n_epochs": 2, "policy_kwargs.net_arch": "8x8", "n_envs": 2},
    "A2C": {"n_steps": 8, "learning_rate.linear": 1e-3, "policy_kwargs.activation_fn": "ReLU"},
    "DQN": {"buffer_size": 100, "learning_starts": 20, "target_update_interval": 30, "n_steps": 2},
    "SAC": {"buffer_size": 500, "learning_starts": 20, "batch_size": 8, "use_sde": True, "train_freq": 4},
    "TD3": {"buffer_size": 500, "learning_starts": 20, "batch_size": 8, "action_noise.ornstein_uhlenbeck": 0.1},
    "DDPG": {"buffer_size": 500, "learning_starts": 20, "batch_size": 8, "action_noise.normal": 0.1},
}
TRAINING = {"steps_per_iteration": 60, "evaluation_episodes": 1}


def sb3_engine(algorithm: str, scratch: Path, run_id: str = "one", **settings: Any) -> LearnerEngine:
    world = PENDULUM if algorithm in ("SAC", "TD3", "DDPG") else CART_POLE
    settings = {"values": SMALL[algorithm], "world": world, "training": TRAINING, **settings}
    return python_engine(f"sb3:{algorithm}", make_run(scratch, run_id=run_id, **settings))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_resumed_rows_equal_undisturbed_ones(tmp_path: Path, algorithm: str) -> None:
    undisturbed, stopped, resumed, other = (
        sb3_engine(algorithm, tmp_path / name, "two" if name == "d" else "one") for name in "abcd"
    )
    rows = rows_of(undisturbed, 4)
    assert rows_of(stopped, 2) == rows[:2]
    resumed.load(stopped.save())
    assert rows_of(resumed, 2) == rows[2:]
    assert rows_of(other, 2) != rows[:2]
    assert rows[3]["env_steps"] >= 4 * 60
    assert any("loss" in name for name in rows[3])
    assert undisturbed.updates > 0
    for engine in (undisturbed, stopped, resumed, other):
        engine.close()


def test_rollouts_are_not_cut_and_steps_do_not_drift(tmp_path: Path) -> None:
    values = {"n_steps": 100, "batch_size": 50, "n_epochs": 1}
    engine = sb3_engine("PPO", tmp_path / "a", values=values, iterations=5)
    rows = rows_of(engine, 5)
    assert [row["env_steps"] for row in rows] == [100, 200, 200, 300, 300]
    assert "train_loss" not in rows[2]
    engine.close()


def test_exploration_falls_over_the_whole_run(tmp_path: Path) -> None:
    values = {"buffer_size": 100, "exploration_fraction": 1.0, "exploration_final_eps": 0.0, "learning_starts": 1000}
    engine = sb3_engine("DQN", tmp_path / "a", values=values)
    rates = []
    for _ in range(4):
        engine.iterate()
        rates.append(engine._adapter._model.exploration_rate)  # type: ignore[union-attr]
    assert rates == pytest.approx([0.75, 0.5, 0.25, 0.0], abs=0.02)
    engine.close()


def test_a_grid_world_of_ours_is_a_world_too(tmp_path: Path) -> None:
    world = {"map": "two_rooms", "room_size": 3, "time_limit": 20}
    engine = sb3_engine("A2C", tmp_path / "a", world=world)
    assert rows_of(engine, 1)[0]["eval_episode_length"] == 20
    engine.close()


def test_every_argument_is_a_hyperparameter_with_its_default() -> None:
    description = describe(LearnerName.of("sb3:PPO"))
    defaults = description.hyperparameters.defaults
    assert {"learning_rate": 3e-4, "n_steps": 2048, "use_sde": False, "n_envs": 1}.items() <= defaults.items()
    assert REQUIRED not in defaults.values()
    assert not {"seed", "env", "device", "verbose"} & set(defaults)
    assert description.resumable
    assert set(description.libraries) == {"stable-baselines3", "gymnasium", "torch"}
    assert all(description.libraries.values())


def test_texts_become_what_sb3_wants() -> None:
    import torch

    made = constructor_arguments(
        "PPO",
        {
            "policy_kwargs.net_arch.pi": "32x16",
            "policy_kwargs.net_arch.vf": [8],
            "policy_kwargs.activation_fn": "Tanh",
            "policy_kwargs": {"ortho_init": False},
            "n_steps": 64.0,
            "clip_range.linear": 0.2,
        },
        actions=1,
    )
    inner = made["policy_kwargs"]
    assert inner["net_arch"] == {"pi": [32, 16], "vf": [8]}
    assert inner["activation_fn"] is torch.nn.Tanh
    assert inner["ortho_init"] is False
    assert isinstance(made["n_steps"], int)
    assert made["clip_range"](0.5) == pytest.approx(0.1)
    assert constructor_arguments("DQN", {"train_freq": "2 episode"}, 1)["train_freq"] == (2, "episode")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"learnin_rate": 1}, "learnin_rate: sb3:PPO has no such argument.*did you mean 'learning_rate'"),
        ({"seed": 1}, "seed: is no hyperparameter of sb3:PPO; seeds are search.seeds"),
        ({"gamma.linear": 1}, "gamma.linear: no such argument of sb3:PPO, write gamma"),
        ({"learning_rate.cosine": 1}, "it has learning_rate.linear"),
    ],
)
def test_unknown_arguments_are_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        check_names("PPO", values)


@pytest.mark.parametrize(
    ("algorithm", "settings", "says"),
    [
        ("PPO", {"values": {"policy_kwargs.net_arch": "wide"}}, "policy_kwargs.net_arch: got"),
        ("PPO", {"values": {"policy_kwargs.activation_fn": "Relu"}}, "there is no 'Relu'; name a class of torch.nn"),
        ("SAC", {"world": CART_POLE}, "sb3:SAC: refused by Stable-Baselines3: The algorithm only supports"),
        ("DQN", {"world": {"id": "NoSuch-v0"}}, "world NoSuch-v0: gymnasium.make refused it"),
    ],
)
def test_what_sb3_refuses_is_said_in_a_line(
    tmp_path: Path, algorithm: str, settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        sb3_engine(algorithm, tmp_path / "a", **settings).iterate()


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(UserError, match=r"sb3:PPPO: no such algorithm, there are .*did you mean 'PPO'"):
        describe(LearnerName.of("sb3:PPPO"))
