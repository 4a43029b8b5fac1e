"""The yardstick: epsilon-greedy DQN on Montezuminha as a newcomer to torch would write it, one run at a time."""

from collections import deque

import gymnasium
import numpy as np
import torch
from torch import nn

import mulex  # noqa: F401  (registers the world)

STACK, BATCH, UPDATE_EVERY, TARGET_EVERY, WARM_UP = 4, 32, 4, 500, 1000
DISCOUNT, EPSILON, LEARNING_RATE = 0.97, 0.1, 2.5e-4


class PlainDQN:
    """One network, one replay of stacked frames, autograd, and torch's own RMSProp."""

    def __init__(self, seed: int = 0, size: int = 50_000) -> None:
        torch.manual_seed(seed)
        self.random = np.random.default_rng(seed)
        self.env = gymnasium.make("mulex/Montezuminha-v0")
        self.online, self.target = self._network(), self._network()
        self.target.load_state_dict(self.online.state_dict())
        self.optimiser = torch.optim.RMSprop(
            self.online.parameters(), lr=LEARNING_RATE, alpha=0.95, eps=1e-5, centered=True
        )
        shape = (size, STACK, *self.env.observation_space.shape)
        self.seen, self.next_seen = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        self.action, self.reward, self.over = np.zeros(size, np.int64), np.zeros(size, np.float32), np.zeros(size, bool)
        self.steps, self.size = 0, size
        self.frames = self._reset(self.env)

    def _network(self) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(STACK, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten(),
            nn.Linear(384, 64), nn.ReLU(), nn.Linear(64, 4),
        )  # fmt: skip

    def _reset(self, env: gymnasium.Env) -> deque:
        frame, _ = env.reset()
        return deque([frame] * STACK, maxlen=STACK)

    def _greedy(self, seen: np.ndarray) -> int:
        with torch.no_grad():
            return int(self.online(torch.from_numpy(seen).float()[None] / 255).argmax())

    def iteration(self, steps: int = 2500, evaluation_steps: int = 1250) -> float:
        """Train, then evaluate: the mean return of whole greedy episodes."""
        for _ in range(steps):
            self._step()
            if self.steps > WARM_UP and self.steps % UPDATE_EVERY == 0:
                self._update()
            if self.steps % TARGET_EVERY == 0:
                self.target.load_state_dict(self.online.state_dict())
        return self._evaluate(evaluation_steps)

    def _step(self) -> None:
        seen = np.stack(self.frames)
        explores = self.steps < WARM_UP or self.random.random() < EPSILON
        action = int(self.random.integers(4)) if explores else self._greedy(seen)
        frame, reward, over, cut, _ = self.env.step(action)
        self.frames.append(frame)
        i = self.steps % self.size
        self.seen[i], self.next_seen[i] = seen, np.stack(self.frames)
        self.action[i], self.reward[i], self.over[i] = action, reward, over or cut
        self.steps += 1
        if over or cut:
            self.frames = self._reset(self.env)

    def _update(self) -> None:
        i = self.random.integers(0, min(self.steps, self.size), BATCH)
        seen = torch.from_numpy(self.seen[i]).float() / 255
        next_seen = torch.from_numpy(self.next_seen[i]).float() / 255
        with torch.no_grad():
            follow = self.target(next_seen).max(1).values * DISCOUNT * torch.from_numpy(~self.over[i])
            aim = torch.from_numpy(self.reward[i]) + follow
        value = self.online(seen).gather(1, torch.from_numpy(self.action[i])[:, None])[:, 0]
        loss = nn.functional.mse_loss(value, aim)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def _evaluate(self, least_steps: int) -> float:
        env, steps, returns = gymnasium.make("mulex/Montezuminha-v0"), 0, []
        while steps < least_steps:
            frames, total, ended = self._reset(env), 0.0, False
            while not ended:
                frame, reward, over, cut, _ = env.step(self._greedy(np.stack(frames)))
                frames.append(frame)
                total, steps, ended = total + float(reward), steps + 1, over or cut
            returns.append(total)
        return float(np.mean(returns))
