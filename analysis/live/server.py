"""The server of the live page. It answers GET alone, and shows nothing but the sweeps that were named."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from aiohttp import web

from analysis.errors import AnalysisError
from analysis.live.assets import Asset, load_assets
from analysis.live.query import columns_of, page_of, read_query
from analysis.live.security import add_headers, guard
from analysis.live.summary import summary, sweep_page
from analysis.live.watch import Watch, Watched
from mulex.store.folder import StorageError
from mulex.store.layout import SPEC

FIRST_READ = 1.0
"""Seconds that an answer waits for the first reading of a sweep."""
BEAT_SECONDS = 15.0
"""Between two signs of life to a browser that listens."""

WATCH = web.AppKey("watch", Watch)
ASSETS = web.AppKey("assets", dict[str, Asset])


def make_app(paths: Sequence[str], token: str | None = None) -> web.Application:
    """Make the server's application.

    Args:
        paths: Sweeps, or folders and bucket prefixes that hold sweeps.
        token: What a browser must show; None admits every request from this machine.

    Raises:
        AnalysisError: A path does not exist or has no sweep in it.
    """
    app = web.Application(middlewares=[guard(token)])
    app[WATCH], app[ASSETS] = Watch(paths), load_assets()
    app.on_response_prepare.append(add_headers)
    app.cleanup_ctx.append(_watching)
    app.add_routes(
        [
            web.get("/", _page),
            web.get("/sweeps/{key}", _page),
            web.get("/compare", _page),
            web.get("/page/{name}", _asset),
            web.get("/api/sweeps", _sweeps),
            web.get("/api/sweeps/{key}", _sweep),
            web.get("/api/sweeps/{key}/spec", _spec),
            web.get("/api/sweeps/{key}/runs", _runs),
            web.get("/api/sweeps/{key}/runs/{run}", _run),
            web.get("/api/sweeps/{key}/figures", _figures),
            web.get("/api/events", _events),
        ]
    )
    return app


async def _watching(app: web.Application) -> AsyncIterator[None]:
    watching = asyncio.create_task(app[WATCH].run())
    yield
    watching.cancel()
    app[WATCH].close()
    with contextlib.suppress(asyncio.CancelledError):
        await watching


async def _page(request: web.Request) -> web.Response:
    asset = request.app[ASSETS]["page.html"]
    return web.Response(body=asset.content, content_type=asset.kind, charset="utf-8")


async def _asset(request: web.Request) -> web.Response:
    asset = request.app[ASSETS].get(request.match_info["name"])
    if asset is None:
        raise web.HTTPNotFound
    headers = {"ETag": f'"{asset.mark}"', "Cache-Control": "no-cache"}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    return web.Response(body=asset.content, content_type=asset.kind, charset="utf-8", headers=headers)


async def _sweeps(request: web.Request) -> web.Response:
    sweeps = list(request.app[WATCH].sweeps.values())
    for sweep in sweeps:
        sweep.look()
    await _first_read(sweeps)
    return _json({"sweeps": [summary(sweep) for sweep in sweeps]})


async def _sweep(request: web.Request) -> web.Response:
    return _json(sweep_page(await _named(request)))


async def _spec(request: web.Request) -> web.Response:
    sweep = await _named(request)
    try:
        text = (await asyncio.to_thread(sweep.folder.read, SPEC)).decode(errors="replace")
    except FileNotFoundError:
        text = ""
    except StorageError as error:
        return _json({"error": str(error)}, 503)
    return _json({"spec": text})


async def _runs(request: web.Request) -> web.Response:
    sweep = await _named(request)
    if sweep.view is None:
        return _json({"reading": True, "problem": sweep.problem})
    runs = sweep.view.runs
    try:
        query = read_query(request.query, list(map(str, runs.columns)))
        page = await asyncio.to_thread(page_of, runs, query)
    except AnalysisError as error:
        return _json({"error": str(error)}, 400)
    return _json({**page, "columns": columns_of(runs)})


async def _run(request: web.Request) -> web.Response:
    sweep = await _named(request)
    try:
        detail = await sweep.detail(request.match_info["run"])
    except StorageError as error:
        return _json({"error": str(error)}, 503)
    if detail is None:
        return _json({"error": f"this sweep has no run {request.match_info['run']}"}, 404)
    return _json(detail)


async def _figures(request: web.Request) -> web.Response:
    """The newest figures that there are; newer ones are made where the sweep has gone on, and announced as an event."""
    sweep = await _named(request)
    figures = sweep.figures
    figures.asked = True
    if not figures.content:
        return _json({"making": True}, 202)
    headers = {"ETag": f'"{figures.mark}"', "Cache-Control": "no-cache"}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    headers |= {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return web.Response(body=figures.content, headers=headers)


async def _events(request: web.Request) -> web.StreamResponse:
    """Tell a browser whenever a sweep that it looks at has changed; it then asks for what it shows."""
    watch = request.app[WATCH]
    keys = request.query.getall("sweep", [])
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    changed = asyncio.Event()
    watch.listeners.add(changed)
    try:
        while True:
            changed.clear()  # before looking: what changes while this is written is told next
            marks = {key: mark for key, mark in watch.marks().items() if not keys or key in keys}
            await response.write(f"data: {json.dumps(marks)}\n\n".encode())
            await _wait(changed, [watch.sweeps[key] for key in marks])
    except (ConnectionResetError, asyncio.CancelledError):
        return response
    finally:
        watch.listeners.discard(changed)


async def _wait(changed: asyncio.Event, sweeps: Sequence[Watched]) -> None:
    """Wait for a change or for the time of the next sign of life; meanwhile somebody looks at these sweeps."""
    for _ in range(int(BEAT_SECONDS)):
        for sweep in sweeps:
            sweep.look()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), 1.0)
            return


async def _named(request: web.Request) -> Watched:
    """The sweep in the request's path, read at least once if that is soon done."""
    sweep = request.app[WATCH].sweeps.get(request.match_info["key"])
    if sweep is None:
        raise web.HTTPNotFound(text=json.dumps({"error": "no such sweep here"}), content_type="application/json")
    sweep.look()
    await _first_read([sweep])
    return sweep


async def _first_read(sweeps: Sequence[Watched]) -> None:
    for _ in range(int(FIRST_READ / 0.05)):
        if all(sweep.read_at for sweep in sweeps):
            return
        await asyncio.sleep(0.05)


def _json(content: dict[str, Any], status: int = 200) -> web.Response:
    response = web.json_response(content, status=status, dumps=lambda c: json.dumps(c, allow_nan=False))
    response.enable_compression()
    return response
