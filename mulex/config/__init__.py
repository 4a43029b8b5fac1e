"""What decides the outcome of a run, as frozen, typed values: its world, its training, its recipe. Imports no torch.

Every field has a description and an origin: `given` by the paper, or `chosen` by us where the paper is silent. The
upper limits are generous; they keep numbers within what the engines can count and a machine can hold.
"""

from mulex.config.recipe import LIMITS, RESERVED_NAMES, ActingConfig, HeadConfig, MethodConfig
from mulex.config.run import PerMember, RunConfig
from mulex.config.training import ADAM_DECAYS, ENGINES, LastReturns, TrainingConfig
from mulex.config.worlds import GridWorldConfig, GymWorldConfig, WorldConfig

__all__ = [
    "ADAM_DECAYS",
    "ENGINES",
    "LIMITS",
    "RESERVED_NAMES",
    "ActingConfig",
    "GridWorldConfig",
    "GymWorldConfig",
    "HeadConfig",
    "LastReturns",
    "MethodConfig",
    "PerMember",
    "RunConfig",
    "TrainingConfig",
    "WorldConfig",
]
