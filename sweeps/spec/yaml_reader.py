"""Reads YAML 1.2 as plain data in which the line of every value is known.

A spec consists of mappings with texts as keys, lists, texts, numbers, true, false and null. Everything else that YAML
has (tags, anchors, several documents, numbers that are not finite) is a problem with its line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError

from mulex.messages import Path, short, shown
from sweeps.spec.problems import Location, Problem

LARGEST_TEXT, LONGEST_LINE, LONGEST_WORD = 1_000_000, 20_000, 1_000  # characters
DEEPEST = 32
MOST_VALUES = 20_000
LARGEST_WHOLE = 2**53  # what a double still holds exactly
LONGEST_KEY = 100  # YAML itself has a limit, of 1024 as written

WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class Tree:
    """Plain data, the location of each part of it, and what could not be read."""

    source: str
    plain: Any = None
    locations: dict[Path, Location] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unreadable: set[Path] = field(default_factory=set)
    """The paths of values that could not be read; the root, if the text could not be parsed at all."""
    first_line: int | None = 1
    """The line of the root; None where the data was not a text."""
    folder: FilePath | None = None
    """The folder of the spec's file, where its modules may be."""
    frozen: bool = False
    """Whether it is the spec of a sweep that was launched, perhaps by an earlier version that checked less."""

    def location(self, path: Path) -> Location:
        """Return where a value was written, or where the nearest value around it was."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.locations:
                return self.locations[path[:length]]
        return Location(self.source, self.first_line)


def read_yaml(text: str, source: str) -> Tree:
    """Return the tree of one document; `source` is what messages call it."""
    if len(text) > LARGEST_TEXT:
        return _broken(Tree(source), 1, f"{len(text)} characters, allowed are {LARGEST_TEXT}")
    for number, written in enumerate(text.split("\n"), start=1):
        if len(written) > LONGEST_LINE:
            return _broken(Tree(source), number, f"a line of {len(written)} characters, allowed are {LONGEST_LINE}")
    builder = _Builder(text, source)
    try:
        builder.document()
    except _StopReading as error:
        return _broken(builder.tree, builder.line, str(error))
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        return _broken(builder.tree, line, f"the character {text[error.position]!r} is not allowed in YAML")
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else builder.line
        context = f"{error.context}: " if error.context else ""
        return _broken(builder.tree, line, f"this is not YAML: {context}{error.problem}")
    except Exception as error:  # on hostile text the scanner raises whatever comes, such as OverflowError
        return _broken(builder.tree, builder.line, f"this is not YAML: {error}")
    return builder.tree


def _broken(tree: Tree, line: int, text: str) -> Tree:
    problem = Problem(Location(tree.source, line), (), " ".join(text.split()))
    return Tree(tree.source, problems=[*tree.problems, problem], unreadable={()})


class _StopReading(Exception):  # noqa: N818
    """Raised where reading on is of no use."""


class _Builder:
    """Makes the tree from the parser's events, so that limits are checked before anything is built."""

    def __init__(self, text: str, source: str) -> None:
        self.tree = Tree(source)
        self.line = 1
        self._events: Iterator[Any] = YAML(typ="safe", pure=True).parse(text)
        self._values = 0

    def document(self) -> None:
        self._next()
        event = self._next()
        if isinstance(event, StreamEndEvent):
            return
        if event.version or event.tags:
            self._note((), "a % directive, allowed is none: specs are YAML 1.2")
        self.tree.plain = self._node(self._next(), ())
        self._next()
        if isinstance(self._next(), DocumentStartEvent):
            raise _StopReading("another document begins here, allowed is one")

    def _next(self) -> Any:
        event = next(self._events)
        self.line = event.start_mark.line + 1
        return event

    def _node(self, event: Any, path: Path) -> Any:
        self._values += 1
        if self._values > MOST_VALUES:
            raise _StopReading(f"too many values, allowed are {MOST_VALUES}")
        if len(path) > DEEPEST:
            raise _StopReading(f"nested too deeply, allowed are {DEEPEST} levels")
        if isinstance(event, AliasEvent):
            return self._unreadable(path, f"the alias *{short(event.anchor)}, allowed are plain values; write it out")
        if event.anchor is not None:
            self._note(path, f"the anchor &{short(event.anchor)}, allowed are plain values")
        if event.tag is not None:
            self._note(path, f"the tag {short(event.tag)}, allowed are plain values")
        if isinstance(event, ScalarEvent):
            return self._scalar(event, path)
        return self._list(path) if isinstance(event, SequenceStartEvent) else self._mapping(path)

    def _list(self, path: Path) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            inside = (*path, len(items))
            self.tree.locations[inside] = self._here()
            items.append(self._node(event, inside))
        return items

    def _mapping(self, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            key, here = self._key(event, path), self._here()
            inside = (*path, "?" if key is None else key)
            if key is None or key in found:
                if key is not None:
                    self._note(inside, f"a second time, allowed is once; the first is in line {self._line_of(inside)}")
                self._node(self._next(), (*path, "?"))
                continue
            self.tree.locations[inside] = here
            found[key] = self._node(self._next(), inside)
        return found

    def _key(self, event: Any, path: Path) -> str | None:
        if not isinstance(event, ScalarEvent):
            self._note(path, "a key that is not a word, allowed are words")
            self._node(event, (*path, "?"))
            return None
        noted = len(self.tree.problems)
        key = self._node(event, (*path, "?"))
        if isinstance(key, str) and len(key) > LONGEST_KEY:
            self._note(path, f"a key of {len(key)} characters, allowed are {LONGEST_KEY}")
            return None
        if isinstance(key, str):
            return key
        if len(self.tree.problems) == noted:
            self._note(path, f"the key {shown(key)}, allowed are words; write '{short(event.value)}' in quotes")
        return None

    def _line_of(self, path: Path) -> int | None:
        return self.tree.locations[path].line

    def _scalar(self, event: Any, path: Path) -> Any:
        text: str = event.value
        if _SURROGATE.search(text):
            return self._unreadable(path, "half of a character (a lone surrogate), allowed is whole text")
        if len(text) > LONGEST_WORD:
            return self._unreadable(path, f"text of {len(text)} characters, allowed are {LONGEST_WORD}")
        if event.style is not None or event.tag is not None:
            return text
        if text in WORDS:
            return WORDS[text]
        if _WHOLE.fullmatch(text) or _OTHER_BASE.fullmatch(text):
            return self._whole(text, path)
        if _NOT_FINITE.fullmatch(text):
            return self._unreadable(path, f"got {text}, allowed are finite numbers")
        if not _NUMBER.fullmatch(text):
            return text
        number = float(text)
        return number if abs(number) != float("inf") else self._unreadable(path, f"got {shown(text)}: too large")

    def _whole(self, text: str, path: Path) -> Any:
        number = int(text, 10 if _WHOLE.fullmatch(text) else 0)
        if abs(number) <= LARGEST_WHOLE:
            return number
        return self._unreadable(path, f"got {shown(text)}, allowed are whole numbers up to {LARGEST_WHOLE}")

    def _here(self) -> Location:
        return Location(self.tree.source, self.line)

    def _note(self, path: Path, text: str) -> None:
        self.tree.problems.append(Problem(self._here(), path, text))

    def _unreadable(self, path: Path, text: str) -> Any:
        """Report a value that cannot be read; null takes its place."""
        self._note(path, text)
        self.tree.unreadable.add(path)
        return None
