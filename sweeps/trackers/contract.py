"""What a tracker is given of a run, and what it must do with it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

LABELS = ("run", "world", "method", "draw", "seed", "role")
RESULTS = (
    "score",
    "auc",
    "normalised_auc",
    "final_return",
    "best_return",
    "iterations_to_ideal",
    "iterations",
    "updates",
)
"""The numbers of a finished run that are not part of its curve."""


class Sent(NamedTuple):
    """What a tracker has of a run: how many iterations, and which ended state (see `Entry.mark`), if any."""

    iterations: int = 0
    mark: str | None = None


@dataclass(frozen=True)
class Entry:
    """A run as a tracker gets it.

    Attributes:
        labels: Its run id, world, method, draw, seed and role.
        sweep: The sweep's name.
        values: Its hyperparameters by name, without those whose condition does not hold.
        status: running, paused, done, stopped, diverged or failed.
        rows: Rows of its curve in the order of their iterations: all of them if it has ended.
        known: How many iterations the tracker already has.
        results: Numbers about the whole run, if it has ended.
        error: Why it failed or diverged.
        started_at: When it began, if that is known.
        finished_at: When it ended.
    """

    labels: Mapping[str, Any]
    sweep: str
    values: Mapping[str, Any]
    status: str
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    known: int = 0
    results: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def run(self) -> str:
        return str(self.labels["run"])

    @property
    def name(self) -> str:
        """The run in words."""
        labels = self.labels
        return f"{labels['method']}/{labels['world']}/draw-{labels['draw']}/seed-{labels['seed']}"

    @property
    def ended(self) -> bool:
        return self.status not in ("running", "paused")

    @property
    def mark(self) -> str | None:
        """A text that is another one if the run is trained again; None if it has not ended."""
        return f"{self.status} {self.finished_at}" if self.ended else None

    @property
    def iterations(self) -> int:
        """How many iterations the tracker has once it has this entry."""
        return max([self.known, *(int(row["iteration"]) for row in self.rows[-1:])])

    @property
    def parameters(self) -> dict[str, Any]:
        """The hyperparameters, and what tells the run from others, flat by name."""
        return {**{name: self.labels[name] for name in LABELS}, "sweep": self.sweep, **self.values}

    def news(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield each iteration that the tracker does not have, with every number of its row."""
        for row in self.rows:
            if row["iteration"] > self.known:
                yield int(row["iteration"]), numbers(row)

    def moment(self, iteration: int) -> float:
        """When an iteration was done, in seconds since 1970: interpolated if the run has ended, otherwise now."""
        if self.started_at is None or self.finished_at is None or not self.rows:
            return datetime.now(UTC).timestamp()
        share = iteration / max(1, int(self.rows[-1]["iteration"]))
        return self.started_at.timestamp() + share * (self.finished_at - self.started_at).total_seconds()


def numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the columns of a row of `curves` that hold numbers, without its labels."""
    return {
        name: float(value)
        for name, value in row.items()
        if name not in (*LABELS, "iteration") and isinstance(value, int | float)
    }


def results_of(row: Mapping[str, Any], score: float | None) -> dict[str, float]:
    """Return the numbers about a whole run from its row of `runs`."""
    found = {name: row.get(name) for name in RESULTS} | {"score": score}
    return {name: float(x) for name, x in found.items() if isinstance(x, int | float) and math.isfinite(x)}


class Tracker(Protocol):
    """Something that keeps runs: a program's server, or files in its format."""

    live: bool
    """Whether it takes runs that have not ended."""

    def sent(self, run: str) -> Sent:
        """Return what it already has of a run, asked once for each run."""

    def send(self, entry: Entry) -> None:
        """Add what is new in an entry."""

    def flush(self) -> None:
        """Finish what several entries share; called after each round of entries."""

    def close(self) -> None:
        """Let go of files and connections."""
