"""Keeps what is shown of the sweeps fresh: reads a folder at most every few seconds, however many browsers look."""

import asyncio
import math
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.live.discovery import find_sweeps
from analysis.live.figures import FigureMaker, Figures
from analysis.live.run_detail import run_detail
from analysis.live.view import Reader, View, make_reader
from mulex.errors import UserError
from mulex.store.folder import Folder, StorageError

LEAST_SECONDS = 3.0
"""Between two readings of a sweep's folder."""
ENDED_SECONDS = 15.0
"""The same for a sweep in which no run is left to train."""
PATIENCE = 4.0
"""A folder whose reading took a second is read again after this many seconds at the earliest."""
LOOKED_AT = 20.0
"""Seconds after the last request in which a sweep counts as looked at."""
DISCOVERY_SECONDS = 30.0
AT_ONCE = 2
"""Folders that are read at the same time."""
ACTIVE_SECONDS = 30.0
"""A sweep counts as running for so long after a pack was last seen: there is a pause between two packs."""
MOST_DETAILS = 200
"""Runs whose details are kept until the sweep changes."""


@dataclass
class Watched:
    """One sweep: what was read of it last, and when it is read again."""

    key: str
    folder: Folder
    reader: Reader | None = None
    view: View | None = None
    problem: str = ""
    mark: str = ""
    read_at: float = 0.0
    """When the folder was last read, by the clock of the wall; 0 before that."""
    figures: Figures = field(default_factory=Figures)
    _details: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    _seen_running: float = -math.inf
    _not_before: float = 0.0
    _looked_at: float = 0.0
    _reading: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def look(self) -> None:
        """Note that somebody looks at it."""
        self._looked_at = time.monotonic()

    def is_due(self) -> bool:
        """Whether it is time to read it again."""
        now = time.monotonic()
        return not self._reading and now >= self._not_before and now - self._looked_at < LOOKED_AT

    @property
    def is_active(self) -> bool:
        """Whether somebody trains it."""
        return time.monotonic() - self._seen_running < ACTIVE_SECONDS and not (self.view and self.view.ended)

    async def read(self) -> bool:
        """Read the folder; gives whether there is anything new to show."""
        self._reading = True
        began = time.monotonic()
        before = self.mark, self.problem
        try:
            self.view = await asyncio.to_thread(self._read)
            if self.view.packs:
                self._seen_running = time.monotonic()
            self.mark, self.problem = f"{self.view.mark()}-{self.is_active}", ""
        except (UserError, StorageError, FileNotFoundError) as error:
            self.problem = str(error)
        except Exception as error:  # a page that shows what is wrong is better than one that stands still
            traceback.print_exc()
            self.problem = f"cannot be read: {type(error).__name__}: {error}"
        finally:
            self._reading = False
            self.read_at = time.time()
            least = ENDED_SECONDS if self.view and self.view.ended else LEAST_SECONDS
            self._not_before = time.monotonic() + max(least, PATIENCE * (time.monotonic() - began))
        if before == (self.mark, self.problem):
            return False
        self._details.clear()
        return True

    def _read(self) -> View:
        if self.reader is None:
            self.reader = make_reader(self.folder)
        return self.reader.read()

    async def detail(self, run: str) -> dict[str, Any] | None:
        """Describe a run; its files are read once as long as the sweep does not change."""
        async with self._lock:
            if self.view is None or self.reader is None:
                return None
            if run not in self._details:
                if len(self._details) >= MOST_DETAILS:
                    self._details.clear()
                self._details[run] = await asyncio.to_thread(run_detail, self.folder, self.reader, self.view, run)
            return self._details[run]


class Watch:
    """All sweeps behind the named paths. One loop decides what is read when; everybody shares what it read."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = list(paths)
        self.sweeps = {key: Watched(key, folder) for key, folder in find_sweeps(self.paths).items()}
        self.listeners: set[asyncio.Event] = set()
        self._maker = FigureMaker()
        self._tasks: set[asyncio.Task[None]] = set()
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._discover_at = time.monotonic() + DISCOVERY_SECONDS

    async def run(self) -> None:
        """Read what is due, for ever."""
        while True:
            for sweep in list(self.sweeps.values()):
                if sweep.is_due():
                    await self._gate.acquire()
                    self._begin(self._read(sweep))
                elif sweep.view and sweep.figures.is_due(sweep.view.finished_mark()):
                    self._begin(self._make_figures(sweep, sweep.view))
            if time.monotonic() > self._discover_at and self.listeners:
                self._discover_at = time.monotonic() + DISCOVERY_SECONDS
                self._begin(self._discover())
            await asyncio.sleep(0.1)

    def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()
        self._maker.close()

    def marks(self) -> dict[str, list[str]]:
        """Return for each sweep what changes when its runs do, and what changes when its figures do."""
        return {key: [sweep.mark, sweep.figures.mark] for key, sweep in self.sweeps.items()}

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, sweep: Watched) -> None:
        try:
            if await sweep.read():
                self._tell()
        finally:
            self._gate.release()

    async def _make_figures(self, sweep: Watched, view: View) -> None:
        runs = view.count("done") + view.count("failed")
        sweep.figures.asked = False
        await self._maker.make(sweep.figures, sweep.folder.url, view.finished_mark(), runs)
        self._tell()

    async def _discover(self) -> None:
        """Add sweeps that were launched below a named folder meanwhile."""
        try:
            found = await asyncio.to_thread(find_sweeps, self.paths)
        except (UserError, StorageError):
            return
        new = {key: Watched(key, folder) for key, folder in found.items() if key not in self.sweeps}
        self.sweeps |= new
        if new:
            self._tell()

    def _tell(self) -> None:
        for listener in self.listeners:
            listener.set()
