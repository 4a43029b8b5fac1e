"""What a user can get wrong."""


class UserError(Exception):
    """A mistake in what the user gave: the message says what, where, and what to do instead. Exit code 2."""

    exit_code = 2
