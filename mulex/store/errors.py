"""The one error of storage that refuses or does not answer, whatever a disk or a bucket raises."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from mulex.errors import UserError


class StorageError(OSError):
    """Storage that refuses or does not answer; the text says what could not be done, where, and why.

    Everything that a disk or a bucket can raise becomes one of these, except FileNotFoundError for what is not there.
    """

    exit_code = 2

    def __init__(self, text: str, reason: str = "", number: int | None = None) -> None:
        super().__init__(text)
        self.strerror, self.errno = reason or None, number

    def __str__(self) -> str:
        return str(self.args[0])


@contextmanager
def failures(done: str, where: str) -> Iterator[None]:
    """Turn whatever a storage's client raises into StorageError; what is not there stays FileNotFoundError."""
    try:
        yield
    except (StorageError, UserError):
        raise
    except FileNotFoundError as error:
        if done not in ("written", "listed"):
            raise
        raise _storage_error(done, where, error) from error  # the bucket itself is missing
    except NotADirectoryError as error:
        if done == "read":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), where) from error
        raise _storage_error(done, where, error) from error
    except Exception as error:
        raise _storage_error(done, where, error) from error


def _storage_error(done: str, where: str, error: Exception) -> StorageError:
    reason = _reason(error)
    return StorageError(f"{where}: cannot be {done} ({reason})", reason, getattr(error, "errno", None))


def _reason(error: Exception) -> str:
    """What a client says, in one line and without its own class names."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:300]
