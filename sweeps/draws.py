"""Points of a method's search space: draw i depends on (sweep seed, method, i) alone, so more change no earlier one."""

import warnings

import numpy as np

from mulex.streams import stream_key, stream_keys, uniforms
from sweeps.distributions import Distribution

Space = dict[str, Distribution]
Values = dict[str, float]


def draws_name(method: str) -> str:
    """Where the draws of a method are written down, for searches that ask as they go and spaces of few values."""
    return f"draws/{method}.json"


def draw_values(algorithm: str, seed: int, method: str, space: Space, draws: int) -> list[Values]:
    """The first draws of a method, ahead of time: `random` or `sobol`."""
    searched = sorted(name for name, distribution in space.items() if not distribution.is_constant)
    places = _sobol(seed, method, searched, draws) if algorithm == "sobol" else _random(seed, method, searched, draws)
    return [
        {name: distribution.at(places[name][i] if name in places else 0.0) for name, distribution in space.items()}
        for i in range(draws)
    ]


def _random(seed: int, method: str, names: list[str], draws: int) -> dict[str, list[float]]:
    """Each hyperparameter has a stream of its own, so adding one leaves the others as they were."""
    owner = f"sweep {seed}/{method}"
    return {name: uniforms(stream_keys([owner], name), np.arange(draws)).tolist() for name in names}


def _sobol(seed: int, method: str, names: list[str], draws: int) -> dict[str, list[float]]:
    """Owen-scrambled Sobol points, one axis a searched hyperparameter in the order of names."""
    from scipy.stats import qmc

    if not names:
        return {}
    generator = np.random.default_rng(stream_key(f"sweep {seed}/{method}", "sobol"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The balance properties")  # any prefix of the sequence is what we want
        points = qmc.Sobol(len(names), scramble=True, rng=generator).random(draws)
    return {name: points[:, k].tolist() for k, name in enumerate(names)}
