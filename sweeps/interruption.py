"""What happens on Ctrl-C: packs leave checkpoints and the launch ends. A kill or a closed terminal does the same.

This module only notes the signal. `Launch._stops` and Tune's `Stopper` (execution/tuner.py) ask for it, and then every
worker's `cleanup` (execution/trainable.py) calls `leave` of mulex/training.py, which writes the checkpoint.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Whether somebody asked the launch to stop. The first signal asks for checkpoints, the second ends at once."""

    def __init__(self) -> None:
        self.asked = False
        self._terminals = [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]

    @contextmanager
    def listening(self) -> Iterator["Interruption"]:
        """Listen to signals for the time of a block; Python allows it only in the main thread."""
        before = {}
        if threading.current_thread() is threading.main_thread():
            heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores
            before = {number: signal.signal(number, self._hear) for number in heard}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._let_go_of_terminal()
        if self.asked and number != signal.SIGHUP:
            raise KeyboardInterrupt
        self.asked = True

    def _let_go_of_terminal(self) -> None:
        """Send what is still printed to nowhere: writing to a terminal that was closed is an error."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in self._terminals:
            os.dup2(nowhere, descriptor)
        os.close(nowhere)
