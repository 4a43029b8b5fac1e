"""Where the packs of a sweep are trained."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster by its address, or an embedded one on this machine."""

    address: str | None = None
    cpus: int | None = None  # of the embedded Ray; None is all
    dashboard: bool = False
