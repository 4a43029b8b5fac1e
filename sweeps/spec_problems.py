"""What is wrong with a spec: all of it at once, each problem with its line, its key and what is allowed."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mulex.errors import UserError

Path = tuple[str | int, ...]

MOST_SHOWN = 100  # problems in a message
_LONGEST_SHOWN = 60  # characters of a value in a message
_WORD = re.compile(r"[\w:/-][\w.:/-]{0,99}", re.ASCII)


class Place(NamedTuple):
    """Where a value was written: a line of a file, or an option of the command line."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


class Problem(NamedTuple):
    """One thing that is wrong."""

    place: Place
    path: Path
    text: str

    def __str__(self) -> str:
        path = f"{dotted(self.path)}: " if self.path else ""
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in f"{self.place}: {path}{self.text}")


class SpecError(UserError):
    """A spec that cannot be used; its text has one line for each problem, after a line that counts them."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.place.line or float("inf"))
        lines = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"and {len(self.problems) - MOST_SHOWN} more")
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n".join([f"{source} has {count}", *lines]))


def dotted(path: Path) -> str:
    """A key path for a message; odd keys are quoted."""
    return ".".join(part if isinstance(part, str) and _WORD.fullmatch(part) else short(repr(part)) for part in path)


def shown(value: Any) -> str:
    """A value as one would write it in YAML, on one line and not too long."""
    return short(_shown(value, 3))


def _shown(value: Any, depth: int) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{" + _several((f"{dotted((k,))}: {_shown(v, depth - 1)}" for k, v in value.items()), depth) + "}"
    if isinstance(value, list):
        return "[" + _several((_shown(v, depth - 1) for v in value), depth) + "]"
    return repr(value[: _LONGEST_SHOWN + 1] if isinstance(value, str) else value)


def _several(parts: Iterable[str], depth: int) -> str:
    """As many as can be shown anyway."""
    if depth == 0:
        return "..."
    return ", ".join(part for part, _ in zip(parts, range(_LONGEST_SHOWN), strict=False))


def short(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def nearest(word: Any, known: Iterable[str]) -> str:
    """The end of a message: the known word that was probably meant, if there is one."""
    if not isinstance(word, str) or len(word) > _LONGEST_SHOWN:
        return ""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """There is no such thing; what there is, and what was probably meant."""
    names = list(known)
    return f"no such {what}, there are {', '.join(names)}{nearest(word, names)}"
