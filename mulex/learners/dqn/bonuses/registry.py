"""The bonuses that a spec can name."""

from dataclasses import dataclass

from mulex.learners.dqn.registry import Entry, Registry


@dataclass(frozen=True)
class BonusEntry(Entry):
    """A bonus; its implementation is a function of the worlds, the runs and the device that returns a Bonus."""

    largest: float | None = None  # the largest bonus of a step; None if there is no bound


BONUSES: Registry[BonusEntry] = Registry(
    "bonus",
    {
        "oracle": BonusEntry(
            "1 / sqrt(visits) of the state.", "mulex.learners.dqn.bonuses.oracle:make_oracle", True, 1.0
        ),
        "simhash": BonusEntry(
            "1 / sqrt(visits) of a hash of the frame.", "mulex.learners.dqn.bonuses.simhash:make_simhash", True, 1.0
        ),
        "rnd": BonusEntry(
            "The error of a network that learns to predict a random one (random network distillation).",
            "mulex.learners.dqn.bonuses.rnd:RNDBonus",
        ),
    },
)
"""Every bonus by its name."""
