"""Which engine will train each part of a sweep, in words, and whether it can, before anything is launched."""

from dataclasses import replace
from pathlib import Path

from mulex.learners.dqn.engines import choose_engine, make_engine
from mulex.learners.run_config import LearnerRun
from sweeps.plan import Family, Plan
from sweeps.preflight import RefusedHere, find_problems
from sweeps.spec import Spec

SMALL_REPLAY = 10_000


def engine_lines(spec: Spec) -> list[str]:
    """Say in one line for each engine what it trains and why; a spec that asks for the impossible is refused here."""
    found: dict[tuple[str, str], list[str]] = {}
    for family in _families(spec):
        found.setdefault(engine_of(spec, family), []).append(f"{family.method} in {family.world_name}")
    if len(found) == 1:
        ((name, why),) = found
        return [f"engine: {name}, {why}"]
    return [f"engine: {name} for {', '.join(families)}, {why}" for (name, why), families in found.items()]


def check_engines(spec: Spec, here: Path | None = None) -> None:
    """Refuse what this machine cannot train; `here` is where commands without code are run, if that is known.

    Of our own learner an engine is built for each method in each world, once and small.
    """
    if findings := list(find_problems(spec, here)):
        raise RefusedHere(findings)
    for family in _families(spec):
        if not family.is_learner:
            small = family.training.model_copy(update={"replay_size": min(family.training.replay_size, SMALL_REPLAY)})
            run = replace(family, training=small).run(dict(family.recipe.hyperparameters), 0)
            make_engine(spec.execution.engine, spec.execution.device, [run]).close()


def _families(spec: Spec) -> list[Family]:
    return list(Plan(spec, {method: [] for method in spec.methods}).families.values())


def engine_of(spec: Spec, family: Family) -> tuple[str, str]:
    """Name the engine of a family's runs, and say why it is chosen."""
    run = family.run(dict(family.recipe.hyperparameters), 0)
    if isinstance(run, LearnerRun):
        return run.recipe.learner, "as the method says"
    return choose_engine(spec.execution.engine, spec.execution.device, run)
