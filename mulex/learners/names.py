"""How a spec names a learner: ours (`dqn`), `sb3:ALGORITHM`, `package.module:name`, or a command."""

from dataclasses import dataclass
from typing import Any, Literal

from mulex.errors import UserError
from mulex.learners.placeholders import check_command

DQN = "dqn"
_SB3 = "sb3:"

TRAINING_SETTINGS = ("iterations", "steps_per_iteration", "evaluation_episodes")
"""Settings of `training` that an external learner is given; others are refused."""


@dataclass(frozen=True)
class LearnerName:
    """A learner as a spec names it: `learner: NAME`, or `command: [...]`."""

    name: str = DQN
    command: tuple[str, ...] = ()

    @classmethod
    def of(cls, learner: Any = None, command: Any = None) -> "LearnerName":
        """Read what stands in a method; both at once, or neither's form, is the user's mistake."""
        if command is not None:
            if learner not in (None, "command"):
                raise UserError("learner and command: a method has one of them")
            check_command(command)
            return cls("command", tuple(command))
        if learner is None:
            return cls()
        if not isinstance(learner, str) or (learner != DQN and ":" not in learner):
            raise UserError(f"learner: got {learner!r}, allowed is {DQN}, sb3:ALGORITHM or package.module:name")
        return cls(learner)

    @property
    def kind(self) -> Literal["dqn", "sb3", "python", "command"]:
        if self.command:
            return "command"
        if self.name == DQN:
            return "dqn"
        return "sb3" if self.name.startswith(_SB3) else "python"

    @property
    def algorithm(self) -> str:
        """The algorithm of an SB3 learner."""
        return self.name.removeprefix(_SB3)
