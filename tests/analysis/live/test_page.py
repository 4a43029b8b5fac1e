"""The live page in a real Chromium, on a real sweep: runs start, fail and finish while somebody looks."""

import asyncio
from pathlib import Path

import pytest

import sweeps
from analysis.live import figures as figures_module
from analysis.live import watch as watch_module
from tests.support.broken_env import arm, reset_seed
from tests.support.browser import CHROMIUM, Browser
from tests.support.live_server import serving
from tests.support.sweeps import RAY_MARKS, as_spec, gym_spec, plan_of

pytest_plugins = ["tests.support.ray_plugin"]
pytestmark = [*RAY_MARKS, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")]

# Runs before the page's own code: whatever goes wrong in it, and whatever its policy stops, is kept.
WATCH = """window.wrong = [];
addEventListener("error", (event) => wrong.push(event.message));
addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => wrong.push(event.violatedDirective));"""
TILES = """Object.fromEntries([...document.querySelectorAll(".tiles div")].map((tile) =>
  [...tile.children].map((part) => part.innerText)))"""
ROWS = """[...document.querySelectorAll(".runs tbody tr")].map((row) =>
  [...row.cells].slice(1, 4).map((cell) => cell.innerText.trim()))"""
FOCUSED = "document.activeElement.innerText"


def gated_spec(control: Path, gate: Path) -> dict:
    """Two methods' worth of runs that are slow, then wait at a gate."""
    kwargs = {"control": str(control), "gate": str(gate)}
    worlds = {"gated": {"id": "tests.support.gated_env:Gated-v0", "kwargs": kwargs}}
    search, training = {"draws": 3, "seeds": 1}, {"iterations": 12, "warm_up": 50}
    return gym_spec(control, worlds=worlds, search=search, training=training)


class LivePage:
    """What a person does with the page and sees on it."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.url = browser, url

    async def open(self, path: str) -> None:
        await self.browser.open(self.url + path)
        await self.browser.wait_until("document.querySelector('.tiles dd, .sweeps tbody tr') !== null", 60)

    async def tiles(self) -> dict[str, str]:
        found = await self.browser.evaluate(TILES)
        return {str(name): str(text) for name, text in found.items()}

    async def wait_for_tiles(self, **expected: str) -> None:
        for name, text in expected.items():
            await self.browser.wait_until(f"{TILES}.{name} === {text!r}", 90)

    async def rows(self) -> list[list[str]]:
        return list(await self.browser.evaluate(ROWS))

    async def wait_for_rows(self, condition: str) -> list[list[str]]:
        await self.browser.wait_until(f"((rows) => {condition})({ROWS})", 60)
        return await self.rows()

    async def fill(self, selector: str, text: str) -> None:
        await self.browser.evaluate(f"document.querySelector({selector!r}).focus()")
        await self.browser.evaluate("document.activeElement.select()")
        await self.browser.type(text)

    async def click(self, selector: str) -> None:
        await self.browser.evaluate(f"document.querySelector({selector!r}).click()")

    async def panel(self, words: str) -> str:
        await self.browser.wait_until(f"document.querySelector('.panel').innerText.includes({words!r})", 60)
        return str(await self.browser.evaluate("document.querySelector('.panel').innerText"))


def test_a_sweep_is_watched_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running at a gate, then a failure, then the end; sorted, filtered, opened and compared on the way."""
    monkeypatch.setattr(watch_module, "LEAST_SECONDS", 0.5)
    monkeypatch.setattr(figures_module, "LEAST_SECONDS", 1.0)
    control, gate, out = tmp_path / "control.json", tmp_path / "gate", tmp_path / "sweeps" / "out"
    gate.touch()
    spec = gated_spec(control, gate)
    first, victim, last = plan_of(spec).runs()
    arm(control, {reset_seed(victim.run_id, 12): "raise"})

    async def watch() -> None:
        launched = asyncio.create_task(asyncio.to_thread(sweeps.launch, as_spec(spec), out))
        try:
            while not (out / "spec.yaml").exists():
                assert not launched.done(), launched.exception()
                await asyncio.sleep(0.05)
            async with serving(str(tmp_path / "sweeps")) as url, Browser(1400, 1000) as browser:
                await browser.before_pages(WATCH)
                page = LivePage(browser, url)
                await while_it_runs(page, first.run_id, victim.run_id)
                gate.unlink()
                outcome = await launched
                assert (outcome.done, outcome.failed) == (2, 1)
                await after_it_ended(page, first.run_id, victim.run_id, last.run_id)
                assert await browser.evaluate("wrong") == []
        finally:
            gate.unlink(missing_ok=True)
            await asyncio.wait([launched])

    asyncio.run(asyncio.wait_for(watch(), 280))


async def while_it_runs(page: LivePage, first: str, victim: str) -> None:
    """One run is in training, the others wait; its curve so far grows without loading the page again."""
    await page.open("/")
    await page.browser.wait_for(["out", "running"])
    await page.browser.evaluate("document.querySelector('.sweeps tbody a').click()")
    await page.wait_for_tiles(Done="0", Running="1", Failed="0", Pending="2")
    rows = await page.wait_for_rows("rows.length === 3")
    assert {row[0]: row[1] for row in rows} == {first: "running", victim: "pending", rows[2][0]: "pending"}
    await page.browser.evaluate("window.same = true")  # gone if the page is loaded again
    await page.click(".runs tbody button.id")
    panel = await page.panel("last sign of life")
    assert f"Run {first}" in panel
    assert "learning rate" in panel
    drawn = "document.querySelector('.panel svg [data-s] path').getAttribute('d').split('L').length"
    await page.browser.wait_until(f"document.querySelector('.panel svg') && {drawn} > 3", 60)
    assert f"runs={first}" in await page.browser.evaluate("location.search")
    await page.browser.press("Escape")
    await page.browser.wait_until("document.querySelector('.panel').hidden")
    assert await page.browser.evaluate(FOCUSED) == first, "the focus is where it was"


async def after_it_ended(page: LivePage, first: str, victim: str, last: str) -> None:
    """The page shows the end by itself. Then it is used: filter, sort, search, a failure, two runs, a shared link."""
    browser = page.browser
    await page.wait_for_tiles(Done="2", Running="0", Failed="1", Pending="0")
    assert await browser.evaluate("window.same") is True
    assert "ended, some failed" in await browser.evaluate("document.querySelector('.title').innerText")
    await page.wait_for_rows(f"rows.some((row) => row[0] === {victim!r} && row[1] === 'failed')")

    await page.click(".failures button")
    panel = await page.panel("RuntimeError: the environment is broken")
    assert f"Run {victim}" in panel

    await browser.evaluate(
        "{ const s = document.querySelector('[data-column=status]:not(th)'); s.value = '=done';"
        " s.dispatchEvent(new Event('change')); }"
    )
    assert {row[0] for row in await page.wait_for_rows("rows.length === 2")} == {first, last}
    await page.click("th[data-column=score] button")
    await browser.wait_until("document.querySelector('th[data-column=score]').ariaSort === 'descending'")
    scores = "[...document.querySelectorAll('.runs tbody tr')].map((row) => +row.cells[7].innerText)"
    best, worst = await browser.evaluate(scores)
    assert best >= worst
    await page.click("th[data-column=score] button")
    await browser.wait_until("document.querySelector('th[data-column=score]').ariaSort === 'ascending'")
    assert await browser.evaluate(scores) == [worst, best]

    await page.click(".panel .close")
    link = await browser.evaluate("location.pathname + location.search")
    assert "sort=score" in link
    assert "f.status=%3Ddone" in link
    await page.open(f"/sweeps/out?runs={first},{last}&q={last[:6]}")
    assert [row[0] for row in await page.wait_for_rows("rows.length === 1")] == [last]
    await page.panel("2 runs side by side")
    await browser.wait_until("document.querySelectorAll('.panel svg [data-s] path').length === 2")

    await page.open(link)
    rows = await page.wait_for_rows("rows.length === 2")
    await browser.evaluate("document.querySelector('.runs tbody button.id').focus()")
    await browser.press("ArrowDown")
    assert await browser.evaluate(FOCUSED) == rows[1][0]
    await browser.press("Enter")
    await page.panel(f"Run {rows[1][0]}")
    await browser.wait_until("document.activeElement.matches('.panel')")
    await browser.evaluate("document.activeElement.blur()")
    await browser.press("/")
    await browser.wait_until("document.activeElement.type === 'search'")

    await page.fill("[data-column=score]:not(th)", ">>")
    await browser.wait_for(["score: '>>' is no filter of numbers"])

    await page.open("/sweeps/out?tab=figures")
    await browser.wait_until(
        "document.querySelectorAll('figure[data-figure=curves] svg [data-s] path').length > 0", 120
    )
    await browser.wait_for(["Of 3 finished runs"])
    await browser.evaluate("document.querySelector('.methods button').click()")
    hidden = "getComputedStyle(document.querySelector('figure svg [data-s]')).display"
    assert await browser.evaluate(hidden) == "none"
    await page.open("/compare?sweep=out&sweep=out")
    await browser.wait_until("document.querySelectorAll('.beside-each .head').length === 1", 60)
    for width in (390, 1400):
        await browser.look(width, 900, "dark")
        await page.open("/sweeps/out")
        await page.wait_for_rows("rows.length === 3")
        assert await browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
