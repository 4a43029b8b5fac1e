"""DQN organised as CleanRL's single-file scripts are: a vector of one environment, a buffer of NumPy arrays, torch.

Without what CleanRL's scripts also do: no TensorBoard, no video. The optimiser is torch's RMSProp, not Adam.
"""

import random

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn
from torch.nn import functional as F

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


def make_env() -> gymnasium.Env:
    env = gymnasium.make("mulex/Montezuminha-v0")
    env = gymnasium.wrappers.RecordEpisodeStatistics(env)
    return gymnasium.wrappers.FrameStackObservation(env, STACK, padding_type="reset")


class QNetwork(nn.Module):
    """The paper's network."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(STACK, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten(),
            nn.Linear(384, 64), nn.ReLU(), nn.Linear(64, 4),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x / 255.0)


class ReplayBuffer:
    """Rings of observations as they came."""

    def __init__(self, size: int, shape: tuple[int, ...]) -> None:
        self.observations, self.next_observations = (
            np.zeros((size, *shape), np.uint8),
            np.zeros((size, *shape), np.uint8),
        )
        self.actions, self.rewards = np.zeros((size, 1), np.int64), np.zeros(size, np.float32)
        self.dones = np.zeros(size, np.float32)
        self.size, self.written = size, 0

    def add(
        self, obs: np.ndarray, next_obs: np.ndarray, actions: np.ndarray, rewards: np.ndarray, dones: np.ndarray
    ) -> None:
        i = self.written % self.size
        self.observations[i], self.next_observations[i] = obs[0], next_obs[0]
        self.actions[i], self.rewards[i], self.dones[i] = actions[0], rewards[0], dones[0]
        self.written += 1

    def sample(self, batch: int) -> tuple[torch.Tensor, ...]:
        i = np.random.randint(0, min(self.written, self.size), batch)  # noqa: NPY002  (CleanRL seeds it globally)
        arrays = self.observations, self.next_observations, self.actions, self.rewards, self.dones
        return tuple(torch.from_numpy(array[i]) for array in arrays)


class CleanRLStyle:
    """The script's set-up, its loop and its evaluation."""

    def __init__(self, seed: int = 0) -> None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        self.envs = SyncVectorEnv([make_env], autoreset_mode=AutoresetMode.SAME_STEP)
        self.q_network, self.target_network = QNetwork(), QNetwork()
        self.target_network.load_state_dict(self.q_network.state_dict())
        self.optimizer = torch.optim.RMSprop(self.q_network.parameters(), lr=LEARNING_RATE, **RMSPROP)
        self.buffer = ReplayBuffer(REPLAY_SIZE, self.envs.single_observation_space.shape)
        self.obs, _ = self.envs.reset(seed=seed)
        self.global_step, self.updates, self.loss = 0, 0, 0.0

    def iteration(self) -> float:
        for _ in range(STEPS):
            self._step()
            if self.global_step > WARM_UP and self.global_step % UPDATE_EVERY == 0:
                self._learn()
            if self.global_step % TARGET_EVERY == 0:
                for target, online in zip(self.target_network.parameters(), self.q_network.parameters(), strict=True):
                    target.data.copy_(online.data)
        return self._evaluate()

    def _act(self, obs: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return torch.argmax(self.q_network(torch.Tensor(obs)), dim=1).numpy()

    def _step(self) -> None:
        if self.global_step < WARM_UP or random.random() < EPSILON:
            actions = np.array([self.envs.single_action_space.sample()])
        else:
            actions = self._act(self.obs)
        next_obs, rewards, terminations, truncations, infos = self.envs.step(actions)
        real_next_obs, dones = next_obs, terminations | truncations
        if dones[0]:
            real_next_obs = next_obs.copy()
            real_next_obs[0] = infos["final_obs"][0]
        self.buffer.add(self.obs, real_next_obs, actions, rewards, dones)
        self.obs = next_obs
        self.global_step += 1

    def _learn(self) -> None:
        observations, next_observations, actions, rewards, dones = self.buffer.sample(BATCH)
        with torch.no_grad():
            target_max, _ = self.target_network(next_observations).max(dim=1)
            td_target = rewards + DISCOUNT * target_max * (1 - dones)
        old_val = self.q_network(observations).gather(1, actions).squeeze()
        loss = F.mse_loss(td_target, old_val)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % 100 == 0:
            self.loss = loss.item()

    def _evaluate(self) -> float:
        envs = SyncVectorEnv([make_env], autoreset_mode=AutoresetMode.SAME_STEP)
        obs, _ = envs.reset()
        steps, returns = 0, []
        while True:
            obs, _, terminations, truncations, infos = envs.step(self._act(obs))
            steps += 1
            if terminations[0] or truncations[0]:
                returns.append(float(infos["final_info"]["episode"]["r"][0]))
                if steps >= EVALUATION_STEPS:
                    return float(np.mean(returns))

    def counts(self) -> tuple[int, int, float]:
        return self.updates, min(self.buffer.written, self.buffer.size), self.loss
