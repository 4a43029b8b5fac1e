"""Adaptive draws by Optuna's tree-structured Parzen estimator."""

from typing import TYPE_CHECKING

from sweeps.search.adaptive import AdaptiveSearch

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial


class TpeSearch(AdaptiveSearch):
    """Draws where good scores were more frequent than bad ones; each hyperparameter is modelled alone."""

    name = "tpe"
    description = "draws near those with good scores, by Optuna's tree-structured Parzen estimator"

    def sampler(self, seed: int, earlier: "list[FrozenTrial]") -> "BaseSampler":
        from optuna.samplers import TPESampler

        return TPESampler(seed=seed)
