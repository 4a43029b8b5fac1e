"""Reads a section of a spec into its model, and reports every problem in our own words instead of pydantic's."""

from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mulex.messages import Path, nearest, shown, unknown
from mulex.settings import Settings
from sweeps.spec.allowed_values import allowed, keys_at, schema_at, words_of
from sweeps.spec.problems import Problem, SpecError
from sweeps.spec.yaml_reader import Tree

S = TypeVar("S", bound=Settings)


class Problems:
    """Collects the problems of a spec, each of them once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._found = dict.fromkeys(tree.problems)
        self._unread = {path[:length] for path in tree.unreadable for length in range(len(path) + 1)}

    def key(self, path: Path, text: str) -> None:
        """Report a wrong key, whatever its value is."""
        self._found[Problem(self.tree.location(path), path, text)] = None

    def value(self, path: Path, text: str) -> None:
        """Report a wrong value, unless it was already reported as unreadable."""
        if path not in self._unread:
            self.key(path, text)

    def __len__(self) -> int:
        return len(self._found)

    def stop_if_any(self) -> None:
        """Raise a SpecError if there are problems."""
        if self._found:
            raise SpecError(self.tree.source, list(self._found))


def read_settings(model: type[S], plain: Any, path: Path, problems: Problems) -> S | None:
    """Return a model made from plain data; None, with every problem reported, if there are any.

    A model checks how its fields fit together only when every field is right by itself. So wrong fields are left out
    and the rest is tried again.
    """
    if not isinstance(plain, dict):
        problems.value(path, f"got {shown(plain)}, allowed is {allowed(schema_at(model, ()))}")
        return None
    wrong: set[Any] = set()
    while True:
        try:
            made = model.model_validate({key: value for key, value in plain.items() if key not in wrong})
            return None if wrong else made
        except ValidationError as error:
            news = [details for details in error.errors() if not set(details["loc"][:1]) & wrong]
            found = {key for details in news for key in _note(model, details, plain, path, problems)}
            if found <= wrong:
                return None
            wrong |= found


def _note(model: type[S], details: ErrorDetails, plain: Any, path: Path, problems: Problems) -> set[str | int]:
    """Report one of pydantic's errors in our words and return the key of `plain` that it is about."""
    if details["type"] == "missing":
        inside = tuple(details["loc"])
        problems.key((*path, *inside), f"missing, needed is {allowed(schema_at(model, inside))}")
        return set()
    if not details["loc"]:
        inside, text = split_message(str(details["ctx"]["error"]), plain)
    else:
        inside, value = _within(plain, details["loc"])
        text = _text(model, details, inside, value)
    report = problems.key if details["type"] == "extra_forbidden" else problems.value
    report((*path, *inside), text)
    return set(inside[:1])


def split_message(message: str, plain: Any) -> tuple[Path, str]:
    """Split the message of a model's own check, `key.path: text`, if there is a value at that path."""
    keys, _, text = message.partition(": ")
    parts = tuple(keys.split("."))
    return (parts, text) if _within(plain, parts)[0] == parts else ((), message)


def _text(model: type[S], details: ErrorDetails, inside: Path, value: Any) -> str:
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    if details["type"] == "extra_forbidden":
        return unknown("key", str(inside[-1]), keys_at(model, inside[:-1]))
    schema = schema_at(model, inside)
    return f"got {shown(value)}, allowed is {allowed(schema)}{nearest(value, words_of(schema))}"


def _within(plain: Any, loc: tuple[str | int, ...]) -> tuple[Path, Any]:
    """Follow one of pydantic's locations through the data, without the branches of unions that it also names."""
    path: Path = ()
    for part in loc:
        inside = part in plain if isinstance(plain, dict) else isinstance(plain, list) and part in range(len(plain))
        if inside:
            path, plain = (*path, part), plain[part]
    return path, plain
