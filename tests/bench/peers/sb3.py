"""Stable-Baselines3's DQN set to the same workload.

What cannot be set: its loss is Huber's, and gradients are clipped. RMSProp is its own TensorFlow-like one.
"""

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.sb2_compat.rmsprop_tf_like import RMSpropTFLike
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

import mulex  # noqa: F401  (registers the world)
from tests.bench.peers.workload import EVALUATION_STEPS, REPLAY_SIZE, RMSPROP, STEPS
from tests.bench.plain_dqn import (
    BATCH,
    DISCOUNT,
    EPSILON,
    LEARNING_RATE,
    STACK,
    TARGET_EVERY,
    UPDATE_EVERY,
    WARM_UP,
)


class Convolutions(BaseFeaturesExtractor):
    """The paper's two convolutions; SB3 scales the pixels."""

    def __init__(self, observation_space: gymnasium.Space) -> None:
        super().__init__(observation_space, features_dim=384)
        self.layers = nn.Sequential(nn.Conv2d(STACK, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations)


def _env() -> gymnasium.Env:
    env = gymnasium.make("mulex/Montezuminha-v0")
    return Monitor(gymnasium.wrappers.FrameStackObservation(env, STACK, padding_type="reset"))


class StableBaselines3:
    """A model that learns on from where it stopped."""

    def __init__(self, seed: int = 0) -> None:
        self.evaluation_env = _env()
        self.model = DQN(
            "CnnPolicy",
            _env(),
            learning_rate=LEARNING_RATE,
            buffer_size=REPLAY_SIZE,
            learning_starts=WARM_UP,
            batch_size=BATCH,
            gamma=DISCOUNT,
            train_freq=UPDATE_EVERY,
            gradient_steps=1,
            target_update_interval=TARGET_EVERY,
            exploration_initial_eps=EPSILON,
            exploration_final_eps=EPSILON,
            replay_buffer_kwargs={"handle_timeout_termination": False},
            policy_kwargs={
                "features_extractor_class": Convolutions,
                "net_arch": [64],
                "optimizer_class": RMSpropTFLike,
                "optimizer_kwargs": RMSPROP,
            },
            seed=seed,
            device="cpu",
        )

    def iteration(self) -> float:
        self.model.learn(STEPS, log_interval=None, reset_num_timesteps=False)
        returns: list[float] = []
        steps = 0
        while steps < EVALUATION_STEPS:
            rewards, lengths = evaluate_policy(
                self.model, self.evaluation_env, n_eval_episodes=1, return_episode_rewards=True
            )
            returns += rewards
            steps += sum(lengths)
        return float(np.mean(returns))

    def counts(self) -> tuple[int, int, float]:
        loss = self.model.logger.name_to_value.get("train/loss", float("nan"))
        return self.model._n_updates, self.model.replay_buffer.size(), float(loss)
