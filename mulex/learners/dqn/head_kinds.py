"""The kinds of heads that a spec can name: how a head's outputs are read, and which batches it learns from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mulex.learners.dqn.registry import Entry, Registry

if TYPE_CHECKING:
    from mulex.config import TrainingConfig


def _one_output(training: "TrainingConfig") -> int:
    return 1


def _atoms(training: "TrainingConfig") -> int:
    return training.atoms


@dataclass(frozen=True)
class HeadKind(Entry):
    """A kind of head; its implementation is a function of the run, the head's name, the actions and the device."""

    outputs: Callable[["TrainingConfig"], int] = _one_output  # for each action
    prioritised: bool = False  # whether its batches are drawn by priority
    multi_step: bool = False  # whether its returns have n_step steps


HEAD_KINDS: Registry[HeadKind] = Registry(
    "kind of head",
    {
        "dqn": HeadKind("One Q-value an action, one-step returns.", "mulex.learners.dqn.torch.losses:make_dqn", True),
        "rainbow": HeadKind(
            "A distribution an action, n-step returns, prioritised batches.",
            "mulex.learners.dqn.torch.losses:make_c51",
            native=True,
            outputs=_atoms,
            prioritised=True,
            multi_step=True,
        ),
    },
)
"""Every kind of head by its name."""
