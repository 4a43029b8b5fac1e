"""Searches that choose a draw when a worker is free, from the scores of the draws before it.

Every draw is written to draws/<method>.json before it is trained. A later launch first finishes the draws of that file,
and rebuilds each method's study from those that have a score.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING

from mulex.store.folder import Folder
from mulex.streams import stream_key
from sweeps.search.base import Drawn, Search
from sweeps.search.random import RandomSearch

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

    from sweeps.search.study import Study


class AdaptiveSearch(Search):
    """A search by one of Optuna's samplers."""

    adaptive = True

    @abstractmethod
    def sampler(self, seed: int, earlier: "list[FrozenTrial]") -> "BaseSampler":
        """Return a new sampler; `earlier` are the scored draws of earlier launches."""

    def studies(self, drawn: Drawn) -> "dict[str, Study]":
        """Return a study of each method; `drawn` are the draws of earlier launches, which must not be repeated."""
        from sweeps.search.study import Study

        made = {}
        for method, space in self.spaces.items():
            key = stream_key(f"sweep {self.seed}/{method}", f"{self.name} {len(drawn[method])}")
            made[method] = Study(self, key % 2**32, space)
        return made

    def drawn(self, folder: Folder) -> Drawn:
        from sweeps.search.ledger import read_ledger

        return {method: read_ledger(folder, method, space, self.draws) for method, space in self.spaces.items()}

    def forecast(self, folder: Folder) -> Drawn:
        stand_ins = RandomSearch(self.seed, self.draws, self.spaces).drawn(folder)
        return {method: [*asked, *stand_ins[method][len(asked) :]] for method, asked in self.drawn(folder).items()}

    def record(self, folder: Folder, drawn: Drawn) -> None:
        """Write nothing: every draw is recorded when it is chosen."""
