"""The folder that `mulex train` writes: a sweep of one draw a method, so that everything that reads sweeps reads it."""

import io
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mulex.config import GridWorldConfig, RunConfig, WorldConfig, digest
from mulex.errors import UserError
from mulex.folder import Folder
from mulex.run_file import DamagedRunFile, read_run_file, run_name

Plain = dict[str, Any]
SPEC = "spec.yaml"


def world_name(world: WorldConfig) -> str:
    """A short name: w5, w10-hard, two_rooms3-ghosts1, or the environment's id as a file name."""
    if not isinstance(world, GridWorldConfig):
        return re.sub(r"[^A-Za-z0-9_.-]", "-", world.id)
    name = f"{'w' if world.map == 'montezuminha' else world.map}{world.room_size}"
    name += "-hard" if world.hard else ""
    name += f"-ghosts{world.ghosts}" if world.ghosts else ""
    return name + ("-textured" if world.textured else "")


def spec_of(runs: list[RunConfig]) -> Plain:
    """The spec of a sweep that has these runs: one draw, all values constant."""
    run = runs[0]
    return {
        "name": "train",
        "worlds": {world_name(run.world): run.world.model_dump(mode="json", exclude_defaults=True)},
        "training": run.training.model_dump(mode="json", exclude_defaults=True),
        "search": {"draws": 1, "seeds": len(runs), "first_seed": run.seed},
        "methods": {run.method: _bonus(run) | run.values},
    }


def _bonus(run: RunConfig) -> Plain:
    """A method's bonus, where it is not the oracle's."""
    signals = run.recipe.signals
    return {"bonus": signals[0]} if signals and signals[0] != "oracle" else {}


def check_spec(folder: Folder, runs: list[RunConfig]) -> None:
    """Refuse runs that do not go with what the folder has: methods and seeds may be added, nothing else may differ."""
    new = spec_of(runs)
    if not folder.exists(SPEC):
        return
    old = _read(folder)
    for key, value in _differences(old, new):
        raise UserError(
            f"{folder.url}/{SPEC}: this folder is of other runs: {key} is {_at(old, key)!r} there and {value!r} here; "
            "use another --out"
        )


def freeze_spec(folder: Folder, runs: list[RunConfig]) -> str:
    """Keep the spec of these runs in the folder, beside what it has. Gives its hash."""
    new = spec_of(runs)
    if folder.exists(SPEC):
        old = _read(folder)
        new["methods"] = {**old["methods"], **new["methods"]}
        new["search"] = _wider(old["search"], new["search"])
    folder.write(SPEC, _write(new).encode())
    return digest(new)


def _differences(old: Plain, new: Plain) -> list[tuple[str, Any]]:
    """The first levels that must agree; methods and seeds may be added."""
    method, values = next(iter(new["methods"].items()))
    pairs = [(key, new[key]) for key in ("worlds", "training") if old.get(key) != new[key]]
    if old["methods"].get(method, values) != values:
        pairs.append((f"methods.{method}", values))
    return pairs


def _at(plain: Plain, key: str) -> Any:
    for part in key.split("."):
        plain = plain.get(part, {})
    return plain


def _wider(old: Plain, new: Plain) -> Plain:
    first = min(old["first_seed"], new["first_seed"])
    end = max(old["first_seed"] + old["seeds"], new["first_seed"] + new["seeds"])
    return {"draws": 1, "seeds": end - first, "first_seed": first}


def _read(folder: Folder) -> Plain:
    try:
        plain = YAML(typ="safe", pure=True).load(folder.read(SPEC))
        return {key: plain[key] for key in ("name", "worlds", "training", "search", "methods")}
    except (YAMLError, KeyError, TypeError) as error:
        raise UserError(f"{folder.url}/{SPEC}: cannot be read ({error}); use another --out") from None


def _write(plain: Plain) -> str:
    text = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.dump(plain, text)
    return text.getvalue()


def missing_runs(folder: Folder, runs: list[RunConfig]) -> tuple[list[RunConfig], list[str]]:
    """The runs that the folder does not have yet; damaged files are moved aside and said."""
    missing, moved = [], []
    for run in runs:
        name = run_name(run.method, run.run_id)
        try:
            if folder.exists(name):
                read_run_file(folder, name)
                continue
        except DamagedRunFile as error:
            folder.move(name, f"damaged/{run.run_id}.parquet")
            moved.append(f"{error}; moved aside, the run is done again")
        missing.append(run)
    return missing, moved
