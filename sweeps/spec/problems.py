"""The problems of a spec, reported all at once, each with its line, its key and what is allowed."""

from collections.abc import Sequence
from typing import NamedTuple

from mulex.errors import UserError
from mulex.messages import Path, dotted

MOST_SHOWN = 100  # problems in a message


class Location(NamedTuple):
    """Where a value was written: a line of a file, an option of the command line, or a dict."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


class Problem(NamedTuple):
    """One thing that is wrong with a spec."""

    location: Location
    path: Path
    text: str

    def __str__(self) -> str:
        path = f"{dotted(self.path)}: " if self.path else ""
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in f"{self.location}: {path}{self.text}")


class SpecError(UserError):
    """A spec that cannot be used; its text has one line for each problem, after a line that counts them."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.location.line or float("inf"))
        lines = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"and {len(self.problems) - MOST_SHOWN} more")
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n".join([f"{source} has {count}", *lines]))
