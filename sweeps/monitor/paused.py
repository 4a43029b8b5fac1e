"""Packs that wait for the next launch with a checkpoint."""

from dataclasses import dataclass

from mulex.store.checkpoints import newest_iterations, read_pack_runs
from sweeps.monitor.status import Board, Status
from sweeps.plan import PlannedRun


@dataclass(frozen=True)
class Paused:
    """A pack that nobody trains now, and the iteration that its newest checkpoint was taken after."""

    runs: tuple[PlannedRun, ...]
    iteration: int


def find_paused(board: Board, status: Status) -> list[Paused]:
    """Return the packs with a checkpoint whose runs are neither done nor being trained, the furthest first.

    A look costs one listing of the checkpoints; which runs a pack has is read once.
    """
    running = {run for pack in status.packs for run in pack["runs"]}
    newest = newest_iterations(board.folder)
    board.begun |= read_pack_runs(board.folder, [pack for pack in newest if pack not in board.begun])
    found = []
    for pack, iteration in newest.items():
        ids = board.begun.get(pack, [])
        runs = tuple(board.runs[run] for run in ids if run in board.runs and not board.is_settled(run))
        if runs and iteration and not running & set(ids):
            found.append(Paused(runs, iteration))
    return sorted(found, key=lambda paused: -paused.iteration)
