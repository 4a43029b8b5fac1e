"""How long a sweep will still take: what its runs cost, and how many packs are being trained now."""

from dataclasses import dataclass

from sweeps.monitor.status import Line, Status

ENOUGH_SECONDS = 5.0
"""Of training, before anything is said: the first moments of a worker tell nothing."""
ENOUGH_SHARE = 0.01
"""Of a run, for the same reason: a few iterations of thousands tell nothing either."""
TRUSTED_SHARE = 0.1
"""Of a run, before the cost of a method in a world is taken from it alone."""


@dataclass(frozen=True)
class Forecast:
    """What the costs so far promise."""

    runs_an_hour: float
    seconds_left: float
    is_least: bool  # nothing is known yet of what some runs cost, so it may take longer


def forecast(status: Status) -> Forecast | None:
    """Forecast the end of a sweep from the training time of its runs; None if nothing is being trained.

    A run's cost is the training time that finished runs of its method and world took, with the finished share of those
    in training; runs of earlier launches count little. So runs of large worlds count for more, and one look at a sweep
    is enough. As long as less than a tenth of a run is trained, the rest of that tenth is taken to cost what the other
    runs of the sweep do.
    """
    workers, lines = len(status.packs), status.lines
    trained, seconds = map(sum, zip(*(line.timed for line in lines), strict=True))
    if not workers or trained < ENOUGH_SHARE or seconds < ENOUGH_SECONDS:
        return None
    known = [_cost(line, lines) for line in lines]
    if not any(known):
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


def _cost(line: Line, lines: list[Line]) -> float | None:
    """The seconds that a run of a line takes; None before anything is known of it."""
    others = [other.timed for other in lines if other is not line]
    elsewhere = sum(runs for runs, _ in others)
    trained, seconds = line.timed
    if not line.seconds_a_run or trained >= TRUSTED_SHARE or not elsewhere:
        return line.seconds_a_run
    usual = sum(seconds for _, seconds in others) / elsewhere
    missing = min(TRUSTED_SHARE - trained, elsewhere)
    return (seconds + missing * usual) / (trained + missing)


def _longest(status: Status, costs: dict[tuple[str, str], float]) -> float:
    """The seconds that the pack with the most to do still takes: a sweep is not done before its last pack."""
    return max(
        len(pack["runs"])
        * costs.get((pack.get("world"), pack.get("method")), 0.0)  # type: ignore[arg-type]
        * (1 - pack["iteration"] / pack["iterations"])
        for pack in status.packs
    )
