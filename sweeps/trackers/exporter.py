"""Brings a tracker up to date with a sweep: sends what it does not have yet, and nothing twice."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sweeps.trackers.contract import Entry, Sent, Tracker
from sweeps.trackers.source import Source


class Exporter:
    """Compares a sweep with what a tracker has. A second exporter of the same tracker goes on where the first ended."""

    def __init__(self, source: Source, tracker: Tracker) -> None:
        self.source, self.tracker = source, tracker
        self._sent: dict[str, Sent] = {}
        self._open: dict[str, Entry] = {}

    def send_news(self, stops: Callable[[], bool] = lambda: False) -> int:
        """Send what is new in all runs; returns how many runs had something new."""
        news = 0
        for run, mark in self.source.look():
            if stops():
                break
            if (mark is not None or self.tracker.live) and self._is_news(run, mark):
                news += self._send(run)
        self.tracker.flush()
        return news

    def pause(self) -> None:
        """Say of runs that were being trained that they are not any more; a later launch goes on with them."""
        for entry in self._open.values():
            self.tracker.send(replace(entry, status="paused", rows=[], known=self._sent[entry.run].iterations))
        self._open.clear()
        self.tracker.flush()

    def _is_news(self, run: str, mark: str | None) -> bool:
        if run not in self._sent:
            self._sent[run] = self.tracker.sent(run)
        return mark is None or self._sent[run].mark != mark

    def _send(self, run: str) -> int:
        known = self._sent[run]
        entry = self.source.entry(run, known)
        if entry is None or (not entry.ended and not entry.rows and run in self._open):
            return 0
        self.tracker.send(entry)
        self._sent[run] = Sent(entry.iterations, entry.mark)
        if entry.ended:
            self._open.pop(run, None)
        else:
            self._open[run] = entry
        return 1


class LiveExport:
    """Keeps trackers up to date while a block runs, in a thread; trouble with a tracker never harms the block."""

    def __init__(
        self,
        exporters: Sequence[tuple[str, Exporter]],
        say: Callable[[str], None],
        hurried: Callable[[], bool],
        seconds: float = 5.0,
    ) -> None:
        self._exporters, self._say, self._hurried, self._seconds = exporters, say, hurried, seconds
        self._stop = threading.Event()
        self._trouble: dict[str, str] = {}
        self._said: set[str] = set()
        self._thread = threading.Thread(target=self._look_on, name="trackers", daemon=True)

    def __enter__(self) -> "LiveExport":
        if self._exporters:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Send what came last. Whoever has interrupted the launch does not wait for that."""
        if not self._exporters:
            return
        self._stop.set()
        self._thread.join()
        for name, exporter in self._exporters:
            self._send(name, exporter, self._hurried)
            self._try(name, exporter.pause)
            self._try(name, exporter.tracker.close)
        for name, trouble in self._trouble.items():
            self._say(f"{name} does not have everything: {trouble}; mulex export sends the rest")

    def _look_on(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            spent = 0.0
            for name, exporter in self._exporters:
                spent += self._send(name, exporter, self._stop.is_set)
            pause = max(self._seconds, 3 * spent)

    def _send(self, name: str, exporter: Exporter, stops: Callable[[], bool]) -> float:
        began = time.monotonic()
        self._trouble.pop(name, None)
        self._try(name, lambda: exporter.send_news(stops))
        return time.monotonic() - began

    def _try(self, name: str, operation: Callable[[], object]) -> None:
        try:
            operation()
        except Exception as error:  # a tracker's own code may raise anything, and the sweep goes on
            self._note(name, " ".join(f"{type(error).__name__}: {error}".split())[:300])

    def _note(self, name: str, trouble: str) -> None:
        """Remember what is wrong, and say it once."""
        if name not in self._said:
            self._say(f"{name}: {trouble}; the sweep goes on, and this is tried again")
        self._said.add(name)
        self._trouble.setdefault(name, trouble)
