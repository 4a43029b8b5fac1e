"""Learners written in Python: "package.module:name" as a class or a generator function, and how it is driven."""

import importlib
import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mulex.errors import UserError
from mulex.learners.contract import (
    Kept,
    RawRow,
    Run,
    Saved,
    Values,
    decode_state,
    encode_state,
    offer_checkpoint,
    prefixed,
    take_checkpoint,
    under,
)
from mulex.learners.failures import LearnerFailed, whole_traceback
from mulex.learners.signatures import Hyperparameters, declared
from mulex.messages import nearest

_STATE, _RANDOM, _GENERATOR = "state.", "random.", "generator."


def find(name: str) -> Any:
    """What "package.module:name" names; a module that cannot be imported is shown with its whole traceback."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise UserError(f"learner: got {name!r}, needed is package.module:name")
    found: Any = _module(module_name, name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = [known for known in vars(found) if not known.startswith("_")]
            public = ", ".join(sorted(names)[:20]) or "no names"
            raise UserError(f"learner {name}: {module_name} has no {part!r}, it has {public}{nearest(part, names)}")
        found = getattr(found, part)
    return found


def _module(module_name: str, learner: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise UserError(
                f"learner {learner}: there is no module {missing!r} here; name its folder in execution.code, "
                "or install it"
            ) from None
        raise UserError(f"learner {learner}: cannot be imported\n{whole_traceback(error)}") from None
    except Exception as error:
        raise UserError(f"learner {learner}: cannot be imported\n{whole_traceback(error)}") from None


@dataclass(frozen=True)
class PythonLearner:
    """A class or a generator function, and what it declares."""

    name: str
    target: Callable[..., Any]
    hyperparameters: Hyperparameters
    generator: bool
    resumable: bool
    lengthens: bool
    """Whether it gives as many rows as are wanted, also if these are more than the run was planned with."""
    version: str | None
    libraries: tuple[str, ...]

    def start(self, run: Run) -> "ClassAdapter | GeneratorAdapter":
        """Make the adapter that trains a run; bad hyperparameters are the user's mistake."""
        self.hyperparameters.check(self.name, run.values)
        values = Values(self.hyperparameters.filled(run.values))
        if not self.hyperparameters.open:
            values.read.update(values)  # the names are checked, so that whether each is read is the learner's affair
        run.values = values
        return GeneratorAdapter(self, run) if self.generator else ClassAdapter(self, run)

    def call(self, run: Run) -> Any:
        """Call the class or function with the run, and with its hyperparameters where it takes them by name."""
        return self.target(run, **run.values) if self.hyperparameters.passed else self.target(run)


def load_learner(name: str) -> PythonLearner:
    """Import a learner and look at what it is; nothing of it runs but its module's own code."""
    target = find(name)
    generator = inspect.isgeneratorfunction(target)
    if not generator:
        _check_class(name, target)
    version = getattr(target, "version", None)
    libraries = getattr(target, "libraries", ())
    if version is not None and not isinstance(version, str | int | float):
        raise UserError(f"learner {name}: `version` is {version!r}, needed is a text or a number")
    if isinstance(libraries, str) or not all(isinstance(library, str) for library in libraries):
        raise UserError(f"learner {name}: `libraries` is {libraries!r}, needed is a list of package names")
    return PythonLearner(
        name=name,
        target=target,
        hyperparameters=declared(target, f"learner {name}"),
        generator=generator,
        resumable=_names(target, "checkpoint") if generator else hasattr(target, "save"),
        lengthens=not generator or _names(target, "rows_wanted"),
        version=None if version is None else str(version),
        libraries=tuple(libraries),
    )


def _check_class(name: str, target: Any) -> None:
    if not callable(target):
        raise UserError(f"learner {name}: is {type(target).__name__}, needed is a class or a generator function")
    if not inspect.isclass(target):
        raise UserError(f"learner {name}: is a function that does not yield; yield one row per iteration")
    if not callable(getattr(target, "iterate", None)):
        raise UserError(f"learner {name}: has no method iterate() that gives a row")
    if hasattr(target, "save") != hasattr(target, "load"):
        has, lacks = ("save", "load") if hasattr(target, "save") else ("load", "save")
        raise UserError(f"learner {name}: has {has}() but no {lacks}(); a learner that is resumed needs both")


def _names(function: Any, attribute: str) -> bool:
    """Whether the function names an attribute such as `checkpoint`; what it does with it, a run shows."""
    return attribute in function.__code__.co_names


class ClassAdapter:
    """Drives an instance of a user's class."""

    def __init__(self, learner: PythonLearner, run: Run) -> None:
        self._instance, self._resumable = learner.call(run), learner.resumable

    @property
    def updates(self) -> int:
        return int(getattr(self._instance, "updates", 0))

    def iterate(self) -> RawRow:
        return self._instance.iterate()

    def save(self) -> Saved | None:
        return Saved(encode_state(self._instance.save())) if self._resumable else None

    def load(self, arrays: dict[str, np.ndarray], iterations: int) -> None:
        self._instance.load(decode_state(arrays))

    def close(self) -> None:
        if hasattr(self._instance, "close"):
            self._instance.close()


class GeneratorAdapter:
    """Drives a user's generator function; it goes on from the last row before which it called `run.checkpoint`."""

    updates = 0

    def __init__(self, learner: PythonLearner, run: Run) -> None:
        self._learner, self._run = learner, run
        self._rows: Generator[RawRow, None, None] | None = None
        self._kept: Kept | None = None
        self._rows_since = 0

    def iterate(self) -> RawRow:
        if self._rows is None:
            self._rows = self._learner.call(self._run)
        try:
            row = next(self._rows)
        except StopIteration:
            raise LearnerFailed("ended", "the generator function returned before its last row") from None
        kept = take_checkpoint(self._run)
        self._kept, self._rows_since = (kept, 0) if kept else (self._kept, self._rows_since + 1)
        return row

    def save(self) -> Saved | None:
        if self._kept is None:
            return None
        kept = self._kept
        arrays = prefixed(_STATE, kept.arrays) | prefixed(_RANDOM, kept.random)
        return Saved(arrays | prefixed(_GENERATOR, kept.generators), self._rows_since)

    def load(self, arrays: dict[str, np.ndarray], iterations: int) -> None:
        self._kept = Kept(under(_STATE, arrays), under(_RANDOM, arrays), under(_GENERATOR, arrays))
        self._rows_since = 0
        offer_checkpoint(self._run, self._kept)

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()
