"""A headless Chromium, driven by its own debugging protocol: open a page, read its text, take its picture."""

import asyncio
import base64
import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--hide-scrollbars",
]


class Browser:
    """One page, as long as a block lasts."""

    def __init__(self, width: int = 1500, height: int = 1000) -> None:
        self._size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._profile = Path(tempfile.mkdtemp(dir="/tmp", prefix="chromium"))
        self._count = 0

    async def __aenter__(self) -> "Browser":
        assert CHROMIUM is not None
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._session = aiohttp.ClientSession()
        self._socket = await self._session.ws_connect(await self._page(), max_msg_size=0)
        await self._ask("Emulation.setDeviceMetricsOverride", **self._size)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()
        self._process.terminate()
        self._process.wait(20)
        shutil.rmtree(self._profile, ignore_errors=True)

    async def _page(self) -> str:
        """Where the page's debugger listens."""
        said = self._profile / "DevToolsActivePort"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, IndexError, aiohttp.ClientError, StopIteration):
                port = said.read_text().splitlines()[0]
                async with self._session.get(f"http://127.0.0.1:{port}/json") as answer:
                    pages = await answer.json()
                return str(next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"))
            await asyncio.sleep(0.2)
        raise AssertionError("Chromium did not start")

    async def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        number = self._count
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            answer = json.loads((await self._socket.receive()).data)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    async def set_cookie(self, url: str, name: str, value: str) -> None:
        await self._ask("Network.setCookie", url=url, name=name, value=value)

    async def text_of(self, url: str, words: list[str], seconds: float = 60) -> str:
        """Open a page and wait until all these words are on it; gives all that is there to read."""
        await self._ask("Page.navigate", url=url)
        return await self.wait_for(words, seconds)

    async def wait_for(self, words: list[str], seconds: float = 60) -> str:
        """As above, on the page that is open."""
        deadline = time.monotonic() + seconds
        text = ""
        while time.monotonic() < deadline:
            found = await self._ask("Runtime.evaluate", expression="document.body ? document.body.innerText : ''")
            text = str(found["result"].get("value", ""))
            if all(word in text for word in words):
                return text
            await asyncio.sleep(0.5)
        raise AssertionError(f"{[word for word in words if word not in text]} not found in:\n{text}")

    async def click(self, text: str) -> None:
        """On the last thing that has exactly this text of its own, with or without an icon beside it."""
        own = f"[...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim() == {text!r})"
        find = f"[...document.querySelectorAll('*')].filter(e => {own}).at(-1)"
        clicked = await self._ask("Runtime.evaluate", expression=f"{find}.click()")
        assert "exceptionDetails" not in clicked, clicked

    async def before_pages(self, script: str) -> None:
        """Run a script before the scripts of every page that is opened from now on."""
        await self._ask("Page.enable")
        await self._ask("Page.addScriptToEvaluateOnNewDocument", source=script)

    async def open(self, url: str) -> None:
        await self._ask("Page.navigate", url=url)

    async def evaluate(self, expression: str) -> Any:
        """What a JavaScript expression gives in the page; promises are waited for."""
        answer = await self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def wait_until(self, expression: str, seconds: float = 30) -> Any:
        """Wait until a JavaScript expression gives something true; gives it."""
        deadline = time.monotonic() + seconds
        while not (value := await self.evaluate(expression)):
            assert time.monotonic() < deadline, f"not true after {seconds} s: {expression}"
            await asyncio.sleep(0.1)
        return value

    async def press(self, key: str) -> None:
        """Press a key as a person would, wherever the focus is."""
        codes = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "ArrowDown": (40, ""), "ArrowUp": (38, "")}
        code, text = codes.get(key, (ord(key[0].upper()), key))
        event = {"key": key, "windowsVirtualKeyCode": code}
        await self._ask("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        await self._ask("Input.dispatchKeyEvent", type="keyUp", **event)

    async def type(self, text: str) -> None:
        await self._ask("Input.insertText", text=text)

    async def look(self, width: int, height: int, scheme: str = "light") -> None:
        """Change the window's size, and between light and dark."""
        self._size |= {"width": width, "height": height}
        await self._ask("Emulation.setDeviceMetricsOverride", **self._size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self._ask("Emulation.setEmulatedMedia", features=features)

    async def picture(self, path: Path) -> None:
        taken = await self._ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(taken["data"]))
