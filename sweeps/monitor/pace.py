"""How long a sweep will still take: what its runs cost, and how many packs are being trained now."""

from dataclasses import dataclass

from sweeps.monitor.status import Status

ENOUGH_SECONDS = 5.0
"""Of training, before anything is said: the first moments of a worker tell nothing."""


@dataclass(frozen=True)
class Forecast:
    """What the costs so far promise."""

    runs_an_hour: float
    seconds_left: float
    is_least: bool  # nothing is known yet of what some runs cost, so it may take longer


def forecast(status: Status) -> Forecast | None:
    """Forecast the end of a sweep from the training time of its runs; None if nothing is being trained.

    A run's cost is the training time that finished runs of its method and world took, with the finished share of those
    in training. So runs of large worlds count for more, and one look at a sweep is enough.
    """
    workers, lines = len(status.packs), status.lines
    known = [line.seconds_a_run for line in lines]
    if not workers or sum(line.seconds for line in lines) < ENOUGH_SECONDS or not any(known):
        return None
    dearest = max(cost for cost in known if cost)
    costs = [cost or dearest for cost in known]
    left = sum((line.total - line.ended) * cost for line, cost in zip(lines, costs, strict=True))
    runs = sum(line.total - line.ended for line in lines)
    if left <= 0 or runs <= 0:
        return None
    is_least = any(not cost and line.pending for cost, line in zip(known, lines, strict=True))
    by = {(line.world, line.method): cost for line, cost in zip(lines, costs, strict=True)}
    return Forecast(3600 * workers * runs / left, max(left / workers, _longest(status, by)), is_least)


def _longest(status: Status, costs: dict[tuple[str, str], float]) -> float:
    """The seconds that the pack with the most to do still takes: a sweep is not done before its last pack."""
    return max(
        len(pack["runs"])
        * costs.get((pack.get("world"), pack.get("method")), 0.0)  # type: ignore[arg-type]
        * (1 - pack["iteration"] / pack["iterations"])
        for pack in status.packs
    )
