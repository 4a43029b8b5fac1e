"""What a user can get wrong when looking at results."""


class AnalysisError(Exception):
    """A mistake in what was given: the message says what, where, and what to do instead."""

    exit_code = 2


class NotApplicableError(AnalysisError):
    """A figure that these tables have nothing for; `--figure all` goes on without it and says why."""
