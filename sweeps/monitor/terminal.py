"""How the status of a sweep looks in a terminal, and as plain lines where there is none."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from mulex.messages import first_line
from sweeps.monitor.pace import Forecast, forecast
from sweeps.monitor.paused import Paused
from sweeps.monitor.status import Board, Status
from sweeps.plan import PlannedRun

LOOK_SECONDS = 2.0
PLAIN_SECONDS = 30.0
MOST_FAILURES = 10
MOST_PAUSED = 5
WIDE = 1000  # characters of a line that no terminal cuts


def make_console(stderr: bool = False) -> Console:
    """Return a console that cuts no names where the output is no terminal but a file or another program."""
    console = Console(stderr=stderr)
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(stderr=stderr, width=WIDE)


def picture(status: Status, ahead: Forecast | None = None, title: str | None = None) -> RenderableType:
    """Draw one line for each method in each world, then one for the whole sweep."""
    right: dict[str, Any] = {"justify": "right"}
    table = Table(
        Column("method"),
        Column("world"),
        *[Column(name, **right) for name in ("done", "running", "failed", "pending", "best", "median")],
        title=Text(f"{title or status.name} (best and median score)"),
        title_justify="left",
    )
    for line in status.lines:
        counts = (line.done, line.running, line.failed, line.pending)
        table.add_row(line.method, line.world, *map(str, counts), _score(line.best), _score(line.median))
    ended = status.count("done") + status.count("failed")
    whole = Table.grid(padding=(0, 1))
    whole.add_row(ProgressBar(total=max(1, status.total), completed=ended, width=20), Text(summary(status, ahead)))
    return Group(table, whole)


def summary(status: Status, ahead: Forecast | None) -> str:
    """Describe the whole sweep in one line."""
    ended = status.count("done") + status.count("failed")
    words = [f"{ended} of {status.total} runs", f"{status.count('running')} running"]
    words += [f"{status.count('failed')} failed"] if status.count("failed") else []
    if ahead and ended < status.total:
        least = "at least " if ahead.is_least else "about "
        words += [f"{ahead.runs_an_hour:,.0f} runs/hour", f"{least}{duration(ahead.seconds_left)} left"]
    return ", ".join(words)


def describe(run: PlannedRun) -> str:
    """Name a run in words."""
    return f"{run.method} in {run.world}, draw {run.draw}, seed {run.seed} ({run.run_id})"


def failures(status: Status) -> list[str]:
    """List which runs failed, and why, for a terminal."""
    lines = [
        f"{finished.status}: {describe(run)}: {first_line(finished.error)}"
        for run, finished in status.failures[:MOST_FAILURES]
    ]
    more = len(status.failures) - MOST_FAILURES
    return lines + ([f"and {more} more; mulex status --json lists them all"] if more > 0 else [])


def paused_lines(paused: Sequence[Paused]) -> list[str]:
    """List the packs that wait with a checkpoint, the furthest first."""
    lines = []
    for pack in paused[:MOST_PAUSED]:
        run = pack.runs[0]
        more = f" and {len(pack.runs) - 1} more" if len(pack.runs) > 1 else ""
        lines.append(f"{describe(run)}{more}: paused, checkpoint of iteration {pack.iteration}")
    left = len(paused) - MOST_PAUSED
    return lines + ([f"and {left} more packs with a checkpoint"] if left > 0 else [])


def say(console: Console, line: str) -> None:
    """Print one line as it is: no markup, no colours, and no line breaks but the terminal's own."""
    console.print(line, highlight=False, soft_wrap=True, markup=False)


def duration(seconds: float) -> str:
    """Write a time in the unit that a person would use."""
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.0f} s"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


class LiveView:
    """Looks at a sweep's folder now and then while a block runs, and shows how the sweep stands."""

    def __init__(self, board: Board, console: Console, stopping: Callable[[], bool]) -> None:
        self.board, self.console, self.stopping = board, console, stopping
        self.trouble: Exception | None = None
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="view", daemon=True)

    def __enter__(self) -> "LiveView":
        if self._live is not None:
            self._live.start()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._live is not None:
            self._live.stop()

    def _title(self) -> str:
        name = self.board.spec.name
        return f"{name}: stopping, checkpoints are written; Ctrl-C again stops at once" if self.stopping() else name

    def _look_on(self) -> None:
        told = time.monotonic()
        pause = 0.0
        while not self._stop.wait(pause):
            began = time.monotonic()
            try:
                status = self.board.refresh()
                if self._live is not None:
                    self._live.update(picture(status, forecast(status), self._title()), refresh=True)
                elif time.monotonic() - told > PLAIN_SECONDS:
                    told = time.monotonic()
                    say(self.console, summary(status, forecast(status)))
            except Exception as error:  # the launch goes on without a view, and says itself what is wrong
                self.trouble = error
            pause = max(LOOK_SECONDS, 20 * (time.monotonic() - began))  # looking never takes more than 5 % of a core
