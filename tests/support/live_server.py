"""The live page's server for the time of a block, and what it answers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from analysis.live.server import make_app


@asynccontextmanager
async def serving(*paths: str, token: str | None = None) -> AsyncIterator[str]:
    """Serve these paths on a free port; gives the address without the last slash."""
    runner = web.AppRunner(make_app(paths, token), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def get(url: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    """The status, the text and the headers of an answer; redirections are not followed."""
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
        session.get(url, headers=headers, allow_redirects=False) as answer,
    ):
        return answer.status, await answer.text(), dict(answer.headers)


async def get_json(url: str) -> Any:
    """The JSON of an answer that must be a good one."""
    status, text, _ = await get(url)
    assert status == 200, (status, text)
    return json.loads(text)
