"""A headless Chromium by the WebDriver protocol: what a test of the page needs of it,
no more."""

import json
import shutil
import socket
import subprocess
import time
from urllib.request import Request, urlopen

BROWSERS_OWN = ("chrome:", "chrome-untrusted:", "data:")
"""Of addresses asked for: what the browser's first tab loads by itself."""
MISSING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


class Browser:
    """One window; close it at the end."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._driver = subprocess.Popen(["chromedriver", f"--port={port}"], **quiet)  # type: ignore[call-overload]
        self._base = f"http://127.0.0.1:{port}/session"
        flags = f"--headless=new --no-sandbox --disable-gpu --user-data-dir={folder}"
        chrome = {"args": flags.split(), "binary": shutil.which("chromium")}
        wanted = {
            "goog:chromeOptions": chrome,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self._ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self._base += "/" + made["sessionId"]

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data, {"Content-Type": "application/json"})
        request.get_method = lambda: method  # type: ignore[method-assign]
        for tries in range(200):
            try:
                return json.load(urlopen(request, timeout=60))["value"]
            except ConnectionRefusedError:
                raise
            except OSError as error:
                if tries == 199 or hasattr(error, "code"):
                    raise AssertionError(
                        error.read() if hasattr(error, "read") else error
                    ) from None
                time.sleep(0.05)
        return None

    def open(self, address, width=1200, height=800, *, dark=False):
        """Go to an address, in a window of that size."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])
        self._ask("POST", "/url", {"url": address})

    def cdp(self, command, **params):
        """Ask the browser itself."""
        return self._ask(
            "POST", "/goog/cdp/execute", {"cmd": command, "params": params}
        )

    def js(self, script, *given):
        """What a function body returns in the page."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": given})

    def until(self, script):
        """The same, asked again until it is true."""
        for _ in range(200):
            if found := self.js(script):
                return found
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}")

    def press(self, keys):
        """Press keys, one after the other."""
        steps = [
            {"type": kind, "value": key}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        self._ask(
            "POST",
            "/actions",
            {"actions": [{"type": "key", "id": "k", "actions": steps}]},
        )

    def text(self, selector):
        """What stands in the first element that fits."""
        return str(
            self.js("return document.querySelector(arguments[0]).innerText", selector)
        )

    def log(self):
        """What the console said since it was last asked."""
        return [
            row["message"] for row in self._ask("POST", "/se/log", {"type": "browser"})
        ]

    def requests(self):
        """The addresses that were asked for since the last time, over a network or
        not."""
        rows = self._ask("POST", "/se/log", {"type": "performance"})
        told = (json.loads(row["message"])["message"] for row in rows)
        urls = [
            each["params"]["request"]["url"]
            for each in told
            if each["method"] == "Network.requestWillBeSent"
        ]
        return [
            url for url in urls if not url.startswith(BROWSERS_OWN)
        ]  # its own first window

    def close(self):
        try:
            self._ask("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait()
