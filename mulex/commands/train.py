"""`mulex train`: one draw with one or more seeds, trained here as a pack, without Ray."""

import json
import signal
import statistics
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from mulex.commands.world_options import world_options
from mulex.config import GridWorldConfig, GymWorldConfig, MethodConfig, RunConfig, TrainingConfig, WorldConfig
from mulex.engines import ENGINES, choose_engine, make_engine
from mulex.errors import UserError
from mulex.folder import Folder, open_folder
from mulex.methods import METHODS, make_run, with_bonus
from mulex.run_file import collect_tables, read_run_file, run_name
from mulex.train import Labels, Pack, PackTraining
from mulex.train_folder import check_spec, freeze_spec, missing_runs, world_name

_PLAIN_SECONDS = 5.0  # between two lines where there is no terminal


@click.command()
@click.option("--method", type=click.Choice(list(METHODS)), default="mulex", show_default=True, help="What to train.")
@world_options
@click.option("--env", metavar="ID", help="A Gymnasium environment in place of a grid world.")
@click.option("--bonus", type=click.Choice(["oracle", "simhash"]), default="oracle", help="Counts on states or frames.")
@click.option("--iterations", type=click.IntRange(1), help="Iterations.  [default: 800]")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="How many seeds, in one pack.")
@click.option("--seed", type=click.IntRange(0, 2**53), default=0, show_default=True, help="The first seed.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A hyperparameter or a training setting.")
@click.option("--engine", type=click.Choice(ENGINES), default="auto", show_default=True, help="What trains.")
@click.option("--device", default="cpu", show_default=True, help="Where the torch engine computes.")
@click.option("--snapshot-seconds", type=click.FloatRange(0), default=300.0, show_default=True, help="Between two.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="The folder to write.")
def train(**options: Any) -> None:
    """Train one draw here, with progress; the folder has the files of a sweep.

    Ctrl-C leaves a snapshot, and the same command again continues from it, bit for bit.
    """
    runs, folder, console = _runs(options), open_folder(options["out"]), Console()
    check_spec(folder, runs)
    missing, moved = missing_runs(folder, runs)
    for message in moved:
        console.print(message, highlight=False, soft_wrap=True)
    if missing:
        name, why = choose_engine(options["engine"], options["device"], missing[0])
        console.print(f"engine: {name}, {why}", highlight=False, soft_wrap=True)
        with closing(make_engine(options["engine"], options["device"], missing)) as engine:
            labels = Labels("train", world_name(runs[0].world), [0] * len(missing), _freeze_spec(folder, runs))
            pack = Pack(missing, labels)
            _train(PackTraining(pack, engine, folder, keep_policies=True), options["snapshot_seconds"], console)
    else:
        console.print("every run is done already")
    collect_tables(folder)
    if _report(folder, runs, console):
        sys.exit(1)


def _freeze_spec(folder: Folder, runs: list[RunConfig]) -> str:
    try:
        return freeze_spec(folder, runs)
    except OSError as error:
        raise UserError(f"{folder.url}: cannot be written: {error}") from None


def _runs(options: dict[str, Any]) -> list[RunConfig]:
    recipe = METHODS[options["method"]]
    if options["bonus"] != "oracle":
        recipe = with_bonus(recipe, options["bonus"])
    training, values = _split_settings(options["settings"], recipe)
    if options["iterations"]:
        training["iterations"] = options["iterations"]
    config = TrainingConfig.read(training)
    assert isinstance(config, TrainingConfig)
    seeds = range(options["seed"], options["seed"] + options["seeds"])
    return [make_run(_world(options), options["method"], config, values, seed, recipe) for seed in seeds]


def _split_settings(settings: tuple[str, ...], recipe: MethodConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    training: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"--set {setting}: needed is KEY=VALUE, for example learning_rate=3e-4")
        known = [*recipe.hyperparameters, *TrainingConfig.model_fields]
        if key not in known:
            raise UserError(f"--set {setting}: no setting {key!r}, there are {', '.join(known)}")
        (values if key in recipe.hyperparameters else training)[key] = _value(text)
    return training, values


def _value(text: str) -> Any:
    """Numbers, true, false and null as in JSON; anything else is a word."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _world(options: dict[str, Any]) -> WorldConfig:
    if options["env"]:
        return GymWorldConfig(id=options["env"])
    names = ("room_size", "hard", "ghosts", "textured", "time_limit")
    config = GridWorldConfig.read({"map": options["layout"], **{name: options[name] for name in names}})
    assert isinstance(config, GridWorldConfig)
    return config


def _train(training: PackTraining, snapshot_seconds: float, console: Console) -> None:
    with suppress(KeyboardInterrupt), Watching(console, training.pack.iterations) as watching:
        for message in training.begin():
            watching.say(message)
        saved = time.monotonic()
        while not training.finished and not watching.stopping:
            training.iterate()
            watching.show(training)
            if time.monotonic() - saved > snapshot_seconds:
                training.snapshot()
                saved = time.monotonic()
        if training.finished:
            training.finish()
            return
        training.leave()
    console.print("stopped; the same command continues from the last snapshot", highlight=False)
    sys.exit(130)


class Watching:
    """Progress on a terminal as a bar, elsewhere as a line now and then; Ctrl-C asks to stop after this iteration."""

    def __init__(self, console: Console, iterations: int) -> None:
        self.console, self.iterations = console, iterations
        self.stopping = False
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None
        self._told = time.monotonic()

    def __enter__(self) -> "Watching":
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.stopping:
            raise KeyboardInterrupt
        self.stopping = True
        self.say("stopping after this iteration; Ctrl-C again stops at once")

    def say(self, message: str) -> None:
        self.console.print(message, highlight=False, soft_wrap=True)

    def show(self, training: PackTraining) -> None:
        """What the latest iteration came to."""
        pack, engine = training.pack, training.engine
        figures = _figures(pack)
        name = f"{pack.runs[0].method} {pack.labels.world} x{len(pack.runs)} ({engine.name})"
        if self._task is None:
            self._task = self._bar.add_task(name, total=self.iterations, completed=engine.iterations - 1, figures="")
        self._bar.update(self._task, completed=engine.iterations, figures=figures)
        if not self.console.is_terminal and time.monotonic() - self._told > _PLAIN_SECONDS:
            self._told = time.monotonic()
            self.say(f"{name}: iteration {engine.iterations} of {self.iterations}, {figures}")


def _figures(pack: Pack) -> str:
    returns = [float(curve[-1]["eval_return"] or 0.0) for curve in pack.curves]
    seconds = sum(float(curve[-1]["seconds"] or 0.0) for curve in pack.curves)
    speed = len(pack.runs) * pack.runs[0].steps_per_iteration / max(seconds, 1e-9)
    return f"return median {statistics.median(returns):.2f}, best {max(returns):.2f}; {speed:,.0f} steps/s"


def _report(folder: Folder, runs: list[RunConfig], console: Console) -> int:
    """What came of each run; gives the number that failed."""
    table = Table(Column("run", no_wrap=True), "seed", "AUC", "final return", "best return", "seconds", "status")
    failed = 0
    for run in runs:
        row = read_run_file(folder, run_name(run.method, run.run_id)).row
        share = row["normalised_auc"] if row["normalised_auc"] is not None else row["auc"]
        figures = (f"{share:.3f}", f"{row['final_return']:.2f}", f"{row['best_return']:.2f}", f"{row['seconds']:.0f}")
        table.add_row(run.run_id, str(run.seed), *figures, row["error"] or row["status"])
        failed += row["status"] != "done"
    console.print(table)
    policy = f"{folder.url}/policies/{runs[0].run_id}.pt"
    console.print(f"tables in {folder.url}; watch one: mulex play --run {policy}", highlight=False, soft_wrap=True)
    return failed
