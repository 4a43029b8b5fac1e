"""From a YAML spec to finished runs: spec, draws, plan, launch on Ray, status.

`load_spec`, `launch`, `resume`, `confirm` and `status` are the whole Python API. They are loaded when they are first
used, so that importing this package is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sweeps.api import Outcome, confirm, launch, resume, status
    from sweeps.spec import Spec, SpecError, load_spec

__all__ = ["Outcome", "Spec", "SpecError", "confirm", "launch", "load_spec", "resume", "status"]

_HOMES = {"load_spec": "sweeps.spec", "Spec": "sweeps.spec", "SpecError": "sweeps.spec"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "sweeps.api")), name)


def __dir__() -> list[str]:
    return __all__
