"""A learner that is a command in any language: it prints one JSON object per row, or appends it to the file {rows}.

A command that has {checkpoint} is resumed: that folder is kept with every checkpoint and is there again when the
command is started anew. Such a command numbers its rows (`"iteration": 1` first), prints a row before it writes the
checkpoint that follows it, and replaces files by renaming. Without {checkpoint} a command begins again.
"""

import io
import json
import os
import tarfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

from mulex.learners.contract import RawRow, Run, Saved
from mulex.learners.failures import Kind, LearnerFailed
from mulex.learners.limits import NO_LIMITS, Limits
from mulex.learners.memory import resident_of_group, size
from mulex.learners.placeholders import CHECKPOINT, CONFIG, FILES, ROWS, config_text, filled, names_in
from mulex.learners.process import Lines, Process, exit_words
from mulex.messages import short

_WAIT_SECONDS = 0.1  # the longest wait for a line before the rows file, the exit and the time limit are looked at
_LOOK_SECONDS = 1.0  # between two looks at its memory, which mean reading about every process of the machine
_LAST_WORDS_SECONDS = 1.0  # for a command to end by itself after its last row


class CommandAdapter:
    """Runs a command and gives its rows."""

    updates = 0

    def __init__(self, command: list[str], run: Run, folder: Path | None = None, limits: Limits = NO_LIMITS) -> None:
        """`folder` is where the command is run: the folder of execution.code, or the current one."""
        self._run, self._limits, self._looked = run, limits, 0.0
        self._folder = folder or Path.cwd()
        self._argv, names = filled(command, run), names_in(command)
        self._resumable = CHECKPOINT in names
        self._file = run.scratch / FILES[ROWS] if ROWS in names else None
        self._file_lines, self._file_read = Lines(), 0
        self._waiting: deque[dict[str, Any]] = deque()
        self._given = 0
        self._process: Process | None = None
        self._almost: str | None = None  # a line that looks like a row and is not JSON
        (run.scratch / FILES[CHECKPOINT]).mkdir(parents=True, exist_ok=True)
        (run.scratch / FILES[CONFIG]).write_text(config_text(run))

    def iterate(self) -> RawRow:
        """The next row; LearnerFailed with the end of the output if there is none."""
        if self._process is None:
            self._process = Process(self._argv, self._folder)
        started = time.monotonic()
        while not self._waiting:
            ended = self._process.code is not None  # all that it wrote is in the pipes, and read next
            self._take_lines(self._process.read(0 if ended else _WAIT_SECONDS))
            self._take_file(ended)
            if not self._waiting and ended:
                raise self._ended()
            if not self._waiting:
                self._check_limits(started)
        row = self._waiting.popleft()
        self._given += 1
        if self._given == self._run.rows_wanted:
            self._await_end()
        return row

    def save(self) -> Saved | None:
        """The checkpoint folder, and the rows that the command had given but nobody had asked for."""
        folder = self._run.scratch / FILES[CHECKPOINT]
        if not self._resumable or not any(folder.iterdir()):
            return None
        files = _packed(folder)  # before the rows are read: the rows of this checkpoint have been printed by then
        if self._process is not None:
            self._take_lines(self._process.read(0))
            self._take_file(ended=False)
        rows = json.dumps(list(self._waiting)).encode()
        return Saved({"files": files, "rows": np.frombuffer(rows, dtype=np.uint8)})

    def load(self, arrays: dict[str, np.ndarray], iterations: int) -> None:
        """Put the checkpoint folder back; rows that the command then repeats are dropped by their number."""
        with tarfile.open(fileobj=io.BytesIO(arrays["files"].tobytes())) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
            archive.extractall(self._run.scratch / FILES[CHECKPOINT])
        self._waiting = deque(json.loads(arrays["rows"].tobytes()))
        self._given = iterations

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _take_lines(self, lines: list[str]) -> None:
        """Rows out of standard output, unless the command appends them to a file; other lines are its log."""
        for line in lines:
            if self._file is None and (row := self._row(line)) is not None:
                self._accept(row)
            elif self._process is not None:
                self._process.tail.append(line)

    def _take_file(self, ended: bool) -> None:
        if self._file is None or not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._file_read)
            content = file.read()
        self._file_read += len(content)
        for line in self._file_lines.feed(content) + (self._file_lines.end() if ended else []):
            row = self._row(line)
            if row is not None:
                self._accept(row)
            elif line.strip():
                raise self._failed("bad row", f"{{rows}}: a line is no JSON object: {short(line)}")

    def _row(self, line: str) -> dict[str, Any] | None:
        if not line.lstrip().startswith("{"):
            return None
        try:
            row = json.loads(line)
        except ValueError:
            self._almost = self._almost or line.strip()
            return None
        return row if isinstance(row, dict) else None

    def _accept(self, row: dict[str, Any]) -> None:
        """Drop the row's number after checking it; a repeated row is dropped whole."""
        number = row.pop("iteration", None)
        if number is None:
            if self._resumable:
                raise self._failed("bad row", 'a row has no "iteration"; a command with {checkpoint} numbers its rows')
            self._waiting.append(row)
            return
        expected = self._given + len(self._waiting) + 1
        if number == expected:
            self._waiting.append(row)
        elif not isinstance(number, int) or number > expected or not self._resumable:
            hint = "; print a row before the checkpoint that follows it" if self._resumable else ""
            raise self._failed("bad row", f"a row has iteration {number!r}, expected is {expected}{hint}")

    def _await_end(self) -> None:
        """Let a command that has given its last row end by itself; further rows are ignored."""
        assert self._process is not None
        until = time.monotonic() + _LAST_WORDS_SECONDS
        while self._process.code is None and time.monotonic() < until:
            self._process.tail.extend(self._process.read(_WAIT_SECONDS))

    def _ended(self) -> LearnerFailed:
        assert self._process is not None and self._process.code is not None
        rows = f"after {self._given} of {self._run.rows_wanted} rows"
        hint = ""
        if not self._given and self._almost:
            hint = f"; a line looks like a row and is no JSON: {short(self._almost)}"
        kind: Kind = "ended" if self._process.code == 0 else "exited"
        return self._failed(kind, f"the command {exit_words(self._process.code)} {rows}{hint}")

    def _check_limits(self, started: float) -> None:
        """End a command that takes too long or too much."""
        now, limits = time.monotonic(), self._limits
        if limits.iteration_timeout is not None and now - started > limits.iteration_timeout:
            seconds = f"{limits.iteration_timeout:g} seconds, which execution.iteration_timeout allows"
            raise self._stopped("hung", f"the command gave no row for {seconds}")
        if limits.memory is None or now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        assert self._process is not None
        if (taken := resident_of_group(self._process.group)) > limits.memory:
            most = f"{size(limits.memory)}, which execution.memory_limit allows"
            raise self._stopped("grown", f"the command and its children took {size(taken)}, more than {most}")

    def _stopped(self, kind: Kind, summary: str) -> LearnerFailed:
        failure = self._failed(kind, summary)
        self.close()
        return failure

    def _failed(self, kind: Kind, summary: str) -> LearnerFailed:
        output = "\n".join(self._process.tail) if self._process else ""
        return LearnerFailed(kind, summary, output)


def _packed(folder: Path) -> np.ndarray:
    """A folder as the bytes of a tar file."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            try:
                archive.add(path, arcname=os.fspath(path.relative_to(folder)), recursive=False)
            except FileNotFoundError:  # a temporary file that was renamed meanwhile
                continue
    return np.frombuffer(file.getvalue(), dtype=np.uint8)
