"""Adaptive draws by Optuna's Gaussian process."""

from typing import TYPE_CHECKING

from sweeps.search.adaptive import AdaptiveSearch

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial


class GpSearch(AdaptiveSearch):
    """Draws where a Gaussian process expects the greatest improvement, after ten random draws.

    Hyperparameters with conditions are outside of Optuna's model: they are drawn at random.
    """

    name = "gp"
    description = (
        "draws of the greatest expected improvement, by Optuna's Gaussian process "
        "(hyperparameters with `when` are drawn at random)"
    )

    def sampler(self, seed: int, earlier: "list[FrozenTrial]") -> "BaseSampler":
        from optuna.samplers import GPSampler

        return GPSampler(seed=seed, warn_independent_sampling=False)
