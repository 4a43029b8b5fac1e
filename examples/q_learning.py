"""Tabular Q-learning as a class: a learner with checkpoints in 40 lines.

mulex check q_learning:QLearning --code examples --world FrozenLake-v1
"""

import numpy as np


class QLearning:
    """One table, an epsilon-greedy policy; every iteration is 50 episodes and a greedy evaluation."""

    hyperparameters = {"step_size": 0.1, "epsilon": 0.1, "discount": 0.95}  # noqa: RUF012

    def __init__(self, run):
        self.values, self.rng = run.values, run.rng()
        self.env = run.make_env()
        self.q = np.zeros((self.env.observation_space.n, self.env.action_space.n))
        self.steps = 0

    def iterate(self):
        for _ in range(50):
            self.play(self.values["epsilon"], learn=True)
        returns = [self.play(0.0, learn=False) for _ in range(20)]
        return {"eval_return": np.mean(returns), "env_steps": self.steps, "largest_q": self.q.max()}

    def play(self, epsilon, learn):
        seen, _ = self.env.reset(seed=int(self.rng.integers(2**31)))  # so that a checkpoint needs no environment
        total, over = 0.0, False
        while not over:
            explore = self.rng.random() < epsilon or not self.q[seen].any()
            action = self.rng.integers(self.q.shape[1]) if explore else self.q[seen].argmax()
            after, reward, terminal, truncated, _ = self.env.step(int(action))
            if learn:
                target = reward + self.values["discount"] * self.q[after].max() * (not terminal)
                self.q[seen, action] += self.values["step_size"] * (target - self.q[seen, action])
                self.steps += 1
            seen, total, over = after, total + reward, terminal or truncated
        return total

    def save(self):
        return {"q": self.q, "steps": self.steps}

    def load(self, state):
        self.q, self.steps = state["q"], int(state["steps"])

    def close(self):
        self.env.close()
