"""What a learner is given and what it gives: a class with `iterate`, or a generator function that yields rows.

A class needs `__init__(run)` and `iterate() -> dict`; `save`, `load` and `close` are optional. A generator function
`train(run)` yields one dict an iteration and may call `run.checkpoint(state)` and `run.restore()`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mulex.errors import UserError
from mulex.learners.random_states import Generators, RandomStates
from mulex.streams import stream_key

if TYPE_CHECKING:
    import gymnasium

State = dict[str, np.ndarray] | bytes
"""What `save` gives and `load` takes: named arrays, or bytes in a format of the learner's own."""

RawRow = Mapping[str, Any]
SCORE_COLUMN = "eval_return"


class Learner(Protocol):
    """Trains one run, an iteration at a time.

    Optional, and therefore not part of this protocol: `save() -> State` with `load(state: State)`, `close()`, the
    number `updates`, and the class attributes `hyperparameters`, `version` and `libraries`.
    """

    def __init__(self, run: "Run") -> None:
        """Make everything that the run needs."""

    def iterate(self) -> RawRow:
        """Train for one iteration and evaluate: one row, with `eval_return` and whatever else is worth keeping."""


class Values(Mapping[str, Any]):
    """The hyperparameters of a run; it remembers which of them were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values, self.read = dict(values), set[str]()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Values({self._values!r})"

    def unread(self) -> list[str]:
        """The names that nothing has asked for yet."""
        return [name for name in self._values if name not in self.read]


@dataclass
class Run:
    """Everything that a learner is given.

    Attributes:
        run_id: The run's id: a hash of everything that decides its outcome. In a sweep that was made longer, it is
            the id that the run had before.
        values: The hyperparameters by name.
        seed: The repeat; runs that differ in it alone differ by chance alone.
        world: The world as plain data, for example {"id": "CartPole-v1", "kwargs": {}, "ideal_return": 500.0}.
        iterations: The length that the run was planned with, over which schedules run.
        training: The spec's further training settings, for example `steps_per_iteration`.
        scratch: A folder for temporary files; it is removed when the run ends.
        device: Where tensors should live, for example "cpu" or "cuda:0".
        rows_wanted: How many rows are wanted: `iterations`, or more if the sweep was made longer since.
    """

    run_id: str
    values: Mapping[str, Any]
    seed: int
    world: dict[str, Any]
    iterations: int
    scratch: Path
    training: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"
    rows_wanted: int = 0

    def __post_init__(self) -> None:
        self.rows_wanted = self.rows_wanted or self.iterations
        if not isinstance(self.values, Values):
            self.values = Values(self.values)
        self.generators = Generators()
        self._kept: Kept | None = None
        self._restorable: Kept | None = None

    @property
    def key(self) -> int:
        """A random key of this run's own, 63 bits, derived from its id."""
        return self.stream("learner")

    def stream(self, purpose: str) -> int:
        """A further key, 63 bits, for one purpose, so that two uses of chance never share numbers."""
        return stream_key(self.run_id, purpose) >> 1

    def rng(self, purpose: str = "learner") -> np.random.Generator:
        """The run's NumPy generator for one purpose; its state is part of every checkpoint."""
        return self.generators.get(purpose, self.stream(purpose))

    def make_env(self, **kwargs: Any) -> "gymnasium.Env[Any, Any]":
        """The world as a Gymnasium environment; `kwargs` are further arguments of gymnasium.make."""
        from mulex.learners.environments import make_environment

        return make_environment(self.world, **kwargs)

    def checkpoint(self, state: State) -> None:
        """Keep a state from which a generator function can go on. Call it just before yielding the row it follows.

        The arrays are copied, so they may be changed in place afterwards.
        """
        self._kept = Kept(encode_state(state), RandomStates.current().arrays, self.generators.save())

    def restore(self) -> State | None:
        """The state that the last checkpoint of this run kept, or None when the run begins.

        The generators of `run.rng` and the global ones (random, NumPy, torch) continue as they were at that
        checkpoint.
        """
        if self._restorable is None:
            return None
        RandomStates(self._restorable.random).apply()
        self.generators.load(self._restorable.generators)
        return decode_state(self._restorable.arrays)


@dataclass(frozen=True)
class Kept:
    """A generator function's state, and all random generators at the same moment."""

    arrays: dict[str, np.ndarray]
    random: dict[str, np.ndarray]
    generators: dict[str, np.ndarray]


def take_checkpoint(run: Run) -> Kept | None:
    """What the generator function kept since the last call, for the adapter that drives it."""
    kept, run._kept = run._kept, None
    return kept


def offer_checkpoint(run: Run, kept: Kept) -> None:
    """Let `run.restore()` find this state."""
    run._restorable = kept


_BYTES, _ARRAY = "bytes", "array."


def encode_state(state: Any) -> dict[str, np.ndarray]:
    """A learner's state as named arrays that a checkpoint can hold without pickle."""
    if isinstance(state, bytes | bytearray):
        return {_BYTES: np.frombuffer(bytes(state), dtype=np.uint8)}
    if not isinstance(state, Mapping):
        raise UserError(f"save: gave {type(state).__name__}, allowed is a dict of arrays, or bytes")
    arrays = {f"{_ARRAY}{name}": np.array(array) for name, array in state.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise UserError(
                f"save: {name.removeprefix(_ARRAY)!r} holds Python objects, which a checkpoint cannot keep; "
                "give numbers, or encode the whole state as bytes"
            )
    return arrays


def decode_state(arrays: Mapping[str, np.ndarray]) -> State:
    """What `encode_state` was given."""
    if _BYTES in arrays:
        return arrays[_BYTES].tobytes()
    return {name.removeprefix(_ARRAY): array.copy() for name, array in arrays.items()}


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def prefixed(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays with a prefix before their names."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}


@dataclass(frozen=True)
class Saved:
    """The state of an adapter, and how many rows it has given since that state was taken."""

    arrays: dict[str, np.ndarray]
    rows_since: int = 0


class Adapter(Protocol):
    """What every kind of learner looks like to `mulex.learners.engine`."""

    @property
    def updates(self) -> int:
        """How many updates the learner has made; 0 if it does not count them."""

    def iterate(self) -> RawRow:
        """The next row, unchecked."""

    def save(self) -> Saved | None:
        """The state, or None if the learner cannot be resumed from here."""

    def load(self, arrays: dict[str, np.ndarray], iterations: int) -> None:
        """Continue from a saved state, after which this many rows had been given."""

    def close(self) -> None:
        """Release processes, environments and files."""
