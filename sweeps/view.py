"""How a sweep's standing looks in a terminal, and as plain lines where there is none."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from sweeps.board import Board, Forecast, Pace, Standing
from sweeps.plan import PlannedRun

LOOK_SECONDS = 2.0
PLAIN_SECONDS = 30.0
MOST_FAILURES = 10


def picture(standing: Standing, forecast: Forecast | None, title: str) -> RenderableType:
    """One line a method, then the whole."""
    right: dict[str, Any] = {"justify": "right"}
    table = Table(
        Column("method"),
        Column("world"),
        *[Column(name, **right) for name in ("done", "running", "failed", "pending", "best", "median")],
        title=f"{title} (best and median of the normalised AUC)",
        title_justify="left",
    )
    for line in standing.lines:
        counts = (line.done, line.running, line.failed, line.pending)
        table.add_row(line.method, line.world, *map(str, counts), _score(line.best), _score(line.median))
    ended = standing.count("done") + standing.count("failed")
    whole = Table.grid(padding=(0, 1))
    whole.add_row(
        ProgressBar(total=max(1, standing.total), completed=ended, width=20), Text(summary(standing, forecast))
    )
    return Group(table, whole)


def summary(standing: Standing, forecast: Forecast | None) -> str:
    """The whole sweep in a line."""
    ended = standing.count("done") + standing.count("failed")
    words = [f"{ended} of {standing.total} runs", f"{standing.count('running')} running"]
    words += [f"{standing.count('failed')} failed"] if standing.count("failed") else []
    if forecast and ended < standing.total:
        least = "at least " if forecast.is_least else ""
        words += [f"{forecast.runs_an_hour:,.0f} runs/hour", f"{least}{duration(forecast.seconds_left)} left"]
    return ", ".join(words)


def describe(run: PlannedRun) -> str:
    """A run in words."""
    return f"{run.method} in {run.world}, draw {run.draw}, seed {run.seed} ({run.run_id})"


def failures(standing: Standing) -> list[str]:
    """Which runs failed, and why."""
    lines = [
        f"{finished.status}: {describe(run)}: {finished.error}" for run, finished in standing.failures[:MOST_FAILURES]
    ]
    more = len(standing.failures) - MOST_FAILURES
    return lines + ([f"and {more} more; mulex status --json lists them all"] if more > 0 else [])


def duration(seconds: float) -> str:
    """In words a person would use."""
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.0f} s"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


class LiveView:
    """Looks at the folder now and then while a block runs, and shows it."""

    def __init__(self, board: Board, console: Console, stopping: Callable[[], bool]) -> None:
        self.board, self.console, self.stopping = board, console, stopping
        self.pace = Pace()
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
        return f"{name}: stopping, snapshots are written; Ctrl-C again stops at once" if self.stopping() else name

    def _look_on(self) -> None:
        told = time.monotonic()
        pause = 0.0
        while not self._stop.wait(pause):
            began = time.monotonic()
            try:
                standing = self.board.refresh()
            except OSError:
                continue  # the launch itself says what is wrong with the storage
            if self._live is not None:
                self._live.update(picture(standing, self.pace.forecast(standing), self._title()), refresh=True)
            elif time.monotonic() - told > PLAIN_SECONDS:
                told = time.monotonic()
                self.console.print(summary(standing, self.pace.forecast(standing)), highlight=False, soft_wrap=True)
            pause = max(LOOK_SECONDS, 20 * (time.monotonic() - began))  # looking never takes more than 5 % of a core
