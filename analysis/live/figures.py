"""The figures and statistics of a sweep for the live page, made in a process of their own.

Making them takes seconds of processor time at thousands of runs. In a process of its own, with lower priority, that
does not delay the page. The process keeps the run files that it has read.
"""

import asyncio
import gzip
import json
import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.loading import Cache

LEAST_SECONDS = 10.0
"""Between two makings of the same sweep's figures."""
PATIENCE = 4.0
"""Figures that took a second to make are made again after this many seconds at the earliest."""
MOST_RUNS = 20_000
"""A sweep with more finished runs has its figures from `mulex plot` and `mulex report`, not in the live page."""


@dataclass
class Figures:
    """The newest figures of a sweep."""

    content: bytes = b""
    """JSON, compressed with gzip; empty before the first are made."""
    mark: str = ""
    """What the sweep's finished runs were when they were made; see `View.finished_mark`."""
    asked: bool = False
    making: bool = False
    not_before: float = 0.0

    def is_due(self, mark: str) -> bool:
        """Whether somebody waits for newer ones and it is time to make them."""
        return self.asked and not self.making and self.mark != mark and time.monotonic() >= self.not_before


class FigureMaker:
    """Makes figures in another process, one sweep at a time."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def make(self, figures: Figures, url: str, mark: str, runs: int) -> None:
        """Make the figures of a sweep anew."""
        figures.making = True
        began = time.monotonic()
        try:
            if runs > MOST_RUNS:
                message = f"{runs:,} finished runs are too many for figures that stay fresh; mulex report draws them"
                figures.content = _packed({"message": message})
            else:
                figures.content = await self._in_process(url)
            figures.mark = mark
        except BrokenProcessPool:  # most likely it needed more memory than there is
            message = "the process that makes the figures was ended; it is started again when more runs have finished"
            figures.content, figures.mark = _packed({"message": message}), mark
        finally:
            figures.making = False
            figures.not_before = time.monotonic() + max(LEAST_SECONDS, PATIENCE * (time.monotonic() - began))

    async def _in_process(self, url: str) -> bytes:
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_prepare)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, make_content, url)
        except BrokenProcessPool:
            self._pool = None  # the next try starts another process
            raise

    def close(self) -> None:
        """End the process, also in the middle of a figure."""
        if self._pool is not None:
            processes = list((self._pool._processes or {}).values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()


_cache: "Cache" = {}


def _prepare() -> None:
    """Leave Ctrl-C to the server, and the processor to the training."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)


def make_content(url: str) -> bytes:
    """Return the figures and statistics of a sweep, or a message why there are none, as compressed JSON."""
    return _packed(make_plain(url))


def _packed(plain: dict[str, Any]) -> bytes:
    return gzip.compress(json.dumps(plain, separators=(",", ":"), allow_nan=False).encode(), 5)


def make_plain(url: str) -> dict[str, Any]:
    """Return the figures and statistics of a sweep as JSON has them."""
    from analysis.figures.registry import make_charts
    from analysis.report_page.payload import payload
    from analysis.statistics import compute_statistics
    from analysis.statistics_tables import sections
    from analysis.tables import load_tables
    from mulex.errors import UserError
    from mulex.store.folder import StorageError

    try:
        tables = load_tables([url], _cache)
        charts, skipped = make_charts(tables)
    except (UserError, StorageError) as error:
        return {"message": str(error)}
    plain = payload(tables, charts)
    del plain["curves"]  # the page asks for the curve of a run that somebody opens
    for chart, drawn in zip(charts, plain["charts"], strict=True):
        drawn |= {"title": chart.title, "caption": chart.caption, "note": chart.note, "key": list(chart.key)}
    statistics = [section._asdict() for section in sections(compute_statistics(tables))]
    return plain | {"statistics": statistics, "skipped": skipped, "note": tables.complete.note()}
