"""`mulex train`: one draw with one or more seeds, trained in this process as one pack, without Ray."""

import json
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from mulex.api import missing_runs, world_name
from mulex.commands.world_options import map_name, world_options
from mulex.config import ENGINES, GridWorldConfig, GymWorldConfig, MethodConfig, RunConfig, TrainingConfig, WorldConfig
from mulex.errors import UserError
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.learners.dqn.engines import make_engine
from mulex.learners.failures import LearnerFailed
from mulex.learners.runs import learner_pack
from mulex.learners.training import LearnerTraining
from mulex.methods import METHODS, make_run, with_bonus
from mulex.store.collecting import collect_tables
from mulex.store.folder import Folder, StorageError, open_folder
from mulex.store.layout import policy_name, run_name
from mulex.store.lease import Lease
from mulex.store.run_store import read_run
from mulex.store.score import score_of
from mulex.training import Labels, Pack, PackTraining
from sweeps.commands.train_learner import (
    learner_runs,
    learner_spec,
    missing_learner_runs,
    names_learner,
    say_failure,
)
from sweeps.commands.train_progress import TrainProgress
from sweeps.engine_check import check_engines, engine_lines
from sweeps.interruption import Interruption
from sweeps.learner_code import ship_learners
from sweeps.monitor.terminal import say
from sweeps.one_draw import NAME, add_to_folder, spec_of
from sweeps.plan import make_plan

INTERRUPTED = 130


@click.command()
@click.option("--method", type=click.Choice(list(METHODS)), default="mulex", show_default=True, help="What to train.")
@click.option("--learner", metavar="NAME", help="An external learner: sb3:ALGORITHM or package.module:name.")
@click.option("--command", metavar="TEXT", help="A command as the learner, with its placeholders.")
@click.option("--code", type=click.Path(path_type=Path), help="The folder of that learner's code.")
@world_options
@click.option("--env", "--world", "env", metavar="ID", help="A Gymnasium environment in place of a grid world.")
@click.option("--bonus", type=click.Choice(list(BONUSES)), default="oracle", help="Counts on states or frames.")
@click.option("--iterations", type=click.IntRange(1), help="Iterations.  [default: 800]")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="How many seeds, in one pack.")
@click.option("--seed", type=click.IntRange(0, 2**53), default=0, show_default=True, help="The first seed.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A hyperparameter or a training setting.")
@click.option("--engine", type=click.Choice(ENGINES), default="auto", show_default=True, help="What trains.")
@click.option("--device", default="cpu", show_default=True, help="Where the torch engine computes.")
@click.option(
    "--checkpoint-seconds", type=click.FloatRange(0), default=300.0, show_default=True, help="Between two checkpoints."
)
@click.option("--snapshot-seconds", type=click.FloatRange(0), hidden=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="The folder to write.")
def train(**options: Any) -> None:
    """Train one draw here, with progress; the folder has the files of a sweep.

    Ctrl-C leaves a checkpoint, and the same command continues from it, bit for bit.
    """
    folder, console, learner = open_folder(options["out"]), Console(), names_learner(options)
    if learner:
        spec = learner_spec(options, _settings(options["settings"]), _world(options))
        runs = learner_runs(spec, folder)
    else:
        runs = _runs(options)
        spec = spec_of(runs, options["engine"], options["device"])
    check_engines(spec, Path.cwd())
    try:
        with Lease(folder, lambda line: say(console, line)) as lease:
            whole = add_to_folder(folder, spec)
            labels = Labels(NAME, world_name(runs[0].world), [0], whole.outcome_hash())
            missing, moved = (missing_learner_runs if learner else missing_runs)(folder, runs)
            for line in [*moved, *(engine_lines(spec) if missing else ["every run is done already"])]:
                say(console, line)
            ship_learners(folder, whole)
            for pack in [[run] for run in missing] if learner else [missing] if missing else []:
                _train(pack, labels, lease.number, folder, options, console)
            collect_tables(folder, make_plan(whole, folder).has)
    except StorageError as error:
        raise UserError(str(error)) from None
    sys.exit(1 if _report(folder, runs, console) else 0)


def _train(
    runs: list[RunConfig], labels: Labels, launch: int, folder: Folder, options: dict[str, Any], console: Console
) -> None:
    pack = Pack(runs, Labels(labels.sweep, labels.world, [0] * len(runs), labels.spec_hash, launch))
    seconds = options["checkpoint_seconds"] if options["snapshot_seconds"] is None else options["snapshot_seconds"]
    training = _training(pack, folder, options)
    with closing(training.engine):
        try:
            finished = _finishes(training, seconds, console)
        except LearnerFailed as failure:
            say_failure(console, failure)
            return
        if not finished:
            say(console, "stopped; the same command continues from the last checkpoint")
            sys.exit(INTERRUPTED)


def _training(pack: Pack, folder: Folder, options: dict[str, Any]) -> PackTraining:
    if names_learner(options):
        return LearnerTraining(pack, learner_pack(pack.runs, options["device"], folder), folder)
    return PackTraining(pack, make_engine(options["engine"], options["device"], pack.runs), folder, keep_policies=True)


def _finishes(training: PackTraining, checkpoint_seconds: float, console: Console) -> bool:
    """Train a pack to its end, or until somebody interrupts it; returns whether it came to its end."""
    with (
        suppress(KeyboardInterrupt),
        Interruption().listening() as interruption,
        TrainProgress(console, training) as progress,
    ):
        for message in training.begin():
            say(console, message)
        saved = time.monotonic()
        while not training.finished and not interruption.asked:
            training.iterate()
            progress.show()
            if time.monotonic() - saved > checkpoint_seconds:
                training.checkpoint()
                saved = time.monotonic()
        if training.finished:
            training.finish()
            return True
        training.leave()
    return False


def _runs(options: dict[str, Any]) -> list[RunConfig]:
    recipe = METHODS[options["method"]]
    if options["bonus"] != "oracle":
        recipe = with_bonus(recipe, options["bonus"])
    training, values = _split_settings(options["settings"], recipe)
    if options["iterations"]:
        training["iterations"] = options["iterations"]
    config = TrainingConfig.read(training)
    seeds = range(options["seed"], options["seed"] + options["seeds"])
    return [make_run(_world(options), options["method"], config, values, seed, recipe) for seed in seeds]


def _split_settings(settings: tuple[str, ...], recipe: MethodConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    training: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for key, value in _settings(settings).items():
        known = [*recipe.hyperparameters, *TrainingConfig.model_fields]
        if key not in known:
            raise UserError(f"--set {key}={value}: no setting {key!r}, there are {', '.join(known)}")
        (values if key in recipe.hyperparameters else training)[key] = value
    return training, values


def _settings(settings: tuple[str, ...]) -> dict[str, Any]:
    """Read the options --set by name."""
    values = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise UserError(f"--set {setting}: expected KEY=VALUE, for example learning_rate=3e-4")
        values[key] = _value(text)
    return values


def _value(text: str) -> Any:
    """Read a number, true, false or null as JSON does; anything else is a word."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _world(options: dict[str, Any]) -> WorldConfig:
    if options["env"]:
        return GymWorldConfig(id=options["env"])
    names = ("room_size", "hard", "ghosts", "textured", "time_limit")
    given = {name: options[name] for name in names}
    return GridWorldConfig.read({"map": map_name(options["map"], options["layout"]), **given})


def _report(folder: Folder, runs: list[RunConfig], console: Console) -> int:
    """Print what came of each run; returns the number that failed."""
    score_heading = "AUC" if runs[0].training.score == "auc" else "score"
    table = Table(
        Column("run", no_wrap=True), "seed", score_heading, "final return", "best return", "seconds", "status"
    )
    failed = 0
    for run in runs:
        row = read_run(folder, run_name(run.method, run.run_id)).row
        score = score_of(row)
        known = {name: row[name] for name in ("final_return", "best_return") if row.get(name) is not None}
        returns = [f"{known[name]:.2f}" if name in known else "" for name in ("final_return", "best_return")]
        figures = (*returns, f"{row.get('seconds') or 0.0:.0f}")
        shown = "" if score is None else f"{score:.3f}"
        story = (row["error"] or row["status"]).partition("\n")[0]
        table.add_row(run.run_id, str(run.seed), shown, *figures, Text(story))
        failed += row["status"] != "done"
    console.print(table)
    policy = policy_name(runs[0].run_id)
    watch = f"; watch one: mulex play --run {folder.url}/{policy}" if folder.exists(policy) else ""
    say(console, f"tables in {folder.url}{watch}")
    return failed
