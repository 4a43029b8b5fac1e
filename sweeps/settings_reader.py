"""Settings from a part of a spec, with every problem in the words of `allowed` and none in pydantic's."""

from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mulex.config import Settings
from sweeps.allowed import allowed, schema_at, words_of
from sweeps.spec_problems import Path, Problem, SpecError, nearest, shown, unknown
from sweeps.yaml_tree import Tree

S = TypeVar("S", bound=Settings)


class Problems:
    """The problems found so far, each once and at its place."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._found = dict.fromkeys(tree.problems)
        self._unread = {path[:length] for path in tree.unreadable for length in range(len(path) + 1)}

    def key(self, path: Path, text: str) -> None:
        """A key is wrong, whatever its value."""
        self._found[Problem(self.tree.place(path), path, text)] = None

    def value(self, path: Path, text: str) -> None:
        """A value is wrong; one that could not even be read is no news."""
        if path not in self._unread:
            self.key(path, text)

    def stop_if_any(self) -> None:
        """End here, with all of them."""
        if self._found:
            raise SpecError(self.tree.source, list(self._found))


def read_settings(model: type[S], plain: Any, path: Path, problems: Problems) -> S | None:
    """A model from plain data; None, and every problem noted, if there are any.

    What is wrong is left out and the rest tried again, for a model checks how its fields go together only when each
    of them is right.
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
    """Put one of pydantic's errors in our words; gives the key of `plain` that is to blame."""
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
    """A model's own message is `key.path: text`; the path is taken apart if there is such a value."""
    keys, _, text = message.partition(": ")
    parts = tuple(keys.split("."))
    return (parts, text) if _within(plain, parts)[0] == parts else ((), message)


def _text(model: type[S], details: ErrorDetails, inside: Path, value: Any) -> str:
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    if details["type"] == "extra_forbidden":
        return unknown("key", str(inside[-1]), schema_at(model, inside[:-1])["properties"])
    schema = schema_at(model, inside)
    return f"got {shown(value)}, allowed is {allowed(schema)}{nearest(value, words_of(schema))}"


def _within(plain: Any, loc: tuple[str | int, ...]) -> tuple[Path, Any]:
    """As much of a location as the data has, and what stands there: the branches of a union are not in the data."""
    path: Path = ()
    for part in loc:
        inside = part in plain if isinstance(plain, dict) else isinstance(plain, list) and part in range(len(plain))
        if not inside:
            break
        path, plain = (*path, part), plain[part]
    return path, plain
