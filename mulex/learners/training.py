"""Train a pack of an external learner's runs: `mulex.training`, with failures that leave the rows so far."""

from mulex.learners.failures import LearnerFailed
from mulex.learners.pack import LearnerPack
from mulex.store.folder import Folder
from mulex.training import Pack, PackTraining


class LearnerTraining(PackTraining):
    """A pack whose engine is a learner of somebody else's: it may fail, and may have to begin again."""

    def __init__(
        self, pack: Pack, engine: LearnerPack, folder: Folder, keep_checkpoints: bool = False, source: str = ""
    ) -> None:
        super().__init__(pack, engine, folder, keep_checkpoints=keep_checkpoints, source=source)
        self._learners = engine

    def begin(self) -> list[str]:
        """Take up the latest checkpoint; rows that came after the state that a learner kept are trained again."""
        said = super().begin()
        after = self.engine.iterations
        if self.pack.curves[0] and not after:
            said = [*said[:-1], "the learner keeps no state: beginning again"]
        self.pack.curves = [curve[:after] for curve in self.pack.curves]
        if not after:
            self.pack.errors = [None for _ in self.pack.runs]
        return said

    def iterate(self) -> None:
        """Train one iteration; a learner's own signs of divergence count too."""
        super().iterate()
        self.pack.errors = [
            known or found for known, found in zip(self.pack.errors, self._learners.diverged, strict=True)
        ]

    def _record(self, error: Exception) -> None:
        """Record the run whose learner failed, with its story."""
        if isinstance(error, LearnerFailed):
            self._write_failed(error.member, str(error))
        else:
            super()._record(error)
