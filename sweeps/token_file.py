"""The file of the token that a Ray cluster and its clients share: where it is, and how it is made. Imports no Ray."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

TOKEN, TOKEN_PATH = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


def token_path() -> Path:
    """The path at which Ray looks for the token."""
    return Path(os.environ.get(TOKEN_PATH) or Path.home() / ".ray" / "auth_token")


def stored_token() -> str | None:
    """The token of the environment or else of the file; None if there is neither."""
    if token := os.environ.get(TOKEN):
        return token
    return token_path().read_text().strip() or None if token_path().exists() else None


def make_token() -> Path:
    """Make a token for its owner alone, if there is none; several processes that make one all end up with the same."""
    path = token_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123
            file.write(secrets.token_hex(32))
        with suppress(FileExistsError):
            path.hardlink_to(beside)
    finally:
        beside.unlink(missing_ok=True)
    keep_private(path)
    return path


def keep_private(path: Path) -> None:
    """Take others' rights to a file away; one of another owner, or on a read-only mount, is left as it is."""
    if path.stat().st_mode & 0o077:
        with suppress(OSError):
            path.chmod(0o600)
