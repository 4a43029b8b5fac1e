"""A command in a process group of its own: its lines as they come, the end of its output, and a certain death."""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from mulex.errors import UserError

TAIL_LINES = 200
_LONGEST_LINE = 1_000_000  # characters; a longer line is cut, so that a runaway command cannot fill the memory
_POLL_SECONDS = 0.05
_CHUNK = 1 << 16


class Lines:
    """Whole lines out of bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, content: bytes) -> list[str]:
        """The lines that are complete now."""
        *whole, self._rest = (self._rest + content).split(b"\n")
        self._rest = self._rest[:_LONGEST_LINE]
        return [line.decode(errors="replace") for line in whole]

    def end(self) -> list[str]:
        """A last line without its newline, if there is one."""
        rest, self._rest = self._rest, b""
        return [rest.decode(errors="replace")] if rest.strip() else []


class Process:
    """A running command. Its standard output is read by lines; standard error is kept for messages.

    There are no threads: the pipes are read when somebody asks, so what the command had written before that moment is
    certainly seen. A command that writes much faster than it is read waits, as in any pipe.
    """

    def __init__(self, argv: Sequence[str], folder: Path) -> None:
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        environment = command_environment()
        check_program(argv[0], folder, environment["PATH"])
        try:
            self._process = subprocess.Popen(
                [*_dies_with_us(), *argv],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            raise UserError(f"command: {argv[0]!r} cannot be started: {error}") from None
        self._selector = selectors.DefaultSelector()
        self._open: dict[int, tuple[IO[bytes], Lines, bool]] = {}
        for stream, is_output in ((self._process.stdout, True), (self._process.stderr, False)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)
            self._open[stream.fileno()] = (stream, Lines(), is_output)

    def read(self, seconds: float) -> list[str]:
        """The lines of standard output that are there, or that come within this time."""
        if not self._open:
            time.sleep(min(seconds, _POLL_SECONDS))  # it has closed its output and may still be working
            return []
        lines: list[str] = []
        for key, _ in self._selector.select(max(seconds, 0)):
            lines += self._drain(key.fd)
        return lines

    def _drain(self, descriptor: int) -> list[str]:
        stream, lines, is_output = self._open[descriptor]
        found: list[str] = []
        while (content := stream.read(_CHUNK)) is not None:
            if content == b"":
                found += lines.end()
                self._selector.unregister(stream)
                stream.close()
                del self._open[descriptor]
                break
            found += lines.feed(content)
        if is_output:
            return found
        self.tail.extend(found)
        return []

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def group(self) -> int:
        """The process group of the command and its children."""
        return self._process.pid

    @property
    def drained(self) -> bool:
        """Whether all of its output has been read."""
        return not self._open

    def kill(self, grace: float = 2.0) -> None:
        """End it with all its children: asked first, forced after the grace period."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self._signal(signal.SIGKILL)  # also for children that outlive their parent
        self._process.wait()
        for stream, _, _ in self._open.values():
            stream.close()
        self._open = {}
        self._selector.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # the whole group may have ended
            os.killpg(self._process.pid, number)


def command_environment() -> dict[str, str]:
    """The environment of commands: `python` is the interpreter that runs this, and prints what it prints at once."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}


def check_program(program: str, folder: Path | None, path: str) -> None:
    """Refuse a program that is not there or may not be executed; `folder` is where it is run, if that has any files."""
    if "/" not in program:
        if shutil.which(program, path=path) is None:
            raise UserError(f"command: there is no program {program!r} on this machine's PATH")
        return
    _check_there("program", program, folder)
    if not os.access((folder or Path()) / program, os.X_OK):
        raise UserError(f"command: {program!r} may not be executed; chmod +x it, or name its interpreter first")


def check_script(command: Sequence[str], folder: Path | None) -> None:
    """Refuse a command such as `python train.py` whose script is not there."""
    script = command[1] if len(command) > 1 and Path(command[0]).name.startswith("python") else ""
    if script.endswith(".py") and "{" not in script:
        _check_there("script", script, folder)


def _check_there(what: str, name: str, folder: Path | None) -> None:
    if folder is None and not Path(name).is_absolute():
        raise UserError(f"command: there is no {what} {name!r} beside the spec; name its folder in execution.code")
    if not ((folder or Path()) / name).exists():
        raise UserError(f"command: there is no {what} {name!r}" + (f" in {folder}" if folder else ""))


def _dies_with_us() -> list[str]:
    """A prefix that lets the kernel end the command when this process dies, where the system has one.

    The kernel watches the thread that starts the command, so that only the main thread can rely on it.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return []
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def exit_words(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
