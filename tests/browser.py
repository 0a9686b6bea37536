"""A headless Chromium, spoken to in the DevTools protocol over a pipe; nothing to install."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FLAGS = "--headless --no-sandbox --no-first-run --remote-debugging-pipe".split()
UNUSED = "gpu quic background-networking component-update sync extensions"
FLAGS += [f"--disable-{name}" for name in UNUSED.split()]
# No host but this machine resolves: a page that needs the network cannot pass by luck.
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
# Chromium reads commands from file descriptor 3 and writes answers to 4.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
for end, number in zip(ends, (3, 4)):
    os.dup2(end, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


def executable() -> str | None:
    """The path of a Chromium or Chrome, None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return next((path for path in map(shutil.which, names) if path), None)


class Browser:
    """One tab. Use it as a context manager.

    `events` holds what the page reported since `open`: requests, console messages, exceptions.
    """

    def __init__(self, timeout: float = 30):
        self.timeout = timeout
        self.events: list[dict] = []
        self._last = 0
        self._buffer = b""
        self._session: str | None = None
        self._script: str | None = None

    def __enter__(self) -> Browser:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, self._commands = os.pipe()
        self._answers, ours_out = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(ours_in), str(ours_out), executable(), *FLAGS]
            + [f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(ours_in, ours_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours_in)
        os.close(ours_out)
        targets = self.command("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self.command("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.command(f"{domain}.enable")
        return self

    def __exit__(self, *_) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()

    def command(self, method: str, **params) -> dict:
        """Send one command and return its result; raises RuntimeError when Chromium refuses."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        answer = self._receive(lambda m: m.get("id") == self._last)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, page: Path, width: int = 1280, height: int = 900, mode: str = "light") -> None:
        """Load a file at a window size and wait until it has settled.

        The mode is the one that a reader chose on the page, whatever the system prefers.
        """
        self.resize(width, height)
        if self._script:
            self.command("Page.removeScriptToEvaluateOnNewDocument", identifier=self._script)
        choose = f"localStorage.setItem('mode', '{mode}')"
        self._script = self.command("Page.addScriptToEvaluateOnNewDocument", source=choose)[
            "identifier"
        ]
        self.events.clear()
        self.command("Page.navigate", url=page.resolve().as_uri())
        self._receive(lambda m: m.get("method") == "Page.loadEventFired")
        self.evaluate("window.MathJax?.startup?.promise")
        self.evaluate("document.fonts.ready.then(() => 0)")

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window another size; the page stays."""
        size = {"width": width, "height": height}
        screen = {"deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size, **screen)

    def evaluate(self, expression: str):
        """The value of a JavaScript expression, awaited if it is a promise."""
        result = self.command(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            thrown = result["exceptionDetails"]["exception"]
            raise RuntimeError(thrown.get("description", expression))
        return result["result"].get("value")

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """Save what the window shows, or the whole page, as PNG."""
        data = self.command("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def _receive(self, wanted) -> dict:
        """The next message that `wanted` accepts; all others are kept in `events`."""
        deadline = time.monotonic() + self.timeout
        while True:
            while b"\0" in self._buffer:
                raw, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(raw)
                if wanted(message):
                    return message
                self.events.append(message)
            if not select.select([self._answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium gave no answer within {self.timeout} s")
            chunk = os.read(self._answers, 1 << 16)
            if not chunk:
                raise RuntimeError("Chromium has ended")
            self._buffer += chunk


def insert(tab: Browser, html: str, late: str) -> None:
    """Put an output into the page's <article> as JupyterLab does: it sets innerHTML, which runs no
    script, and then puts new scripts in their place, before or, with `late` "true", after the
    output is part of the page."""
    tab.evaluate(f"""(html => {{
            const host = document.createElement("div"), article = document.querySelector("article");
            if (!{late}) article.replaceChildren(host);
            host.innerHTML = html;
            for (const old of host.querySelectorAll("script")) {{
                const script = document.createElement("script");
                script.textContent = old.textContent;
                old.replaceWith(script);
            }}
            if ({late}) article.replaceChildren(host);
        }})({json.dumps(html)})""")
