"""Plain Python data as a tree that the spec's reader takes, like that of a YAML text but without lines."""

import math
from collections.abc import Mapping
from typing import Any

from mulex.messages import Path, shown
from sweeps.spec.problems import Location, Problem
from sweeps.spec.yaml_reader import DEEPEST, LARGEST_WHOLE, MOST_VALUES, Tree

_ALLOWED = "mappings, lists, texts, finite numbers, true, false and null"


def read_plain(data: Any, source: str) -> Tree:
    """Copy data into a tree; `source` names it in messages. What YAML could not hold is a problem."""
    reader = _Reader(source)
    reader.tree.plain = reader.value(data, ())
    return reader.tree


class _Reader:
    def __init__(self, source: str) -> None:
        self.tree = Tree(source, first_line=None)
        self._values = 0

    def value(self, data: Any, path: Path) -> Any:
        self._values += 1
        if len(path) > DEEPEST or self._values > MOST_VALUES:
            return self._refuse(path, f"nested too deeply or too large, allowed are {DEEPEST} levels")
        if isinstance(data, Mapping):
            return self._mapping(data, path)
        if isinstance(data, list | tuple):
            return [self.value(item, (*path, index)) for index, item in enumerate(data)]
        if data is None or isinstance(data, str | bool):
            return data
        if isinstance(data, int):
            fits = abs(data) <= LARGEST_WHOLE
            return int(data) if fits else self._refuse(path, f"allowed are whole numbers up to {LARGEST_WHOLE}")
        if isinstance(data, float) and math.isfinite(data):
            return float(data)
        return self._refuse(path, f"got {shown(data)}, allowed are {_ALLOWED}")

    def _mapping(self, data: Mapping[Any, Any], path: Path) -> dict[str, Any]:
        made = {}
        for key, item in data.items():
            if isinstance(key, str):
                made[key] = self.value(item, (*path, key))
            else:
                self._refuse(path, f"the key {shown(key)}, allowed are texts")
        return made

    def _refuse(self, path: Path, text: str) -> None:
        self.tree.problems.append(Problem(Location(self.tree.source), path, text))
        self.tree.unreadable.add(path)
