"""Makes the engine that trains one run with an external learner of any kind."""

from pathlib import Path

from mulex.errors import UserError
from mulex.learners.command import CommandAdapter
from mulex.learners.contract import Adapter, Run
from mulex.learners.engine import LearnerEngine
from mulex.learners.limits import NO_LIMITS, Limits
from mulex.learners.names import LearnerName
from mulex.learners.python import load_learner


def make_learner_engine(
    learner: LearnerName, run: Run, folder: Path | None = None, limits: Limits = NO_LIMITS
) -> LearnerEngine:
    """An engine that trains one run with an external learner.

    Args:
        learner: The learner as a spec names it.
        run: What it is given.
        folder: Where a command is run.
        limits: What the run may take.
    """
    if learner.kind == "command":
        command = list(learner.command)

        def begin(run: Run) -> Adapter:
            return CommandAdapter(command, run, folder, limits)

        return LearnerEngine("command", run, begin)  # the command looks at its limits itself, and keeps its output
    if learner.kind == "sb3":
        from mulex.learners.sb3 import SB3Adapter

        return LearnerEngine(learner.name, run, lambda run: SB3Adapter(learner.algorithm, run), limits)
    if learner.kind == "python":
        return LearnerEngine(learner.name, run, load_learner(learner.name).start, limits)
    raise UserError(f"learner {learner.name}: is trained by the engines of mulex.learners.dqn")
