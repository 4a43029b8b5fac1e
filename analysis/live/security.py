"""Who may see the page: this machine alone, or whoever has the token. And what the page may do: nothing but show."""

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
LOGIN = (
    '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>mulex</title>'
    '<link rel="stylesheet" href="/page/live.css"><main class="login"><h1>This page asks for its token</h1>'
    "<p>It is at the end of the link that <code>mulex serve</code> printed.</p>"
    '<form><label>Token <input name="token" type="password" autofocus required></label> <button>Open</button></form>'
    "</main></html>"
)


def is_loopback(host: str) -> bool:
    """Whether an interface can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def page_token(cluster_token: str) -> str:
    """Derive the page's token from the cluster's: who may look at runs may not use the cluster."""
    return hmac.new(cluster_token.encode(), b"mulex serve", hashlib.sha256).hexdigest()[:32]


def guard(token: str | None) -> Middleware:
    """Return what every request passes through; without a token only requests to this machine's own names pass.

    A page of another site that makes its own name point here (DNS rebinding) sends that name as its host.
    """

    @web.middleware
    async def pass_guard(request: web.Request, handler: Answer) -> web.StreamResponse:
        if token is None and _host_name(request) not in LOCAL_NAMES:
            return web.Response(status=403, text="this page is for this machine only\n")
        if token is not None and not request.path.startswith("/page/") and not _has_token(request, token):
            return _log_in(request, token)
        return await handler(request)

    return pass_guard


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add to every answer, errors and streams too, what a browser may do with it."""
    response.headers.update(HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")


def _host_name(request: web.Request) -> str | None:
    try:
        return urlsplit(f"//{request.host}").hostname
    except ValueError:
        return None


def _cookie(request: web.Request) -> str:
    """The cookie's name; cookies of one host are shared by all its ports."""
    _, _, port = request.host.rpartition(":")
    return f"mulex-{port if port.isdigit() else 80}"


def _has_token(request: web.Request, token: str) -> bool:
    shown = request.cookies.get(_cookie(request), "")
    shown = request.headers.get("Authorization", "").removeprefix("Bearer ") or shown
    return hmac.compare_digest(shown.encode(), token.encode())


def _log_in(request: web.Request, token: str) -> web.Response:
    """Take the token from a link, once, and lead to the same page without it."""
    shown = request.query.get("token", "")
    if not hmac.compare_digest(shown.encode(), token.encode()):
        return web.Response(status=401, text=LOGIN, content_type="text/html")
    response = web.Response(status=303, headers={"Location": str(request.rel_url.without_query_params("token"))})
    response.set_cookie(_cookie(request), token, httponly=True, samesite="Lax", max_age=30 * 24 * 3600)
    return response
