"""The command that trains one run alone, on any machine that has this package."""

import json
import shlex
from typing import Any

from mulex.config import GridWorldConfig, GymWorldConfig, RunConfig, TrainingConfig
from mulex.methods import METHODS, make_run, with_bonus


def train_command(run: RunConfig) -> str | None:
    """Return the `mulex train` command of a run; None if the options of that command cannot describe it.

    The command is only returned if the run that it describes has the same id.
    """
    recipe = METHODS.get(run.method)
    if recipe is None or not isinstance(run.recipe, type(recipe)):
        return None
    known = ("oracle", *run.recipe.signals)
    bonuses = [bonus for bonus in known if with_bonus(recipe, bonus).model_dump() == run.recipe.model_dump()]
    if not bonuses:
        return None
    world = _world_options(run.world)
    if world is None or _same_run(run, bonuses[0]) != run.run_id:
        return None
    words = ["mulex", "train", "--method", run.method, *world]
    words += ["--bonus", bonuses[0]] if bonuses[0] != "oracle" else []
    words += ["--iterations", str(run.training.iterations), "--seed", str(run.seed)]
    for name, value in {**_settings(run.training), **run.values}.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return shlex.join([*words, "--out", f"out/{run.run_id}"])


def _same_run(run: RunConfig, bonus: str) -> str:
    """The id of the run that the command would train."""
    training = TrainingConfig.read({**_settings(run.training), "iterations": run.training.iterations})
    known = METHODS[run.method].hyperparameters
    values: dict[str, Any] = {name: value for name, value in run.values.items() if name in known}
    return make_run(run.world, run.method, training, values, run.seed, with_bonus(METHODS[run.method], bonus)).run_id


def _settings(training: TrainingConfig) -> dict[str, Any]:
    """The settings of a training that are not the defaults, without its length."""
    plain = training.model_dump(mode="json", exclude_defaults=True)
    return {name: value for name, value in plain.items() if name != "iterations"}


def _world_options(world: GridWorldConfig | GymWorldConfig) -> list[str] | None:
    """The options that describe a world; None if there are none for it."""
    plain = world.model_dump(mode="json", exclude_defaults=True)
    if isinstance(world, GymWorldConfig):
        return ["--env", world.id] if set(plain) <= {"id"} else None
    words: list[str] = []
    for name, value in plain.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    return words
