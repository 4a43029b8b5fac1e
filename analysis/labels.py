"""What methods, worlds and hyperparameters are called in figures and tables; a method's colour is from `style.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.chart import Series
from analysis.style import palette

NAMES = {
    "epsilon_greedy": "ε-greedy",
    "additive": "Additive",
    "mulex": "MuleX",
    "two_task_heads": "Two task heads",
    "learning_rate": "learning rate",
    "beta": "β",
    "epsilon": "ε",
    "gamma_steps": "\u03b3 steps",
    "p_task": "p task",
    "p_1": "p₁",
    "first": "first head",
    "second": "second head",
}


def display_name(key: str) -> str:
    """Return a method, head or hyperparameter as people write it."""
    return NAMES.get(key, key.replace("_", " "))


@dataclass(frozen=True)
class Labels:
    """The caller's own names and colours, by method or world; what is not given has its usual name and colour."""

    methods: Mapping[str, str] = field(default_factory=dict)
    worlds: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[str, str] = field(default_factory=dict)

    def method(self, key: str) -> str:
        """Return the name of a method, or of whatever else a figure has as a series."""
        return self.methods.get(key, display_name(key))

    def world(self, key: str) -> str:
        """Return the name of a world."""
        return self.worlds.get(key, key)

    def series(self, keys: Sequence[str]) -> list[Series]:
        """Return the series of a chart with their names and colours."""
        colours = {**palette(keys), **self.colours}
        return [Series(key, self.method(key), colours[key]) for key in keys]


USUAL = Labels()
"""The names and colours of a figure for which the caller gave none."""
