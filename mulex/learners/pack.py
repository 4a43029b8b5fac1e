"""Runs of a learner as one pack: each has an engine of its own, and they are trained in turn."""

import numpy as np

from mulex.learners.contract import prefixed, under
from mulex.learners.dqn.engines import Row as EngineRow
from mulex.learners.engine import LearnerEngine
from mulex.learners.failures import LearnerFailed


class LearnerPack:
    """Trains P runs, one row of each an iteration; an `Engine`."""

    def __init__(self, engines: list[LearnerEngine]) -> None:
        self.engines, self.name = engines, engines[0].name
        self.iterations = self.updates = 0

    @property
    def diverged(self) -> list[str | None]:
        """Why each run counts as diverged, if it does: (P,)."""
        return [engine.diverged for engine in self.engines]

    def iterate(self) -> list[EngineRow]:
        """Train each run for an iteration. LearnerFailed has the index of its run as `member`."""
        rows = []
        for p, engine in enumerate(self.engines):
            try:
                rows += engine.iterate()
            except LearnerFailed as failure:
                failure.member = p
                raise
        self.iterations += 1
        self.updates = self.engines[0].updates
        return rows  # type: ignore[return-value]  # rows of learners may also hold texts

    def save(self) -> dict[str, np.ndarray]:
        saved: dict[str, np.ndarray] = {}
        for p, engine in enumerate(self.engines):
            saved |= prefixed(f"{p}.", engine.save())
        return saved

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue after the iteration that all runs agree on; runs that were saved apart begin again together."""
        after = {int(arrays[f"{p}.iterations"]) for p in range(len(self.engines))}
        if len(after) == 1:
            for p, engine in enumerate(self.engines):
                engine.load(under(f"{p}.", arrays))
            self.iterations = after.pop()

    def weights(self, p: int) -> dict[str, np.ndarray]:
        return self.engines[p].weights(0)

    def close(self) -> None:
        for engine in self.engines:
            engine.close()
