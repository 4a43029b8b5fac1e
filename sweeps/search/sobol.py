"""Evenly spread draws."""

import warnings

import numpy as np

from mulex.streams import stream_key
from sweeps.search.base import QuantileSearch


class SobolSearch(QuantileSearch):
    """Draws Owen-scrambled Sobol points, with one axis for each searched hyperparameter in the order of names."""

    name = "sobol"
    description = "draws that cover the space evenly (an Owen-scrambled Sobol sequence)"

    def quantiles(self, method: str, names: list[str]) -> dict[str, np.ndarray]:
        from scipy.stats import qmc

        if not names:
            return {}
        generator = np.random.default_rng(stream_key(f"sweep {self.seed}/{method}", "sobol"))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The balance properties")  # any prefix of the sequence will do
            points = qmc.Sobol(len(names), scramble=True, rng=generator).random(self.draws)
        return {name: points[:, k] for k, name in enumerate(names)}
