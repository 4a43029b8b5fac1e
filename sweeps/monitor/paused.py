"""Packs that wait for the next launch with a checkpoint."""

from dataclasses import dataclass

from mulex.store.checkpoints import begun_packs, newest_iteration
from sweeps.monitor.status import Board, Status
from sweeps.plan import PlannedRun


@dataclass(frozen=True)
class Paused:
    """A pack that nobody trains now, and the iteration that its newest checkpoint was taken after."""

    runs: tuple[PlannedRun, ...]
    iteration: int


def find_paused(board: Board, status: Status) -> list[Paused]:
    """Return the packs with a checkpoint whose runs are neither done nor being trained, the furthest first."""
    running = {run for pack in status.packs for run in pack["runs"]}
    found = []
    for pack, ids in begun_packs(board.folder).items():
        runs = tuple(board.runs[run] for run in ids if run in board.runs and not board.is_settled(run))
        if runs and not running & set(ids) and (iteration := newest_iteration(board.folder, pack)):
            found.append(Paused(runs, iteration))
    return sorted(found, key=lambda paused: -paused.iteration)
