"""Runs and engines for the tests of learners."""

import sys
from pathlib import Path
from typing import Any

from mulex.learners.contract import Run
from mulex.learners.engine import LearnerEngine
from mulex.learners.limits import Limits
from mulex.learners.make import make_learner_engine
from mulex.learners.names import LearnerName
from mulex.learners.rows import Row

FROZEN_LAKE = {"id": "FrozenLake-v1", "kwargs": {"is_slippery": False}, "ideal_return": 1.0}
CART_POLE = {"id": "CartPole-v1", "kwargs": {}, "ideal_return": 500.0}


def make_run(
    scratch: Path, values: dict[str, Any] | None = None, run_id: str = "0123456789abcdef", **other: Any
) -> Run:
    settings = {"seed": 0, "world": CART_POLE, "iterations": 4, **other}
    return Run(run_id=run_id, values=values or {}, scratch=scratch, **settings)


def python_engine(name: str, run: Run, timeout: float | None = None, memory: float | None = None) -> LearnerEngine:
    return make_learner_engine(LearnerName.of(name), run, limits=Limits(timeout, memory))


def command_engine(
    command: list[str], run: Run, timeout: float | None = None, memory: float | None = None
) -> LearnerEngine:
    return make_learner_engine(LearnerName.of(command=command), run, limits=Limits(timeout, memory))


def script(folder: Path, code: str) -> list[str]:
    """A command that runs this Python code."""
    path = folder / "script.py"
    path.write_text(code)
    return [sys.executable, str(path)]


def rows_of(engine: LearnerEngine, count: int) -> list[Row]:
    """The next rows, without how long each took."""
    rows = [engine.iterate()[0] for _ in range(count)]
    return [{name: cell for name, cell in row.items() if name != "seconds"} for row in rows]
