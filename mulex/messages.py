"""Words for error messages: values as YAML would show them, key paths, and the name that was probably meant."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

Path = tuple[str | int, ...]
"""The keys and indices that lead to a value inside nested data."""

_LONGEST_SHOWN = 60  # characters of a value in a message
_WORD = re.compile(r"[\w:/-][\w.:/-]{0,99}", re.ASCII)


def dotted(path: Path) -> str:
    """Return a key path as a message shows it; unusual keys are quoted."""
    return ".".join(part if isinstance(part, str) and _WORD.fullmatch(part) else short(repr(part)) for part in path)


def shown(value: Any) -> str:
    """Return a value as YAML would show it, on one line and shortened if it is long."""
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
    """Join as many parts as a message can show."""
    if depth == 0:
        return "..."
    return ", ".join(part for part, _ in zip(parts, range(_LONGEST_SHOWN), strict=False))


def short(text: str) -> str:
    """Return a text, of a long one only the beginning."""
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def printable(text: str, limit: int = 1000) -> str:
    """Return text from elsewhere on one line, safe for a terminal: control characters visible, a long end cut off."""
    kept = text if len(text) <= limit else text[: limit - 3] + "..."
    escaped = (c if c.isprintable() else " " if c.isspace() else c.encode("unicode_escape").decode() for c in kept)
    return "".join(escaped)


def first_line(text: str | None, limit: int = 300) -> str:
    """Return the first line of an error, which says what happened; what follows it is the traceback or the output."""
    return printable((text or "").strip().partition("\n")[0], limit)


def nearest(word: Any, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the known word that was probably meant, if there is one."""
    if not isinstance(word, str) or len(word) > _LONGEST_SHOWN:
        return ""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """Return a message that there is no such thing, with what there is and what was probably meant."""
    names = list(known)
    return f"no such {what}, there are {', '.join(names)}{nearest(word, names)}"
