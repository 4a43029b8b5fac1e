"""`mulex train --learner` and `--command`: one draw of an external learner, as the sweep that it amounts to."""

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from mulex.api import missing_runs, world_name
from mulex.config import RunConfig, WorldConfig
from mulex.errors import UserError
from mulex.learners.failures import LearnerFailed
from mulex.learners.names import DQN, TRAINING_SETTINGS
from mulex.store.folder import Folder
from mulex.store.layout import run_name
from mulex.store.run_store import read_note
from sweeps.monitor.terminal import say
from sweeps.one_draw import NAME
from sweeps.plan import Plan, make_plan
from sweeps.spec import Spec, parse_spec, write_yaml

OF_DQN = {"method": "--method", "bonus": "--bonus", "engine": "--engine"}
"""Options that only our own learner has."""


def names_learner(options: dict[str, Any]) -> bool:
    """Whether the options name an external learner."""
    return options["command"] is not None or options["learner"] not in (None, DQN)


def learner_spec(options: dict[str, Any], settings: dict[str, Any], world: WorldConfig) -> Spec:
    """Make the spec of a sweep of one draw; whatever is wrong with it has the spec's own messages.

    Args:
        options: The options of `mulex train`.
        settings: The values of --set by name.
        world: The world to train in.
    """
    _refuse_others(options)
    shared = (*TRAINING_SETTINGS, "score")
    training = {key: value for key, value in settings.items() if key in shared}
    if options["iterations"]:
        training["iterations"] = options["iterations"]
    entry = {key: value for key, value in settings.items() if key not in shared}
    what: Any = shlex.split(options["command"]) if options["command"] else options["learner"]
    key = "command" if options["command"] else "learner"
    execution = {"device": options["device"], **({"code": str(options["code"])} if options["code"] else {})}
    plain = {
        "name": NAME,
        "worlds": {world_name(world): world.model_dump(mode="json", exclude_defaults=True)},
        "training": training,
        "search": {"draws": 1, "seeds": options["seeds"], "first_seed": options["seed"]},
        "methods": {_method_name(options): {key: what, **entry}},
        "execution": execution,
    }
    return parse_spec(write_yaml(plain), "--learner" if key == "learner" else "--command")


def _refuse_others(options: dict[str, Any]) -> None:
    if options["command"] is not None and options["learner"] is not None:
        raise UserError("--learner and --command: name one of them")
    if options["command"] is not None and not options["command"].strip():
        raise UserError("--command: got nothing, needed is a command with its placeholders")
    if options["code"] is not None and not Path(options["code"]).is_dir():
        raise UserError(f"--code: {options['code']} is not a folder")
    context = click.get_current_context(silent=True)
    for name, option in OF_DQN.items():
        if context and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UserError(f"{option}: belongs to our own learner; leave it out with --learner or --command")


def _method_name(options: dict[str, Any]) -> str:
    """A method's name: the algorithm's, the class's or function's, or `command`."""
    return "command" if options["command"] else options["learner"].rpartition(":")[2].lower() or "learner"


def learner_runs(spec: Spec, folder: Folder) -> list[RunConfig]:
    """The runs of a sweep of one draw, one for each seed."""
    plan: Plan = make_plan(spec, folder)
    return [
        plan.families[run.world, run.method].run(plan.values[run.method][run.draw], run.seed) for run in plan.runs()
    ]


def missing_learner_runs(folder: Folder, runs: list[RunConfig]) -> tuple[list[RunConfig], list[str]]:
    """The runs that the folder does not have, or has as failed, and what there is to say."""
    missing, said = missing_runs(folder, runs)
    again = [run for run in runs if run not in missing and _failed(folder, run)]
    return [run for run in runs if run in missing or run in again], said


def _failed(folder: Folder, run: RunConfig) -> bool:
    return bool(read_note(folder, run_name(run.method, run.run_id)).row["status"] == "failed")


def say_failure(console: Console, failure: LearnerFailed) -> None:
    """Print the whole story of a learner that failed; its run file has it too."""
    for line in str(failure).splitlines():
        say(console, line)
