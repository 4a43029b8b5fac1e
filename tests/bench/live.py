"""The live page in a real Chromium: how soon it is there at 3,000 runs of 800 iterations, and 100,000 runs paged."""

import asyncio
import tempfile
import time
from pathlib import Path

from mulex.store.folder import open_folder
from sweeps.inventory import freeze_spec
from sweeps.spec import parse_spec
from tests.bench.sweeps import NOTHING, _fill
from tests.support.browser import CHROMIUM, Browser
from tests.support.live_server import serving

RUNS, MANY = 3_000, 100_000
HEAD = "document.querySelector('.tiles dd') && document.querySelector('.tiles dd').innerText !== ''"
ROWS = "document.querySelectorAll('.runs tbody tr').length > 0"
FIGURES = "document.querySelectorAll('figure svg').length > 0"
LONGEST_PAUSE = """new Promise((done) => {
  let longest = 0, before = performance.now();
  const until = before + 5000;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
    if (now < until) setTimeout(look, 10); else done(longest);
  };
  look();
})"""


def measure(runs: int = RUNS, many: int = MANY) -> dict[str, float]:
    """Seconds until a page shows its numbers, its table and its figures; the longest pause of an open page."""
    if CHROMIUM is None:
        print("live: needs Chromium (apt-get install chromium)")
        return {}
    with tempfile.TemporaryDirectory(prefix="mulex-bench-") as scratch:
        _make(Path(scratch) / "large", runs, filled=True)
        _make(Path(scratch) / "many", many, filled=False)
        return asyncio.run(_measure(scratch))


def _make(path: Path, runs: int, filled: bool) -> None:
    """A sweep of so many runs: all finished with curves of 800 iterations, or none begun."""
    text = NOTHING.replace("DRAWS", str(runs // 5)).replace("iterations: 1,", "iterations: 800,")
    spec = parse_spec(text, "bench")
    freeze_spec(open_folder(path), spec)
    if filled:
        _fill(spec, str(path))


async def _measure(scratch: str) -> dict[str, float]:
    async with serving(scratch) as url, Browser() as browser:
        figures = {
            "live_3000_runs_head_seconds": await _seconds(browser, f"{url}/sweeps/large", HEAD),
            "live_3000_runs_table_seconds": await _seconds(browser, f"{url}/sweeps/large?sort=-score", ROWS),
            "live_3000_runs_figures_seconds": await _seconds(browser, f"{url}/sweeps/large?tab=figures", FIGURES),
            "live_3000_runs_longest_pause_ms": float(await browser.evaluate(LONGEST_PAUSE)),
            "live_100k_runs_first_seconds": await _seconds(browser, f"{url}/sweeps/many", ROWS),
        }
        page = f"{url}/sweeps/many?sort=-learning_rate&f.learning_rate=%3E1e-4&page=300"
        return figures | {"live_100k_runs_page_seconds": await _seconds(browser, page, ROWS)}


async def _seconds(browser: Browser, url: str, condition: str) -> float:
    await browser.open("about:blank")
    began = time.perf_counter()
    await browser.open(url)
    await browser.wait_until(condition, 300)
    return time.perf_counter() - began
