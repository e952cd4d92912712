"""A browser for tests: chromium through its driver, by the W3C protocol and nothing but urllib."""

import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

__all__ = ["Browser", "browser", "why_not"]

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's key of an element
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def why_not() -> str:
    """What is missing for a browser; empty if nothing is."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)} (Debian: chromium, chromium-driver)" * bool(
        missing
    )


class Browser:
    """One window."""

    def __init__(self, address: str):
        self.address = address
        chrome = {"args": OPTIONS, "binary": shutil.which("chromium")}
        always = {"goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": always}})
        self.address += f"/session/{made['sessionId']}"

    def _ask(self, verb: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, head, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                said = json.load(error)["value"]
            raise AssertionError(f"{path}: {said['error']}: {said['message']}") from None

    def open(self, url: str) -> None:
        self._ask("POST", "/url", {"url": url})

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function body returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def element(self, selector: str) -> dict[str, str]:
        return self._ask("POST", "/element", {"using": "css selector", "value": selector})

    def click(self, selector: str) -> None:
        self._ask("POST", f"/element/{self.element(selector)[ELEMENT]}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._ask("POST", f"/element/{self.element(selector)[ELEMENT]}/value", {"text": text})

    def log(self) -> list[dict[str, Any]]:
        """The console since the last call."""
        return self._ask("POST", "/se/log", {"type": "browser"})

    def devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def close(self) -> None:
        self._ask("DELETE", "")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A headless window, closed at the end with its driver."""
    port = _free_port()
    quiet = subprocess.DEVNULL
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=quiet, stderr=quiet)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        window = Browser(f"http://127.0.0.1:{port}")
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait(10)
