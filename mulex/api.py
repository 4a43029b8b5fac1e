"""The Python front door of this package: train one draw with one or more seeds, without Ray."""

import re
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mulex.config import GridWorldConfig, GymWorldConfig, MethodConfig, RunConfig, TrainingConfig, WorldConfig
from mulex.errors import UserError
from mulex.learners.dqn.bonuses.registry import BONUSES
from mulex.learners.dqn.engines import Row, make_engine
from mulex.messages import nearest
from mulex.methods import METHODS, make_run, with_bonus
from mulex.settings import digest
from mulex.store.collecting import collect_tables
from mulex.store.folder import Folder, open_folder
from mulex.store.folding import set_aside
from mulex.store.layout import SPEC, run_name
from mulex.store.lease import Lease, SweepBusy
from mulex.store.run_file import DamagedRunFile
from mulex.store.run_store import RunStore, read_run
from mulex.store.table_rows import tables_of
from mulex.training import Labels, Pack, PackTraining

if TYPE_CHECKING:
    import pandas as pd

MOST_SEEDS = 10_000
CHECKPOINT_SECONDS = 300.0

Progress = Callable[[int, list[Row]], object]
"""Called after every iteration with its number and its rows, one per seed."""


@dataclass(frozen=True)
class Trained:
    """The runs of one draw, trained.

    Attributes:
        configs: The configuration of each run, in the order of the seeds.
        runs: One row per run: its hyperparameters, AUC, normalised AUC, final return, seconds, status and so on.
        curves: One row per run and iteration; docs/tables.md describes the columns of both tables.
        messages: What there is to know besides, for example from which iteration the training continued.
        folder: The folder with the run files; None if none was given.
    """

    configs: list[RunConfig]
    runs: "pd.DataFrame"
    curves: "pd.DataFrame"
    messages: list[str]
    folder: str | None


def train(
    method: str = "mulex",
    world: WorldConfig | Mapping[str, Any] | None = None,
    training: TrainingConfig | Mapping[str, Any] | None = None,
    values: Mapping[str, float] | None = None,
    *,
    seeds: int = 1,
    first_seed: int = 0,
    bonus: str | None = None,
    recipe: MethodConfig | Mapping[str, Any] | None = None,
    engine: str = "auto",
    device: str = "cpu",
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train one draw with one or more seeds in this process, as one pack.

    Args:
        method: The name of a built-in method, or of your own if `recipe` is given.
        world: The world as settings or a mapping; a mapping with `id` is a Gymnasium environment, any other one is a
            grid world. None is Montezuminha with rooms of size 5.
        training: Training settings that differ from the defaults, such as `{"iterations": 20}`.
        values: Hyperparameters that differ from the method's defaults.
        seeds: The number of runs, which differ by chance alone.
        first_seed: The first seed; the others follow it.
        bonus: The method's exploration bonus, `oracle`, `simhash` or `rnd`, if not its own.
        recipe: The heads, rewards and acting of a method of your own.
        engine: `auto`, `native` or `torch`.
        device: The device of the torch engine.
        folder: A folder or URL for the run files, the policies and the two tables. Calling `train` again with the
            same arguments continues there after an interruption, bit for bit; other methods may be added. None writes
            nothing.
        progress: A function that is called after every iteration with its number and its rows, one per seed.

    Returns:
        The configurations of the runs and their results as two data frames.

    Raises:
        UserError: If an argument is wrong, if the folder belongs to a sweep or to other runs, or if another process is
            training there.

    Example:
        >>> import mulex
        >>> trained = mulex.train("mulex", {"map": "two_rooms", "room_size": 3}, {"iterations": 5}, seeds=2)
        >>> trained.runs[["seed", "normalised_auc"]]
        >>> trained.curves.pivot(index="iteration", columns="seed", values="eval_return")
    """
    whole = isinstance(seeds, int) and not isinstance(seeds, bool)
    if not whole or not 1 <= seeds <= MOST_SEEDS:
        raise UserError(f"seeds: got {seeds!r}, allowed is a whole number from 1 to {MOST_SEEDS:,}")
    if isinstance(first_seed, bool) or not isinstance(first_seed, int):
        raise UserError(f"first_seed: got {first_seed!r}, allowed is a whole number from 0 up")
    built_world, built_training = _world(world), _training(training)
    built_recipe = _recipe(method, recipe, bonus)
    runs = [
        make_run(built_world, method, built_training, dict(values or {}), seed, built_recipe)
        for seed in range(first_seed, first_seed + seeds)
    ]
    if folder is not None:
        return _train_kept(open_folder(folder), runs, engine, device, progress)
    with tempfile.TemporaryDirectory(prefix="mulex-train-") as scratch:
        return _train_in(open_folder(scratch), runs, engine, device, progress)


def _world(world: WorldConfig | Mapping[str, Any] | None) -> WorldConfig:
    if isinstance(world, GridWorldConfig | GymWorldConfig):
        return world
    plain = _mapping("world", world)
    return GymWorldConfig.read(plain) if "id" in plain else GridWorldConfig.read(plain)


def _training(training: TrainingConfig | Mapping[str, Any] | None) -> TrainingConfig:
    return training if isinstance(training, TrainingConfig) else TrainingConfig.read(_mapping("training", training))


def _mapping(name: str, plain: Any) -> dict[str, Any]:
    if plain is not None and not isinstance(plain, Mapping):
        raise UserError(f"{name}: got {plain!r}, allowed is a mapping of settings")
    return dict(plain or {})


def _recipe(method: str, recipe: MethodConfig | Mapping[str, Any] | None, bonus: str | None) -> MethodConfig:
    if recipe is None:
        if method not in METHODS:
            raise UserError(f"method: got {method!r}, allowed is one of {', '.join(METHODS)}, or give a recipe")
        recipe = METHODS[method]
    built = recipe if isinstance(recipe, MethodConfig) else MethodConfig.read(_mapping("recipe", recipe))
    if bonus is None or built.signals == (bonus,):
        return built
    if bonus not in BONUSES:
        raise UserError(f"bonus: got {bonus!r}, allowed is one of {', '.join(BONUSES)}{nearest(bonus, BONUSES)}")
    if built.signals != ("oracle",):
        raise UserError(f"bonus: got {bonus!r}, but {method} does not learn from an oracle that it could replace")
    return with_bonus(built, bonus)


def _train_kept(folder: Folder, runs: list[RunConfig], engine: str, device: str, progress: Progress | None) -> Trained:
    """Train in a folder that no other process may write meanwhile."""
    _check_folder(folder, runs)
    waited: list[str] = []
    with Lease(folder, waited.append) as lease:
        _check_folder(folder, runs)  # whoever had it until now may have left other runs
        trained = _train_in(folder, runs, engine, device, progress, lease)
    return replace(trained, messages=[*waited, *trained.messages])


def _train_in(
    folder: Folder,
    runs: list[RunConfig],
    engine: str,
    device: str,
    progress: Progress | None,
    lease: Lease | None = None,
) -> Trained:
    """Train the runs that the folder does not have yet; one without a lease is removed afterwards."""
    missing, messages = missing_runs(folder, runs)
    keep = lease is not None
    if missing:
        with closing(make_engine(engine, device, missing)) as made:
            launch = lease.number if lease else 0
            labels = Labels("train", world_name(runs[0].world), [0] * len(missing), _spec_hash(runs), launch)
            training = PackTraining(Pack(missing, labels), made, folder, keep_policies=keep)
            messages += training.begin()
            _iterate(training, progress, lease)
            training.finish()
    if keep:
        collect_tables(folder)
    finished = [read_run(folder, run_name(run.method, run.run_id)) for run in runs]
    runs_table, curves_table = (table.to_pandas() for table in tables_of(finished))
    return Trained(runs, runs_table, curves_table, messages, folder.url if keep else None)


def _spec_hash(runs: list[RunConfig]) -> str:
    """A hash of everything that the runs share: all but the seed."""
    return digest(runs[0].canonical() | {"seed": None})


def _check_folder(folder: Folder, runs: list[RunConfig]) -> None:
    """Refuse a folder of a sweep, and one with runs of the same method that differ in more than the seed."""
    method = runs[0].method
    if folder.exists(SPEC):
        raise UserError(f"{folder.url}: this is the folder of a sweep; use another one")
    for entry in RunStore(folder).refresh().entries.values():
        if entry.method == method and entry.spec_hash != _spec_hash(runs):
            raise UserError(f"{folder.url}: this folder has other runs of {method}; use another one")


def missing_runs(folder: Folder, runs: list[RunConfig]) -> tuple[list[RunConfig], list[str]]:
    """Return the runs that a folder does not have yet, and what there is to say: damaged files are moved aside."""
    missing, messages = [], []
    for run in runs:
        name = run_name(run.method, run.run_id)
        try:
            read_run(folder, name)
            continue
        except FileNotFoundError:
            pass
        except DamagedRunFile as error:
            set_aside(RunStore(folder).refresh(), [name])
            messages.append(f"{error}; moved aside, the run is done again")
        missing.append(run)
    return missing, messages


def world_name(world: WorldConfig) -> str:
    """Return a short name of a world: w5, w10-hard, two_rooms3-ghosts1, or an environment's id as a file name."""
    if not isinstance(world, GridWorldConfig):
        return re.sub(r"[^A-Za-z0-9_.-]", "-", world.id)
    name = f"{'w' if world.map == 'montezuminha' else world.map}{world.room_size}"
    name += "-hard" if world.hard else ""
    name += f"-ghosts{world.ghosts}" if world.ghosts else ""
    return name + ("-textured" if world.textured else "")


def _iterate(training: PackTraining, progress: Progress | None, lease: Lease | None) -> None:
    """Iterate to the end; whatever stops it before leaves a checkpoint in a folder that is kept.

    SweepBusy is raised, and nothing is written, once another process has taken the folder over.
    """
    saved = time.monotonic()
    try:
        while not training.finished:
            training.iterate()
            if progress is not None:
                progress(training.engine.iterations, [curve[-1] for curve in training.pack.curves])
            if lease and time.monotonic() - saved > CHECKPOINT_SECONDS:
                lease.check()
                training.checkpoint()
                saved = time.monotonic()
        if lease:
            lease.check()
    except SweepBusy:
        raise
    except BaseException:
        if lease and not lease.is_lost:
            training.leave()
        raise
