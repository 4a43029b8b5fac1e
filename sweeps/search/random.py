"""Independent random draws."""

import numpy as np

from mulex.streams import stream_keys, uniforms
from sweeps.search.base import QuantileSearch


class RandomSearch(QuantileSearch):
    """Draws every hyperparameter from a stream of its own, so adding one leaves the others unchanged."""

    name = "random"
    description = "independent draws from each distribution"

    def quantiles(self, method: str, names: list[str]) -> dict[str, np.ndarray]:
        owner = f"sweep {self.seed}/{method}"
        return {name: uniforms(stream_keys([owner], name), np.arange(self.draws)) for name in names}
