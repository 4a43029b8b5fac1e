"""What a run of an external learner may take before it counts as failed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits for one run.

    Attributes:
        iteration_timeout: Seconds that an iteration may take; None is no limit.
        memory: Bytes by which the process that trains it may grow, or that a command may have; None is no limit.
    """

    iteration_timeout: float | None = None
    memory: float | None = None


NO_LIMITS = Limits()
