"""Ray's token authentication: whoever has the token may use a cluster, and nobody else.

A cluster that runs what it is sent must know whom it serves. The token is a file, `~/.ray/auth_token`; Ray makes it
readable for everybody on the machine, so it is made here, for its owner alone.
"""

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

MODE, TOKEN, TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
REFUSED = "the cluster asks for its token: copy ~/.ray/auth_token from its head to here, or set RAY_AUTH_TOKEN"


def token_path() -> Path:
    """Where Ray looks for the token."""
    return Path(os.environ.get(TOKEN_PATH) or Path.home() / ".ray" / "auth_token")


def current_token() -> str | None:
    """What this process shows to a cluster."""
    if os.environ.get(MODE) != "token":
        return None
    if token := os.environ.get(TOKEN):
        return token
    return token_path().read_text().strip() if token_path().exists() else None


def use_token(make: bool) -> None:
    """Turn authentication on in this process and in what it starts, unless the environment says otherwise.

    `make` is for whoever starts a cluster. A client without a token stays without: a cluster that has one refuses it.
    """
    if os.environ.get(MODE, "token") != "token":
        return
    if not os.environ.get(TOKEN):
        if make:
            make_token()
        if not token_path().exists():
            return
        keep_private(token_path())
    os.environ[MODE] = "token"
    if "ray" in sys.modules:
        _tell_ray()


def make_token() -> Path:
    """A token for its owner alone, if there is none; of several processes that make one, all end up with the same."""
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
    """Take others' rights away; a file of another owner, or of a read-only mount, is left as it is."""
    if path.stat().st_mode & 0o077:
        with suppress(OSError):
            path.chmod(0o600)


def _tell_ray() -> None:
    """Ray reads its environment when it is imported, which was before."""
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()
