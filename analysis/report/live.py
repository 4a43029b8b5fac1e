"""A report that is made anew whenever the sweep has more to show, for this machine only."""

import hashlib
import html
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import urlsplit

from analysis.errors import AnalysisError
from analysis.places import Place
from analysis.report.page import report_page
from analysis.run_files import Cache
from analysis.tables import load_tables

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
WAITING = '<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="5"><title>waiting</title><p>{}</p>'


class LiveReport:
    """The page of the sweeps as they are now."""

    def __init__(self, places: Sequence[str]) -> None:
        self.places = places
        self._cache: Cache = {}
        self._page, self._made = "", ""
        self._lock = Lock()

    def version(self) -> str:
        """Another one as soon as a file of the sweeps is another one."""
        marks = [Place(place).list("") for place in self.places]
        return hashlib.sha256(repr(marks).encode()).hexdigest()[:16]

    def page(self) -> str:
        """Made anew only if something changed."""
        with self._lock:
            version = self.version()
            if version != self._made:
                self._page = report_page(load_tables(self.places, self._cache), version)
                self._made = version
            return self._page


def make_server(places: Sequence[str], port: int) -> ThreadingHTTPServer:
    """Answers / and /version on 127.0.0.1; any free port if it is 0."""
    live = LiveReport(places)

    class Answer(BaseHTTPRequestHandler):
        """Reads only, and only for pages of this machine."""

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if urlsplit(f"//{self.headers.get('Host', '')}").hostname not in NAMES:
                self.send_error(403)
            elif path == "/version":
                self._send("text/plain", live.version())
            elif path == "/":
                self._send("text/html", self._page())
            else:
                self.send_error(404)

        def _page(self) -> str:
            try:
                return live.page()
            except AnalysisError as error:
                return WAITING.format(html.escape(str(error)))

        def _send(self, kind: str, text: str) -> None:
            content = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return ThreadingHTTPServer((HOST, port), Answer)
