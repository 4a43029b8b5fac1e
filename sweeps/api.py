"""Sweeps from Python: launch or resume one and learn what came of it, or look at how it stands."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mulex.errors import UserError
from mulex.store.folder import Folder, open_folder
from mulex.store.layout import SPEC
from mulex.store.lease import Lease
from mulex.store.roles import TEST, TUNE
from sweeps.budget import check_budget, what_is_left
from sweeps.choosing import choose_draws, chosen_lines
from sweeps.confirmation import MOST_TEST_SEEDS, Confirmation
from sweeps.engine_check import check_engines
from sweeps.execution.cluster import Cluster
from sweeps.growth import with_growth
from sweeps.interruption import Interruption
from sweeps.inventory import additions, frozen_spec
from sweeps.launcher import Ended, Launch
from sweeps.looking import next_draws, with_draws, with_search
from sweeps.monitor.status import Board, Status
from sweeps.notify import notify
from sweeps.plan import make_plan
from sweeps.spec import Spec
from sweeps.trackers.live import live_export, open_trackers

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130


@dataclass(frozen=True)
class Outcome:
    """What came of a launch.

    Attributes:
        folder: The sweep's folder, as a path or URL.
        done: Runs with a result; those that a scheduler stopped early are among them.
        failed: Runs that failed with an error. The next launch tries them again.
        diverged: Runs whose loss became NaN or infinite. They keep their result and are not trained again.
        missing: Planned runs without a result, because the launch was interrupted or the storage failed.
        interrupted: Whether somebody stopped the launch, with Ctrl-C for example. Packs have left checkpoints.
        storage_error: Why the sweep's folder could not be written, or None.
        strangers: Run files in the folder that the spec does not plan. They are left out of the tables.
        budget: Why the budget ended the launch, what is left and what it would cost; empty if it did not.
        status: The sweep in detail, as `sweeps.status` returns it.
    """

    folder: str
    done: int
    failed: int
    diverged: int
    missing: int
    interrupted: bool
    storage_error: str | None
    strangers: tuple[str, ...]
    status: Status
    budget: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code of `mulex sweep`: 0 if every run is done, 130 if it was interrupted, otherwise 1."""
        if self.interrupted:
            return INTERRUPTED
        return int(bool(self.failed or self.diverged or self.missing or self.storage_error or self.strangers))


def launch(
    spec: Spec | str | Path | Mapping[str, Any],
    folder: str | Path,
    *,
    cpus: int | None = None,
    address: str | None = None,
    dashboard: bool = False,
    progress: "bool | Console | None" = None,
) -> Outcome:
    """Train every run of a spec that the folder does not have yet.

    Launching again continues: after any loss, and after draws, seeds, methods or worlds were added to the spec. Failed
    runs are tried again. In the main thread Ctrl-C stops the launch once all packs have left checkpoints.

    Args:
        spec: What `sweeps.load_spec` returned, or what it takes: a path, the name of a shipped spec, or a dict.
        folder: The sweep's folder: a path, or a URL such as `s3://bucket/sweep`. It is made if it is not there.
        cpus: Cores for the embedded Ray. All cores of the machine by default.
        address: A Ray cluster to train on (`auto` or `host:port`) instead of an embedded Ray.
        dashboard: Whether to start the embedded Ray's dashboard.
        progress: True, or a console of rich, to show the progress there. Nothing is printed by default.

    Returns:
        What came of all planned runs, those of earlier launches included.

    Raises:
        mulex.errors.UserError: The spec is wrong, it changes what the folder was launched with, another launcher has
            the sweep, or no cluster answers at the address.
        mulex.store.folder.StorageError: The folder cannot be read or written at all.

    Example:
        >>> spec = sweeps.load_spec("quick", {"search.draws": 2})
        >>> outcome = sweeps.launch(spec, "out/quick", cpus=2)
        >>> outcome.done, outcome.failed
        (12, 0)
    """
    if not isinstance(spec, Spec):
        from sweeps import load_spec

        spec = load_spec(spec)
    return launch_in(spec, open_folder(folder), Cluster(address, cpus, dashboard), progress)


def resume(
    folder: str | Path,
    *,
    cpus: int | None = None,
    address: str | None = None,
    dashboard: bool = False,
    progress: "bool | Console | None" = None,
) -> Outcome:
    """Continue a sweep from the spec in its own folder.

    The arguments, the result and the errors are those of `launch`.

    Example:
        >>> sweeps.resume("out/quick").exit_code
        0
    """
    opened = open_folder(folder)
    return launch_in(frozen_spec(opened), opened, Cluster(address, cpus, dashboard), progress)


def confirm(
    folder: str | Path,
    top: int = 3,
    seeds: int = 30,
    *,
    cpus: int | None = None,
    address: str | None = None,
    dashboard: bool = False,
    progress: "bool | Console | None" = None,
) -> Outcome:
    """Train the best draws of each method in each world again, with test seeds, which no tuning saw.

    The draws with the highest mean scores over their tuning seeds are chosen, and the choice is kept in the sweep's
    folder. A later call, `resume` and `launch` continue what is missing; a later call with more draws or seeds adds to
    them. Test runs have the role `test` in the table of runs.

    Args:
        folder: The sweep's folder, as a path or URL.
        top: How many draws of each method in each world.
        seeds: How many test seeds each of them is trained with; the first one is 1,000,000,000.
        cpus: As in `launch`, as the arguments after it are.
        address: A Ray cluster to train on.
        dashboard: Whether to start the embedded Ray's dashboard.
        progress: True, or a console of rich, to show the progress there.

    Returns:
        What came of the test runs.

    Raises:
        mulex.errors.UserError: The folder is not a sweep's, no draw is finished, or `top` or `seeds` is below 1.
        mulex.store.folder.StorageError: The folder cannot be read or written at all.

    Example:
        >>> sweeps.confirm("out/main", top=3, seeds=30).done
        270
    """
    return confirm_in(open_folder(folder), top, seeds, Cluster(address, cpus, dashboard), progress)


def status(folder: str | Path) -> Status:
    """Read how a sweep stands from its folder: one that is being trained, one that was stopped, or a finished one.

    Args:
        folder: The sweep's folder, as a path or URL.

    Returns:
        Counts and scores by method and world, the running packs, the failures, and with `runs` a table of all planned
        runs.

    Raises:
        mulex.errors.UserError: The folder is not a sweep's.
        mulex.store.folder.StorageError: The folder cannot be read.

    Example:
        >>> runs = sweeps.status("out/quick").runs
        >>> runs[runs.status == "failed"][["run", "error"]]
    """
    opened = open_folder(folder)
    return Board(frozen_spec(opened), opened).refresh()


def confirm_in(
    folder: Folder, top: int, seeds: int, cluster: Cluster, progress: "bool | Console | None" = None
) -> Outcome:
    """Confirm draws of the sweep in an open folder; see `confirm`."""
    for name, number, most in (("top", top, 1_000_000), ("seeds", seeds, MOST_TEST_SEEDS)):
        if not 1 <= number <= most:
            raise UserError(f"{name}: got {number}, allowed is a whole number from 1 to {most:,}")
    spec = frozen_spec(folder)
    return launch_in(spec, folder, cluster, progress, lambda: choose_draws(make_plan(spec, folder), folder, top, seeds))


def launch_in(
    spec: Spec,
    folder: Folder,
    cluster: Cluster,
    progress: "bool | Console | None" = None,
    choose: Callable[[], Confirmation] | None = None,
) -> Outcome:
    """Launch a spec in an open folder; see `launch`. With a choice of draws only their test runs are trained."""
    console = _console(progress)
    say = _printer(console)
    spec = with_draws(folder, with_growth(folder, spec))
    check_budget(spec)
    if not cluster.address and not folder.exists(SPEC):  # workers elsewhere may have what is missing here
        check_engines(spec)  # before anything is written
    trackers = open_trackers(spec, folder)
    with Lease(folder, say) as lease, Interruption().listening() as interruption:
        for added in additions(folder, spec):
            say(f"added: {added}")
        confirmation = choose() if choose else None
        for line in chosen_lines(confirmation) if confirmation else []:
            say(line)
        while True:
            launched = Launch(spec, folder, cluster, interruption, lease, say, confirmation)
            board = Board(spec, folder, launched.store)
            tracked = live_export(trackers, Board(spec, folder, launched.store), say, lambda: interruption.asked)
            with tracked, _shown(board, console, interruption):
                ended = launched.run()
            more = _more_draws(launched, ended, say) if confirmation is None else None
            if more is None:
                break
            spec = with_search(spec, {"draws": more})
    status = board.refresh(store_alone=True)
    roles = (TUNE, TEST) if confirmation is None else (TEST,)
    failed = [finished.status for run, finished in status.failures if run.role in roles]
    outcome = Outcome(
        folder.url,
        status.count("done") if confirmation is None else status.tests("done"),
        failed.count("failed"),
        failed.count("diverged"),
        status.count("pending") if confirmation is None else status.tests("pending"),
        ended.interrupted,
        ended.storage_error,
        ended.strangers,
        status,
        f"{ended.spent}; {what_is_left(status, spec.execution.cpus_per_pack)}" if ended.spent else "",
    )
    if trouble := notify(spec.execution.notify, spec.name, outcome):
        say(trouble)
    return outcome


def _more_draws(launched: Launch, ended: Ended, say: Callable[[str], None]) -> int | None:
    """Return how many draws a sweep with `search.until` needs next; None if these are enough, or it was cut short."""
    if ended.interrupted or ended.storage_error or ended.spent:
        return None
    more, lines = next_draws(launched.plan, launched.store)
    for line in lines:
        say(line)
    return more


def _console(progress: "bool | Console | None") -> "Console | None":
    if progress is True:
        from rich.console import Console

        return Console()
    return progress or None


def _printer(console: "Console | None") -> Callable[[str], None]:
    from sweeps.monitor.terminal import say

    return lambda line: say(console, line) if console else None


@contextmanager
def _shown(board: Board, console: "Console | None", interruption: Interruption) -> Iterator[None]:
    if console is None:
        yield
        return
    from sweeps.monitor.terminal import LiveView

    with LiveView(board, console, lambda: interruption.asked):
        yield
