"""A real headless Chromium for tests, driven by its DevTools protocol over two pipes."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any, Self

BINARY = "chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE_S = 30.0
_WAIT = """
new Promise((done) => {
  const look = () => { const found = (() => %s)(); if (found) done(found); else setTimeout(look, 10); };
  look();
})
"""
KEYS = {
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "ArrowDown": (40, ""),
    "ArrowUp": (38, ""),
    "End": (35, ""),
    "Home": (36, ""),
    "PageDown": (34, ""),
    "Tab": (9, ""),
    " ": (32, " "),
}
"""Keys without a letter: their number, and what they type."""


class ChromiumError(Exception):
    """What Chromium answered instead of a result."""


class Page:
    """One tab. `faults` gathers whatever went wrong in it: exceptions, errors of the console, refused by the CSP."""

    def __init__(self, chromium: "Chromium", session: str) -> None:
        self._chromium = chromium
        self.session = session
        self.faults: list[str] = []
        self._loaded = asyncio.Event()

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol in this tab."""
        return await self._chromium.send(method, session=self.session, **params)

    async def open(self, url: str) -> None:
        """Go to an address; it is there when its scripts are loaded."""
        self._loaded.clear()
        await self.send("Page.navigate", url=url)
        await asyncio.wait_for(self._loaded.wait(), PATIENCE_S)

    async def eval(self, expression: str) -> Any:
        """The value of an expression; of a promise, what it comes to."""
        done = await self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise ChromiumError(json.dumps(done["exceptionDetails"])[:2000])
        return done["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait until an expression is true in the page; its value."""
        try:
            return await asyncio.wait_for(self.eval(_WAIT % expression), PATIENCE_S)
        except TimeoutError:
            text = await self.eval("document.body.innerText")
            raise TimeoutError(f"never true: {expression}; the page: {text[:2000]}") from None

    async def key(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            number, text = KEYS.get(key, (ord(key[0].upper()), key))
            press = {"key": key, "windowsVirtualKeyCode": number}
            await self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **press)
            await self.send("Input.dispatchKeyEvent", type="keyUp", **press)

    async def size(self, width: int, height: int, scale: float = 1.0) -> None:
        """The size of the window in CSS pixels."""
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    async def scheme(self, name: str) -> None:
        """What the system prefers: `light` or `dark`."""
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    async def screenshot(self, path: Path) -> None:
        """A PNG of what is in sight."""
        path.write_bytes(base64.b64decode((await self.send("Page.captureScreenshot", format="png"))["data"]))

    def take(self, method: str, params: dict[str, Any]) -> None:
        """Take an event of the protocol."""
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Runtime.exceptionThrown":
            self.faults.append(json.dumps(params["exceptionDetails"])[:1000])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.faults.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "assert"}:
            self.faults.append(json.dumps(params["args"])[:1000])


class Chromium:
    """One browser with a profile of its own in `folder`; an async context manager.

    Raises:
        RuntimeError: it is not installed.
    """

    def __init__(self, folder: Path) -> None:
        found = shutil.which(BINARY)
        if found is None:
            raise RuntimeError("chromium is missing: apt install chromium")
        self._command = [found, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self._log = folder / "stderr.log"
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}

    async def __aenter__(self) -> Self:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}',
                "bash",
                *self._command,
                pass_fds=(theirs_in, theirs_out),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        os.close(theirs_in)
        os.close(theirs_out)
        self._out = os.fdopen(ours_out, "wb", buffering=0)
        self._reader = asyncio.StreamReader(limit=1 << 28)
        self._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), os.fdopen(ours_in, "rb", buffering=0)
        )
        self._reading = asyncio.create_task(self._read())
        await self.send("Browser.getVersion")
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(TimeoutError, ChromiumError, OSError):
            await asyncio.wait_for(self.send("Browser.close"), 5)
        self._reading.cancel()
        self._out.close()
        self._pipe.close()
        try:
            await asyncio.wait_for(self._process.wait(), 5)
        except TimeoutError:
            os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    async def page(self, width: int = 1280, height: int = 800) -> Page:
        """A new tab with storage of its own."""
        context = (await self.send("Target.createBrowserContext"))["browserContextId"]
        target = await self.send("Target.createTarget", url="about:blank", browserContextId=context)
        attached = await self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            await page.send(f"{domain}.enable")
        await page.size(width, height)
        return page

    async def send(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; raises ChromiumError with what was refused."""
        number = next(self._numbers)
        call = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        asked = self._asked[number] = asyncio.get_running_loop().create_future()
        self._out.write(json.dumps(call).encode() + b"\0")
        return await asyncio.wait_for(asked, PATIENCE_S * 2)

    async def _read(self) -> None:
        while True:
            told = json.loads((await self._reader.readuntil(b"\0"))[:-1])
            if "id" not in told:
                if (page := self._pages.get(told.get("sessionId", ""))) is not None:
                    page.take(told["method"], told["params"])
                continue
            asked = self._asked.pop(told["id"])
            if asked.done():
                continue
            if "error" in told:
                asked.set_exception(ChromiumError(json.dumps(told["error"])))
            else:
                asked.set_result(told["result"])
