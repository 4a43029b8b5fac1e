"""Which engine will train each part of a sweep, in words, and whether it can, before anything is launched."""

from dataclasses import replace

from mulex.engines import choose_engine, make_engine
from sweeps.plan import Family, Plan
from sweeps.spec import Spec

SMALL_REPLAY = 10_000


def engine_lines(spec: Spec) -> list[str]:
    """One line an engine: what it trains and why; a spec that asks for what cannot be is refused here."""
    found: dict[tuple[str, str], list[str]] = {}
    for family in _families(spec):
        found.setdefault(engine_of(spec, family), []).append(f"{family.method} in {family.world_name}")
    if len(found) == 1:
        ((name, why),) = found
        return [f"engine: {name}, {why}"]
    return [f"engine: {name} for {', '.join(families)}, {why}" for (name, why), families in found.items()]


def check_engines(spec: Spec) -> None:
    """Build what would train each method in each world, once and small: a world that cannot be made is refused here."""
    for family in _families(spec):
        small = family.training.model_copy(update={"replay_size": min(family.training.replay_size, SMALL_REPLAY)})
        run = replace(family, training=small).run(dict(family.recipe.hyperparameters), 0)
        make_engine(spec.execution.engine, spec.execution.device, [run]).close()


def _families(spec: Spec) -> list[Family]:
    return list(Plan(spec, {method: [] for method in spec.methods}).families.values())


def engine_of(spec: Spec, family: Family) -> tuple[str, str]:
    """The engine of a family's runs, and why."""
    run = family.run(dict(family.recipe.hyperparameters), 0)
    return choose_engine(spec.execution.engine, spec.execution.device, run)
