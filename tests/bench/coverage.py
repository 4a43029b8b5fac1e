"""How much of the w = 5 world is seen by steps: the exploration head alone, a random walk, a table on the same bonus.

A diagnostic, not a race: figures are the median over seeds of the states seen, of 277.
"""

import numpy as np

from mulex.config import GridWorldConfig, TrainingConfig
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.methods import make_run
from mulex.worlds.world import build_world

SEEDS = 5
MARKS = (10_000, 25_000, 50_000)
EPSILON = 0.01
STEPS_PER_ITERATION = 2500

DEEP = {
    "explorer": {},
    "explorer_entered": {"bonus_of": "entered"},
    "explorer_entered_target100": {"bonus_of": "entered", "target_period": 100},
}


def measure() -> dict[str, float]:
    """States seen after each mark of steps."""
    seen = {"random_walk": _table_walk(learns=False), "tabular": _table_walk(learns=True)}
    seen |= {name: _explorer(settings) for name, settings in DEEP.items()}
    return {
        f"coverage_w5_{name}_after_{mark}": float(np.median([run[mark] for run in runs]))
        for name, runs in seen.items()
        for mark in MARKS
    }


def _explorer(settings: dict[str, object]) -> list[dict[int, int]]:
    """MuleX's exploration head acting all the time."""
    values = {"p_task": 0.0, "epsilon": EPSILON, "learning_rate": 5e-4}
    training = TrainingConfig.model_validate({"replay_size": 100_000, **settings})
    engine = TorchEngine([make_run(GridWorldConfig(), "mulex", training, values, seed) for seed in range(SEEDS)])
    live = build_world().tables.live
    seen: list[dict[int, int]] = [{} for _ in range(SEEDS)]
    for iteration in range(1, MARKS[-1] // STEPS_PER_ITERATION + 1):
        engine.iterate()
        for p, counts in enumerate(engine.bonuses[0].save()["counts"]):
            seen[p][iteration * STEPS_PER_ITERATION] = int((counts[:live] > 0).sum())
    return seen


def _table_walk(learns: bool) -> list[dict[int, int]]:
    """One-step Q-learning of 1 / sqrt(visits) in a table; without learning, a uniformly random walk."""
    world = build_world()
    tables = world.tables
    results = []
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        values, visits = np.zeros((len(tables.next_state), 4)), np.zeros(len(tables.next_state))
        state, age = 0, 0
        seen: dict[int, int] = {}
        for step in range(1, MARKS[-1] + 1):
            greedy = learns and random.random() >= EPSILON
            action = int(values[state].argmax()) if greedy else int(random.integers(4))
            visits[state] += 1
            after, over = int(tables.next_state[state, action]), bool(tables.terminal[state, action])
            follow = 0.0 if over else 0.97 * values[after].max()
            values[state, action] += 0.5 * (visits[state] ** -0.5 + follow - values[state, action])
            age += 1
            state, age = (0, 0) if over or age == world.time_limit else (after, age)
            if step in MARKS:
                seen[step] = int((visits[: tables.live] > 0).sum())
        results.append(seen)
    return results
