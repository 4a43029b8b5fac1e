"""Adaptive draws by Optuna's CMA-ES."""

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sweeps.search.adaptive import AdaptiveSearch
from sweeps.search.space import Space

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial


class CmaesSearch(AdaptiveSearch):
    """Draws from a normal distribution that moves towards good scores and adapts its covariance.

    A later launch begins with a distribution that is fitted to the best of the earlier draws (warm starting).
    """

    name = "cmaes"
    description = "draws from a normal distribution that follows good scores, by Optuna's CMA-ES (ranges only)"

    @classmethod
    def problems(cls, space: Space) -> Iterator[tuple[str, str]]:
        searched = {name: distribution for name, distribution in space.items() if not distribution.is_constant}
        for name, distribution in space.items():
            if distribution.kind == "choice":
                yield name, "cmaes searches ranges of numbers, not choices; use a range, or tpe or gp"
            if distribution.when:
                yield name, "cmaes has no conditions; leave `when` out, or use tpe or gp"
        if len(searched) == 1:
            yield next(iter(searched)), "cmaes needs two or more searched hyperparameters; use tpe or gp"

    def sampler(self, seed: int, earlier: "list[FrozenTrial]") -> "BaseSampler":
        from optuna.exceptions import ExperimentalWarning
        from optuna.samplers import CmaEsSampler

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # of source_trials, whose behaviour a test holds
            return CmaEsSampler(seed=seed, source_trials=earlier or None, warn_independent_sampling=False)
