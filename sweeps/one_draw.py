"""The sweep that `mulex train` writes: one draw of a method, to which later calls may add methods and seeds."""

from mulex.api import world_name
from mulex.config import RunConfig
from mulex.errors import UserError
from mulex.store.folder import Folder
from mulex.store.layout import SPEC
from sweeps.inventory import freeze_spec, frozen_spec
from sweeps.spec import Spec, differences, parse_frozen, parse_spec, write_yaml

NAME = "train"


def spec_of(runs: list[RunConfig], engine: str, device: str) -> Spec:
    """Make the spec of a sweep that has these runs: one draw, in which every value is constant."""
    run = runs[0]
    signals = run.recipe.signals
    bonus = {"bonus": signals[0]} if signals and signals[0] != "oracle" else {}
    plain = {
        "name": NAME,
        "worlds": {world_name(run.world): run.world.model_dump(mode="json", exclude_defaults=True)},
        "training": run.training.model_dump(mode="json", exclude_defaults=True),
        "search": {"draws": 1, "seeds": len(runs), "first_seed": run.seed},
        "methods": {run.method: bonus | run.values},
        "execution": {"engine": engine, "device": device, "keep_policies": True},
    }
    return parse_spec(write_yaml(plain), NAME)


def add_to_folder(folder: Folder, spec: Spec) -> Spec:
    """Freeze a spec in a folder, together with the methods and seeds that the folder has; returns the whole spec.

    Nothing else may differ from what the folder has.
    """
    whole = spec
    if folder.exists(SPEC):
        frozen = frozen_spec(folder)
        whole = _united(frozen, spec)
        if changed := differences(frozen, whole)[1]:
            listed = "\n".join(f"  {change}" for change in changed)
            raise UserError(f"{folder.url} has other runs:\n{listed}\nuse another --out")
    freeze_spec(folder, whole)
    return whole


def _united(frozen: Spec, spec: Spec) -> Spec:
    """Add the methods and seeds of a frozen spec to a new one."""
    plain, old = spec.resolved(), frozen.resolved()
    seeds = [range(s.search.first_seed, s.search.first_seed + s.search.seeds) for s in (frozen, spec)]
    first, end = min(s.start for s in seeds), max(s.stop for s in seeds)
    plain["search"] = old["search"] | {"seeds": end - first, "first_seed": first}
    plain["methods"] = {**old["methods"], **plain["methods"]}
    plain["name"] = old["name"]
    return parse_frozen(write_yaml(plain), NAME)
