"""What is kept in memory of each finished run of a sweep: enough for counts, lists and look-ups, and not its curve."""

import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from mulex.store.score import score_of

if TYPE_CHECKING:
    from mulex.store.run_file import RunNote


class RunEntry(NamedTuple):
    """A finished run in few bytes; large sweeps have hundreds of thousands of them."""

    name: str
    run: str
    world: str
    method: str
    draw: int
    seed: int
    status: str
    error: str | None
    score: float | None
    iterations: int
    seconds: float
    finished_at: datetime
    host: str | None
    spec_hash: str | None
    launch: int
    checksum: str

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What the tables are sorted by."""
        return self.world, self.method, self.draw, self.seed

    @property
    def needs_training(self) -> bool:
        """Whether the next launch tries it again."""
        return self.status == "failed"


def entry_of(name: str, note: "RunNote") -> RunEntry:
    """The entry of a run file."""
    return entry_of_row(name, note.row, note.launch, note.checksum)


def entry_of_row(name: str, row: Mapping[str, Any], launch: int, checksum: str) -> RunEntry:
    """The entry of a run by its row of `runs`."""
    return RunEntry(
        name,
        row["run"],
        sys.intern(row["world"]),
        sys.intern(row["method"]),
        int(row["draw"]),
        int(row["seed"]),
        sys.intern(row.get("status") or "failed"),
        row.get("error"),
        score_of(row),
        int(row.get("iterations") or 0),
        float(row.get("seconds") or 0.0),
        row["finished_at"],
        row.get("host"),
        row.get("spec_hash"),
        launch,
        checksum,
    )
