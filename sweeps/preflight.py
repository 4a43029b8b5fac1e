"""What a launch would refuse, as far as this machine can know it before anything is trained or written."""

from collections.abc import Iterable, Iterator
from pathlib import Path as FilePath
from typing import NamedTuple

from mulex.config import GymWorldConfig, RunConfig
from mulex.errors import UserError
from mulex.learners.failures import LearnerFailed
from mulex.learners.run_config import LearnerConfig, LearnerRun
from mulex.messages import Path, dotted
from mulex.worlds.interface import Worlds
from sweeps.plan import Family, Plan
from sweeps.search.space import Values, conditional
from sweeps.spec import Spec
from sweeps.spec.settings_reader import Problems
from sweeps.spec.yaml_reader import Tree

_MOST_CHOICES = 32  # of a choice that are tried
_QUANTILES = (0.0, 0.5, 1 - 1e-9)  # of a search space: its lowest values, its middle and its highest


class Finding(NamedTuple):
    """A problem of a spec on this machine, and the key that it is at."""

    path: Path
    text: str


class RefusedHere(UserError):  # noqa: N818
    """A spec that this machine cannot train."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("\n".join(f"{dotted(finding.path)}: {finding.text}" for finding in findings))
        self.findings = findings


def report(findings: Iterable[Finding], tree: Tree) -> None:
    """Raise a SpecError if there are any problems, each with its line."""
    problems = Problems(tree)
    for finding in findings:
        problems.key(finding.path, finding.text)
    problems.stop_if_any()


def find_problems(spec: Spec, here: FilePath | None = None) -> Iterator[Finding]:
    """Yield the problems world by world; a world that cannot be made is reported once for all methods.

    `here` is where commands without code are run, if that is not an empty folder of a worker.
    """
    families = Plan(spec, {method: [] for method in spec.methods}).families
    for world in spec.worlds:
        of_world = [families[world, method] for method in spec.methods]
        ours = [family for family in of_world if not family.is_learner]
        for family in of_world:
            if family.is_learner:
                yield from _learner_problems(spec, family, here)
        if ours:
            yield from _problems_in(spec, ours)


def _problems_in(spec: Spec, families: list[Family]) -> Iterator[Finding]:
    """Make a world once, and yield the problems that our own learner has in it."""
    from mulex.worlds.make import make_worlds

    try:
        worlds = make_worlds(families[0].world, ["preflight"], "ghosts")
    except UserError as error:
        yield _world_problem(families[0], str(error))
        return
    try:
        for family in families:
            yield from _run_problems(spec, family, worlds)
    finally:
        worlds.close()


def _run_problems(spec: Spec, family: Family, worlds: Worlds) -> Iterator[Finding]:
    """Try runs from the whole range of a method's search space, and yield each problem once."""
    found: dict[Finding, None] = {}
    for quantile in _QUANTILES:
        try:
            run = family.run(_draw(spec, family, quantile), spec.search.first_seed)
            _check_run(spec, family, run, worlds)
        except UserError as error:
            found[_located(spec, family, str(error))] = None
    yield from found


def _learner_problems(spec: Spec, family: Family, here: FilePath | None) -> Iterator[Finding]:
    """Try a run, and for learners that are built from their values also the rest of the search space."""
    from sweeps.learners import check_learner_run

    found: dict[Finding, None] = {}
    for values in _tries(spec, family):
        try:
            run = family.run(values, spec.search.first_seed)
            assert isinstance(run, LearnerRun)
            check_learner_run(run, spec.execution.code, here)
        except UserError as error:
            if str(error).startswith("world "):
                yield _world_problem(family, str(error))
                return
            found[_located(spec, family, str(error))] = None
        except LearnerFailed as failure:
            found[Finding(("methods", family.method), f"{failure.summary} (in world {family.world_name})")] = None
    yield from found


def _tries(spec: Spec, family: Family) -> Iterator[Values]:
    """Yield draws of a learner's method: its lowest values; for SB3 also others, each choice among them."""
    space = spec.space(family.method)
    every = {name: distribution.at(_QUANTILES[0]) for name, distribution in space.items()}
    yield conditional(space, every)
    if not isinstance(family.recipe, LearnerConfig) or family.recipe.name.kind != "sb3":
        return
    yield from (_draw(spec, family, quantile) for quantile in _QUANTILES[1:])
    for name, distribution in space.items():
        for value in distribution.values[:_MOST_CHOICES] if distribution.kind == "choice" else ():
            yield conditional(space, {**every, name: value})


def _check_run(spec: Spec, family: Family, run: RunConfig, worlds: Worlds) -> None:
    """Raise a UserError if the network, a bonus or the memory does not fit; a grid world fits every bonus."""
    from mulex.learners.dqn.bonuses.contract import make_bonus
    from mulex.learners.dqn.network_shape import frames_of_stack, network_shape

    network_shape(run, worlds, frames_of_stack(run, worlds))
    if isinstance(run.world, GymWorldConfig):
        for name in run.recipe.signals:
            make_bonus(name, worlds, [run], spec.execution.device)
    check_pack_memory(spec, family, run, worlds)


def check_pack_memory(spec: Spec, family: Family, run: RunConfig, worlds: Worlds) -> None:
    """Refuse a pack of such runs that does not fit the memory of this machine."""
    from mulex.learners.dqn.engines import choose_engine
    from mulex.learners.dqn.memory import check_memory

    draws = min(spec.execution.draws_per_pack, spec.draws(family.method))
    engine, _ = choose_engine(spec.execution.engine, spec.execution.device, run)
    check_memory([run] * (draws * spec.search.seeds), worlds, engine, spec.execution.device)


def _draw(spec: Spec, family: Family, quantile: float) -> Values:
    space = spec.space(family.method)
    return conditional(space, {name: distribution.at(quantile) for name, distribution in space.items()})


def _located(spec: Spec, family: Family, message: str) -> Finding:
    """Find the key that a message names: of the method, of the world's own training, or of the shared training."""
    prefix, _, text = message.partition(": ")
    key = prefix.removeprefix("training.")
    if key == "command":
        return Finding(("methods", family.method, key), f"{text} (in world {family.world_name})")
    if key in spec.space(family.method):
        return Finding(("methods", family.method, key), f"{text} (in world {family.world_name})")
    if key in spec.worlds[family.world_name].training:
        return Finding(("worlds", family.world_name, "training", key), f"{text} (for {family.method})")
    if key in type(spec.training).model_fields:
        return Finding(("training", key), f"{text} ({family.method} in {family.world_name})")
    if key in type(spec.execution).model_fields:
        return Finding(("execution", key), text)
    return Finding(("methods", family.method), f"{message} (in world {family.world_name})")


def _world_problem(family: Family, message: str) -> Finding:
    """Name a world's id or its wrappers as the key, and leave out the id, which stands there anyway."""
    path: Path = ("worlds", family.world_name)
    if not isinstance(family.world, GymWorldConfig):
        return Finding(path, message)
    text = message.removeprefix(f"world {family.world.id}: ")
    key = "wrappers" if text.startswith(("wrapper ", "there is no wrapper ")) else "id"
    return Finding((*path, key), text)
