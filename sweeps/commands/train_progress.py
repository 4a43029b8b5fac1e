"""The progress of `mulex train`: a bar in a terminal, elsewhere a line now and then."""

import statistics
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from mulex.training import PackTraining
from sweeps.monitor.terminal import say

PLAIN_SECONDS = 5.0  # between two lines where there is no terminal


class TrainProgress:
    """Shows the progress of one pack while a block runs."""

    def __init__(self, console: Console, training: PackTraining) -> None:
        self.console, self.training = console, training
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None
        self._told = time.monotonic()

    def __enter__(self) -> "TrainProgress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self) -> None:
        """Show what the latest iteration came to."""
        pack, engine, figures = self.training.pack, self.training.engine, self._figures()
        name = f"{pack.runs[0].method} {pack.labels.world} x{len(pack.runs)} ({engine.name})"
        if self._task is None:
            self._task = self._bar.add_task(name, total=pack.iterations, completed=engine.iterations - 1, figures="")
        self._bar.update(self._task, completed=engine.iterations, figures=figures)
        if not self.console.is_terminal and time.monotonic() - self._told > PLAIN_SECONDS:
            self._told = time.monotonic()
            say(self.console, f"{name}: iteration {engine.iterations} of {pack.iterations}, {figures}")

    def _figures(self) -> str:
        pack = self.training.pack
        returns = [float(curve[-1]["eval_return"] or 0.0) for curve in pack.curves]
        seconds = sum(float(curve[-1]["seconds"] or 0.0) for curve in pack.curves)
        speed = len(pack.runs) * pack.runs[0].steps_per_iteration / max(seconds, 1e-9)
        return f"return median {statistics.median(returns):.2f}, best {max(returns):.2f}; {speed:,.0f} steps/s"
