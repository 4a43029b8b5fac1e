"""Ray's token authentication: whoever has the token may use a cluster, and nobody else.

A cluster that runs what it is sent must know whom it serves. The token is a file, `~/.ray/auth_token`; Ray makes it
readable for everybody on the machine, so it is made here, for its owner alone.
"""

import os
import sys

from mulex.errors import UserError
from sweeps.token_file import TOKEN, TOKEN_PATH, keep_private, make_token, stored_token, token_path

__all__ = [
    "MODE",
    "REFUSED",
    "TOKEN",
    "TOKEN_PATH",
    "current_token",
    "keep_private",
    "make_token",
    "token_path",
    "use_token",
]

MODE = "RAY_AUTH_MODE"
REFUSED = "the cluster asks for its token: copy ~/.ray/auth_token from its head to here, or set RAY_AUTH_TOKEN"


def current_token() -> str | None:
    """The token that this process shows to a cluster, if any."""
    if os.environ.get(MODE) != "token":
        return None
    return stored_token()


def use_token(make: bool) -> None:
    """Turn authentication on in this process and in what it starts, unless RAY_AUTH_MODE is `disabled`.

    `make` is for whoever starts a cluster. A client without a token stays without: a cluster that has one refuses it.
    """
    mode = os.environ.get(MODE, "token")
    if mode == "disabled":
        return
    if mode != "token":  # Ray would start without authentication, and not say so
        raise UserError(f"{MODE}={mode!r}: allowed is token, which is the default, or disabled")
    if not os.environ.get(TOKEN):
        if make:
            make_token()
        if not token_path().exists():
            return
        keep_private(token_path())
    os.environ[MODE] = "token"
    if "ray" in sys.modules:
        _tell_ray()


def _tell_ray() -> None:
    """Have Ray read its environment again, which it did when it was imported."""
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()
