"""How a learner fails, with everything that is known about it."""

import traceback
from pathlib import Path
from typing import Literal

Kind = Literal["raised", "hung", "grown", "exited", "no row", "bad row", "ended"]
_OURS = str(Path(__file__).parent)


class LearnerFailed(Exception):  # noqa: N818
    """A learner that did not give its next row.

    Attributes:
        kind: What happened, in a word.
        summary: One line for tables and terminals.
        details: The whole traceback or the output of the command, as text; may be empty.
        member: The index of the run in its pack.
    """

    member = 0

    def __init__(self, kind: Kind, summary: str, details: str = "") -> None:
        super().__init__(kind, summary, details)
        self.kind, self.summary, self.details = kind, summary, details

    def __str__(self) -> str:
        return f"{self.summary}\n{self.details}".rstrip()


def raised(error: BaseException, when: str) -> LearnerFailed:
    """The failure of a learner whose code raised, with its traceback from its own first frame on."""
    last = traceback.format_exception_only(error)[-1].strip()
    return LearnerFailed("raised", f"{when}: {last}", whole_traceback(error))


def is_termination(error: BaseException) -> bool:
    """Whether Ray's handler of SIGTERM raised it: then the worker is being ended, and the learner has not failed."""
    return any(frame.name == "sigterm_handler" for frame in traceback.extract_tb(error.__traceback__))


def whole_traceback(error: BaseException) -> str:
    """The traceback as Python prints it, without the frames of this package that lead to the user's code."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OURS) and frames.tb_next is not None:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))
