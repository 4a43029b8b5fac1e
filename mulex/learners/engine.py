"""An external learner as an engine, for one run; the engines of our DQN are in `mulex.learners.dqn`."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mulex.errors import UserError
from mulex.learners.contract import SCORE_COLUMN, Adapter, Run, prefixed, under
from mulex.learners.failures import LearnerFailed, is_termination, raised, whole_traceback
from mulex.learners.limits import NO_LIMITS, Limits
from mulex.learners.memory import MemoryLimitPassed, memory_limit, resident, size
from mulex.learners.random_states import OwnRandomness, RandomStates
from mulex.learners.rows import Row, RowReader, not_finite
from mulex.learners.scratch import remove_scratch
from mulex.learners.time_limit import TimeLimitPassed, time_limit

_STATE, _RANDOM, _GENERATOR, _ITERATIONS = "state.", "random.", "generator.", "iterations"
_STACKS = "stacks.txt"


class LearnerEngine:
    """Trains one run with a learner, an iteration at a time; the counterpart of the engines of our own learner.

    Whatever goes wrong inside the learner becomes LearnerFailed with the whole traceback or output. The rows so far
    are the caller's already.
    """

    def __init__(self, name: str, run: Run, start: Callable[[Run], Adapter], limits: Limits = NO_LIMITS) -> None:
        self.name, self.run, self._limits = name, run, limits
        self._memory_before = 0 if limits.memory is None else resident()
        self.iterations = 0
        self.updates = 0  # as the learner counts them; 0 if it does not
        self.diverged: str | None = None
        self._started_after = 0
        self._start, self._adapter = start, None  # type: tuple[Callable[[Run], Adapter], Adapter | None]
        self._rows = RowReader()
        self._random = OwnRandomness(run.key)
        run.scratch.mkdir(parents=True, exist_ok=True)

    def prepare(self) -> None:
        """Start the learner without training, so that what it refuses is known at once."""
        self._guarded(self._begun, "start")

    def iterate(self) -> list[Row]:
        """Train for one iteration, then evaluate: one row."""
        started = time.perf_counter()
        raw = self._guarded(lambda: self._begun().iterate(), f"row {self.iterations + 1}")
        row = self._rows.read(raw, self.iterations + 1)
        if self.diverged is None and (column := not_finite(row)):
            self.diverged = f"{column} is NaN or infinite in iteration {self.iterations + 1}"
        if self.iterations == self._started_after:
            self._check_reads()
        self.iterations += 1
        self.updates = self._begun().updates
        return [self._filled(row, time.perf_counter() - started)]

    def save(self) -> dict[str, np.ndarray]:
        """The state as arrays; of a learner that cannot be resumed, only that it begins again."""
        saved = self._guarded(lambda: self._adapter.save() if self._adapter else None, "save")
        if saved is None:
            return {_ITERATIONS: np.array(0)}
        arrays = prefixed(_STATE, saved.arrays) | prefixed(_RANDOM, self._random.states.arrays)
        arrays |= prefixed(_GENERATOR, self.run.generators.save())
        return {_ITERATIONS: np.array(self.iterations - saved.rows_since), **arrays}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Take what `save` gave; `iterations` says after which row it goes on, which may be 0."""
        self.iterations = self._started_after = int(arrays[_ITERATIONS])
        if not self.iterations:
            return
        self._guarded(lambda: self._begun().load(under(_STATE, arrays), self.iterations), "load")
        self._random.states = RandomStates(under(_RANDOM, arrays))
        self.run.generators.load(under(_GENERATOR, arrays))

    def weights(self, p: int) -> dict[str, np.ndarray]:
        """The final state in place of weights, for whoever wants to keep it."""
        return {name: array for name, array in self.save().items() if name.startswith(_STATE)}

    def close(self) -> None:
        """Let the learner release what it holds, whatever it does in return, and remove its scratch folder."""
        adapter, self._adapter = self._adapter, None
        try:
            if adapter is not None:
                self._call(adapter.close)
        except (Exception, SystemExit, TimeLimitPassed, MemoryLimitPassed) as error:
            print(f"close: {self.name} failed: {error!r}", flush=True)
        finally:
            remove_scratch(self.run.scratch)

    def _begun(self) -> Adapter:
        if self._adapter is None:
            self._adapter = self._start(self.run)
        return self._adapter

    def _guarded(self, work: Callable[[], Any], when: str) -> Any:
        try:
            return self._call(work)
        except (UserError, LearnerFailed, KeyboardInterrupt):
            raise
        except TimeLimitPassed as error:
            seconds = f"{self._limits.iteration_timeout:g} seconds, which execution.iteration_timeout allows"
            raise LearnerFailed("hung", f"{when}: took longer than {seconds}", whole_traceback(error)) from None
        except MemoryLimitPassed as error:
            most = f"{size(self._limits.memory or 0)}, which execution.memory_limit allows"
            raise LearnerFailed(
                "grown", f"{when}: its process grew by more than {most}", whole_traceback(error)
            ) from None
        except (Exception, SystemExit) as error:
            if is_termination(error):
                raise
            raise raised(error, when) from None

    def _call(self, work: Callable[[], Any]) -> Any:
        """Work with the run's own random states, under its limits."""
        with self._random.in_place():
            if self._limits == NO_LIMITS:
                return work()
            with (
                (self.run.scratch / _STACKS).open("a") as stacks,
                time_limit(self._limits.iteration_timeout, stacks),
                memory_limit(self._limits.memory, self._memory_before, stacks),
            ):
                return work()

    def _check_reads(self) -> None:
        """Refuse hyperparameters that the learner never read."""
        unread = self.run.values.unread() if hasattr(self.run.values, "unread") else []
        if unread:
            raise UserError(
                f"{', '.join(unread)}: {self.name} has not read it when its first row came; remove it, read it from "
                "run.values at the beginning, or declare it in `hyperparameters`"
            )

    def _filled(self, row: Row, seconds: float) -> Row:
        ideal, score = self.run.world.get("ideal_return"), row[SCORE_COLUMN]
        assert isinstance(score, float)
        first: Row = {"iteration": self.iterations, "normalised_return": score / ideal if ideal else None}
        return {**first, "env_steps": None, **row, "seconds": seconds}
