"""Worlds, learners, engines, and the training of one pack. Importing it registers the worlds with Gymnasium.

Example:
    >>> import mulex
    >>> trained = mulex.train("mulex", {"map": "two_rooms", "room_size": 3}, {"iterations": 5}, seeds=2)
    >>> trained.runs[["seed", "normalised_auc"]]
"""

from typing import TYPE_CHECKING, Any

from mulex.worlds.env import register_worlds

if TYPE_CHECKING:
    from mulex.api import Trained, train
    from mulex.errors import UserError
    from mulex.store.errors import StorageError

__all__ = ["StorageError", "Trained", "UserError", "train"]

_MODULES = {"UserError": "mulex.errors", "StorageError": "mulex.store.errors"}  # all other names are in mulex.api

register_worlds()


def __getattr__(name: str) -> Any:
    """Import the API when it is first used, so that `import mulex` stays fast and loads no torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES.get(name, "mulex.api")), name)
