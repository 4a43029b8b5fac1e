"""Tells a webhook how a launch ended, if the spec asks for it; no trouble with that harms the sweep."""

import json
import os
import platform
import urllib.request
from typing import TYPE_CHECKING, Any

from mulex.messages import printable
from sweeps.spec.execution import Notify

if TYPE_CHECKING:
    from sweeps.api import Outcome

TIME_LIMIT = 5.0  # seconds
LONGEST_ERROR = 300


def notify(settings: Notify | None, sweep: str, outcome: "Outcome") -> str | None:
    """Send the message, if this end is one that somebody wants to know of; returns what went wrong, in a line."""
    event = event_of(outcome)
    if settings is None or event not in settings.on:
        return None
    try:
        address = _address(settings.webhook)
        body = json.dumps(message(sweep, event, outcome)).encode()
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"}, method="POST")
        with _opener().open(request, timeout=TIME_LIMIT):
            return None
    except Exception as error:  # whatever a server elsewhere does, the sweep has ended as it has
        return printable(f"execution.notify: the webhook was not told: {error}", LONGEST_ERROR)


def event_of(outcome: "Outcome") -> str:
    """Return done, failed or stopped."""
    if outcome.interrupted or outcome.storage_error or outcome.missing:
        return "stopped"
    return "failed" if outcome.failed or outcome.diverged else "done"


def message(sweep: str, event: str, outcome: "Outcome") -> dict[str, Any]:
    """Return what the webhook gets; chat programs show `text`."""
    counts = {name: getattr(outcome, name) for name in ("done", "failed", "diverged", "missing")}
    listed = ", ".join(f"{count} {name}" for name, count in counts.items() if count or name == "done")
    first = next((finished.error for _, finished in outcome.status.failures), None)
    return {
        "text": f"sweep {sweep} {event}: {listed} ({outcome.folder})",
        "sweep": sweep,
        "folder": outcome.folder,
        "event": event,
        **counts,
        "error": printable((outcome.storage_error or first or "").partition("\n")[0], LONGEST_ERROR) or None,
        "host": platform.node(),
    }


def _address(webhook: str) -> str:
    if not webhook.startswith("$"):
        return webhook
    address = os.environ.get(webhook[1:], "")
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"the environment variable {webhook[1:]} holds no http or https address")
    return address


def _opener() -> urllib.request.OpenerDirector:
    """Return what opens http and https alone, and follows no redirect to anything else."""
    opener = urllib.request.OpenerDirector()
    handlers: list[urllib.request.BaseHandler] = [
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ]
    for handler in handlers:
        opener.add_handler(handler)
    return opener
