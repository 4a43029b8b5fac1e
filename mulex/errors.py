"""Errors that a user can cause."""


class UserError(Exception):
    """A mistake in the user's input. The message says what is wrong, where, and what to do; the exit code is 2."""

    exit_code = 2
