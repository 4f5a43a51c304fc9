"""A real Chromium for tests of pages: the DevTools protocol over a pipe, which needs no port and no client library."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
]
SECONDS = 30.0


def chromium() -> str | None:
    """The path of an installed Chromium, or None."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class Browser:
    """One browser with one page. ``requests`` holds the address of everything that the page loaded."""

    def __init__(self, program: str, profile: Path, downloads: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # Chromium reads commands from file 3 and answers on file 4; high numbers first, so that neither is overwritten.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(3, 4),
            preexec_fn=lambda: _place(ends),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self._sent, self._buffer = 0, b""
        self._events: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.downloads = downloads
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        still = [
            {"name": "prefers-reduced-motion", "value": "reduce"}
        ]  # a smooth scroll ends some time after its cause
        self.call("Emulation.setEmulatedMedia", features=still)
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads), eventsEnabled=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": parameters}
        if self._session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda got: got.get("id") == self._sent)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def open(self, path: Path) -> None:
        """Load a file and wait until it is loaded."""
        self._events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.event("Page.loadEventFired")

    def event(self, method: str, accept: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """Wait for an event that is accepted."""

        def wanted(got: dict[str, Any]) -> bool:
            return got.get("method") == method and accept(got["params"])

        found = next((got for got in self._events if wanted(got)), None)
        return (found or self._until(wanted))["params"]

    def run(self, script: str) -> Any:
        """The value of an expression in the page; an exception in it fails the test."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str, code: str = "", modifiers: int = 0) -> None:
        """Press and release a key, as a keyboard does. Modifier 2 is Ctrl."""
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 and not modifiers else {}
        numbers = {"Enter": 13, "Tab": 9, "Delete": 46, "ArrowRight": 39}
        more = {"windowsVirtualKeyCode": numbers.get(key, ord(key[0])), "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, **text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key, **more)

    def type(self, text: str) -> None:
        """Write into the element that has the focus."""
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def downloaded(self) -> Path:
        """Wait for the next download to end; the file."""
        name = self.event("Browser.downloadWillBegin")["suggestedFilename"]
        self.event("Browser.downloadProgress", lambda got: got["state"] == "completed")
        self._events.clear()
        return self.downloads / name

    def close(self) -> None:
        self.call("Browser.close")
        self._process.wait(SECONDS)
        os.close(self._out)
        os.close(self._in)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            while b"\0" not in self._buffer:
                read = os.read(self._in, 1 << 16)
                assert read, "the browser ended"
                self._buffer += read
            raw, _, self._buffer = self._buffer.partition(b"\0")
            got = json.loads(raw)
            if got.get("method") == "Network.requestWillBeSent":
                self.requests.append(got["params"]["request"]["url"])
            if wanted(got):
                return got
            if "method" in got:
                self._events.append(got)
        raise AssertionError("the browser did not answer in time")


def _place(ends: list[int]) -> None:
    for number, end in zip((3, 4), ends, strict=True):
        os.dup2(end, number)
