"""The mistakes that a user can make when looking at results."""

from mulex.errors import UserError


class AnalysisError(UserError):
    """Tables, options or paths that cannot be used: the message says what, where, and what to do instead."""


class NotApplicableError(AnalysisError):
    """A figure that has no data in these tables; `--figure all` goes on without it and says why."""
