"""The paper's methods, as data."""

from typing import Any

from mulex.config import ActingConfig, HeadConfig, MethodConfig, RunConfig, TrainingConfig, WorldConfig
from mulex.errors import UserError

LEARNING_RATE = 2.5e-4  # Dopamine's, for a run outside a search
ACTING_EPSILON = 0.01  # chosen: the epsilon of additive and mulex, which is not searched

EPSILON_GREEDY = MethodConfig(
    heads={"task": HeadConfig(reward={"task": 1.0})},
    evaluate=["task"],
    hyperparameters={"learning_rate": LEARNING_RATE, "epsilon": 0.1},
)

ADDITIVE = MethodConfig(
    heads={"task": HeadConfig(reward={"task": 1.0, "oracle": "beta"})},
    evaluate=["task"],
    hyperparameters={"learning_rate": LEARNING_RATE, "epsilon": ACTING_EPSILON, "beta": 1.0},
)

MULEX = MethodConfig(
    heads={
        "task": HeadConfig(reward={"task": 1.0}),
        "explore": HeadConfig(reward={"oracle": 1.0}, flavour="dqn"),
    },
    acting=ActingConfig(probabilities={"task": "p_task"}, gamma_steps="gamma_steps"),
    evaluate=["task"],
    hyperparameters={"learning_rate": LEARNING_RATE, "epsilon": ACTING_EPSILON, "p_task": 0.7, "gamma_steps": 0.9},
)

TWO_TASK_HEADS = MethodConfig(
    heads={"first": HeadConfig(reward={"task": 1.0}), "second": HeadConfig(reward={"task": 1.0})},
    acting=ActingConfig(probabilities={"first": "p_1"}, gamma_steps="gamma_steps"),
    evaluate=["first", "second"],
    hyperparameters={"learning_rate": LEARNING_RATE, "epsilon": 0.1, "p_1": 0.5, "gamma_steps": 0.9},
)

METHODS = {
    "epsilon_greedy": EPSILON_GREEDY,
    "additive": ADDITIVE,
    "mulex": MULEX,
    "two_task_heads": TWO_TASK_HEADS,
}


def with_bonus(recipe: MethodConfig, bonus: str) -> MethodConfig:
    """Return the same method with another bonus, for example `simhash` in the textured world."""
    plain = recipe.model_dump()
    for head in plain["heads"].values():
        head["reward"] = {bonus if signal == "oracle" else signal: w for signal, w in head["reward"].items()}
    return MethodConfig.model_validate(plain)


def make_run(
    world: WorldConfig,
    method: str,
    training: TrainingConfig,
    values: dict[str, float] | None = None,
    seed: int = 0,
    recipe: MethodConfig | None = None,
) -> RunConfig:
    """Make a run; hyperparameters that `values` does not name have the method's defaults."""
    if recipe is None and method not in METHODS:
        raise UserError(f"method: got {method!r}, allowed is one of {', '.join(METHODS)}")
    recipe = recipe or METHODS[method]
    plain: dict[str, Any] = {
        "world": world,
        "method": method,
        "recipe": recipe,
        "training": training,
        "values": {**recipe.hyperparameters, **(values or {})},
        "seed": seed,
    }
    return RunConfig.read(plain)
