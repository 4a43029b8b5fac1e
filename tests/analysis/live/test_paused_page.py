"""A stopped sweep in a real Chromium: that it is paused, at which iteration, and the curve in its checkpoint."""

import asyncio
from pathlib import Path

import pytest

from mulex.store.folder import open_folder
from sweeps.inventory import freeze_spec
from sweeps.plan import make_plan
from tests.support.browser import CHROMIUM, Browser
from tests.support.live_server import serving
from tests.support.sweeps import as_spec, begin_pack, tiny

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")


def test_a_stopped_sweep_is_paused_and_not_unbegun(tmp_path: Path) -> None:
    spec = as_spec(tiny())
    folder = open_folder(tmp_path / "sweeps" / "stopped")
    freeze_spec(folder, spec)
    plan = make_plan(spec, folder)
    runs = list(plan.runs())
    begin_pack(plan, runs[:2], folder, 2)

    async def look() -> None:
        async with serving(str(tmp_path / "sweeps")) as url, Browser(1400, 1000) as browser:
            await browser.open(url)
            text = await browser.wait_for(["paused", "checkpoint of iteration 2"])
            assert "not begun" not in text
            await browser.open(f"{url}/sweeps/stopped?runs={runs[0].run_id}")
            text = await browser.wait_for(["Paused, checkpoint of iteration 2.", f"mulex resume {folder.url}"])
            drawn = "document.querySelector('.panel svg [data-s] path') !== null"
            await browser.wait_until(drawn)
            states = "[...document.querySelectorAll('.runs tbody .badge')].map((badge) => badge.innerText).join()"
            await browser.wait_until(f"{states} === 'paused,paused,{','.join(['pending'] * 6)}'")

    asyncio.run(asyncio.wait_for(look(), 200))
