"""Which engine will train each part of a sweep, in words, before anything is launched."""

from mulex.engines import choose_engine
from sweeps.plan import Family, Plan
from sweeps.spec import Spec


def engine_lines(spec: Spec) -> list[str]:
    """One line an engine: what it trains and why; a spec that asks for what cannot be is refused here."""
    found: dict[tuple[str, str], list[str]] = {}
    for family in Plan(spec, {method: [] for method in spec.methods}).families.values():
        found.setdefault(engine_of(spec, family), []).append(f"{family.method} in {family.world_name}")
    if len(found) == 1:
        ((name, why),) = found
        return [f"engine: {name}, {why}"]
    return [f"engine: {name} for {', '.join(families)}, {why}" for (name, why), families in found.items()]


def engine_of(spec: Spec, family: Family) -> tuple[str, str]:
    """The engine of a family's runs, and why."""
    run = family.run(dict(family.recipe.hyperparameters), 0)
    return choose_engine(spec.execution.engine, spec.execution.device, run)
