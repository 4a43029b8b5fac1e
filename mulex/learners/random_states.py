"""The global random generators of Python, NumPy and torch, which code from elsewhere uses without asking.

Each run has its own copy of their states, which is put in place only while its learner works. So runs in one process
don't disturb each other, and a checkpoint can keep the states as arrays.
"""

import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RandomStates:
    """The states of the global generators at one moment."""

    arrays: dict[str, np.ndarray]

    @classmethod
    def current(cls) -> "RandomStates":
        """Read the states as they are now."""
        version, words, gauss = random.getstate()
        _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002
        arrays = {
            "python": np.array([version, *words], dtype=np.uint64),
            "python_gauss": np.array([] if gauss is None else [gauss]),
            "numpy": np.array(keys),
            "numpy_position": np.array([position, has_gauss]),
            "numpy_cached": np.array([cached]),
        }
        if (torch := _torch()) is not None:
            arrays["torch"] = torch.get_rng_state().numpy()
        return cls(arrays)

    @classmethod
    def seeded(cls, key: int) -> "RandomStates":
        """The states that follow from a key, without leaving them in place."""
        before = cls.current()
        try:
            random.seed(key)
            np.random.seed(key % 2**32)  # noqa: NPY002
            if (torch := _torch()) is not None:
                torch.manual_seed(key)
            return cls.current()
        finally:
            before.apply()

    def apply(self) -> None:
        """Put these states in place."""
        version, *words = self.arrays["python"].tolist()
        gauss = self.arrays["python_gauss"].tolist()
        random.setstate((version, tuple(words), gauss[0] if gauss else None))
        position, has_gauss = self.arrays["numpy_position"].tolist()
        cached = float(self.arrays["numpy_cached"][0])
        np.random.set_state(("MT19937", self.arrays["numpy"], position, has_gauss, cached))  # noqa: NPY002
        if "torch" in self.arrays and (torch := _torch()) is not None:
            torch.set_rng_state(torch.from_numpy(self.arrays["torch"].copy()))


class Generators:
    """The NumPy generators that a run has asked for, by purpose."""

    def __init__(self) -> None:
        self._made: dict[str, np.random.Generator] = {}
        self._states: dict[str, np.ndarray] = {}

    def get(self, purpose: str, key: int) -> np.random.Generator:
        """The generator for a purpose; a new one continues from a loaded state if there is one, else from its key."""
        if purpose not in self._made:
            self._made[purpose] = np.random.default_rng(key)
            self._continue(purpose)
        return self._made[purpose]

    def save(self) -> dict[str, np.ndarray]:
        """The state of each generator as the bytes of a JSON text."""
        states = {purpose: made.bit_generator.state for purpose, made in self._made.items()}
        saved = {purpose: json.dumps(state).encode() for purpose, state in states.items()}
        return {purpose: np.frombuffer(text, dtype=np.uint8) for purpose, text in saved.items()}

    def load(self, states: dict[str, np.ndarray]) -> None:
        """Continue from these states, also with generators that are asked for later."""
        self._states = dict(states)
        for purpose in self._made:
            self._continue(purpose)

    def _continue(self, purpose: str) -> None:
        if purpose in self._states:
            self._made[purpose].bit_generator.state = json.loads(self._states[purpose].tobytes())


class OwnRandomness:
    """The global generators as one run sees them."""

    def __init__(self, key: int) -> None:
        self.states = RandomStates.seeded(key)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Use this run's states inside the block, and leave those of everybody else as they were."""
        before = RandomStates.current()
        self.states.apply()
        try:
            yield
        finally:
            self.states = RandomStates.current()
            before.apply()


def _torch() -> Any:
    """The torch module if something has imported it; importing it here would cost seconds."""
    return sys.modules.get("torch")
