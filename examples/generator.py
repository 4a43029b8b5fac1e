"""A generator function as a learner: the cross-entropy method on CartPole-v1, one row per generation.

mulex check generator:train --code examples --world CartPole-v1
"""

import numpy as np


def train(run, population=16, elite=4, spread=1.0):
    """Every parameter after `run` is a hyperparameter."""
    rng, env = run.rng(), run.make_env()
    state = run.restore() or {"mean": np.zeros(4), "deviation": np.full(4, spread), "done": np.array(0)}
    mean, deviation = state["mean"], state["deviation"]
    for generation in range(int(state["done"]), run.rows_wanted):
        candidates = rng.normal(mean, deviation, size=(population, 4))
        returns = np.array([play(env, weights, rng) for weights in candidates])
        best = candidates[returns.argsort()[-elite:]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.02
        row = {"eval_return": play(env, mean, rng), "train_return": returns.mean(), "spread": deviation.mean()}
        run.checkpoint({"mean": mean, "deviation": deviation, "done": np.array(generation + 1)})
        yield row


def play(env, weights, rng):
    """The return of a linear policy in one episode."""
    seen, _ = env.reset(seed=int(rng.integers(2**31)))
    total, over = 0.0, False
    while not over:
        seen, reward, terminal, truncated, _ = env.step(int(seen @ weights > 0))
        total, over = total + float(reward), terminal or truncated
    return total
