"""Opens the trackers of a spec before a launch, and keeps them up to date while it runs."""

from collections.abc import Callable, Sequence

from mulex.store.folder import Folder
from sweeps.monitor.status import Board
from sweeps.spec import Spec
from sweeps.trackers.contract import Tracker
from sweeps.trackers.exporter import Exporter, LiveExport
from sweeps.trackers.source import FolderSource
from sweeps.trackers.targets import check_installed, make_tracker


def open_trackers(spec: Spec, folder: Folder) -> list[tuple[str, Tracker]]:
    """Open the trackers that a spec names.

    Raises:
        UserError: A tracker is not installed or cannot be used. Nothing has been written.
    """
    targets = spec.execution.all_trackers
    check_installed(targets)
    return [(target, make_tracker(target, spec.name, folder, None)) for target in targets]


def live_export(
    trackers: Sequence[tuple[str, Tracker]], board: Board, say: Callable[[str], None], hurried: Callable[[], bool]
) -> LiveExport:
    """Return what sends the runs of a launch to open trackers; the board is its own."""
    source = FolderSource(board)
    return LiveExport([(target, Exporter(source, tracker)) for target, tracker in trackers], say, hurried)
