"""Registries: what a spec can name, with where it is implemented. Imports no torch.

An entry names its implementation as `module:name`, which is imported when a run uses it. So specs can be checked, and
their documentation written, without torch.
"""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from mulex.messages import nearest


@dataclass(frozen=True)
class Entry:
    """Something that a spec can name."""

    description: str
    where: str  # "module:name" of its implementation in the torch engine
    native: bool = False  # whether the native engine has it too

    def load(self) -> Any:
        """Import the implementation."""
        module, _, name = self.where.partition(":")
        return getattr(importlib.import_module(module), name)


E = TypeVar("E", bound=Entry)


class Registry(dict[str, E]):
    """The entries of one kind, by the names that a spec gives them."""

    def __init__(self, kind: str, entries: dict[str, E]) -> None:
        super().__init__(entries)
        self.kind = kind

    def why_not_native(self, names: Iterable[str]) -> str | None:
        """Say which of the names the native engine does not have; None if it has all."""
        missing = [name for name in names if name in self and not self[name].native]
        return f"it does not have the {self.kind} {missing[0]}" if missing else None


class NameIn:
    """Marks a text that names an entry of a registry, or is one of the words before them.

    The registry is asked when a value is checked or a JSON schema is made, so entries may be added at any time.
    """

    def __init__(self, registry: Registry[Any], *before: str) -> None:
        self.registry, self.before = registry, before

    def check(self, name: str) -> str:
        """Return a name that is known; other names are refused as pydantic refuses a literal."""
        allowed = (*self.before, *self.registry)
        if name not in allowed:
            *first, last = (repr(word) for word in allowed)
            listed = " or ".join([", ".join(first), last] if first else [last])
            raise PydanticKnownError("literal_error", {"expected": listed + nearest(name, allowed)})
        return name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"enum": [*self.before, *self.registry], "type": "string"}
