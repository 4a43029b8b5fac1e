"""Makes the worlds of a pack from their configuration."""

from mulex.config import GymWorldConfig, WorldConfig
from mulex.streams import stream_keys
from mulex.worlds.gymnasium_worlds import GymWorlds
from mulex.worlds.interface import GridWorlds, Worlds
from mulex.worlds.world import build_world


def make_worlds(config: WorldConfig, owners: list[str], purpose: str) -> Worlds:
    """Make one world per owner (a run id); its random numbers come from the owner's stream for this purpose."""
    keys = stream_keys(owners, purpose)
    if isinstance(config, GymWorldConfig):
        return GymWorlds(config.id, config.kwargs, config.ideal_return, keys, config.wrappers)
    return GridWorlds(build_world(**config.model_dump()), keys)
