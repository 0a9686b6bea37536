"""A headless Firefox, spoken to in WebDriver BiDi: what the tests of pages need of it alone."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import tempfile
from typing import Any

import websocket

FOUND = shutil.which("firefox") or shutil.which("firefox-esr")
LOADED = 'document.readyState === "complete" || new Promise((done) => (onload = () => done(1)))'


class Firefox:
    """One tab. Use it as a context manager."""

    def __enter__(self) -> Firefox:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        options = ["--headless", "--remote-debugging-port=0", "--profile", self._profile.name]
        self._process = subprocess.Popen(
            [FOUND, *options, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        lines = iter(self._process.stderr)
        address = next(filter(None, (re.search(r"BiDi listening on (ws:\S+)", x) for x in lines)))[
            1
        ]
        self._socket = websocket.create_connection(f"{address}/session", suppress_origin=True)
        self._socket.settimeout(120)
        self._numbers = itertools.count()
        self._ask("session.new", capabilities={})
        self._tab = self._ask("browsingContext.getTree")["contexts"][0]["context"]
        return self

    def __exit__(self, *_) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait()
        self._process.stderr.close()
        self._profile.cleanup()

    def open(self, page: Any) -> None:
        """Load a page, and wait until it is there."""
        self._ask("browsingContext.navigate", context=self._tab, url=page.as_uri(), wait="complete")
        self.evaluate(LOADED)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited if it is a promise."""
        # as JSON, since BiDi has a form of its own for each kind of value
        code = f"(async () => JSON.stringify(await ({expression}) ?? null))()"
        target = {"context": self._tab}
        found = self._ask("script.evaluate", expression=code, target=target, awaitPromise=True)
        if found["type"] != "success":
            raise RuntimeError(found["exceptionDetails"]["text"])
        return json.loads(found["result"]["value"])

    def _ask(self, method: str, **params) -> dict:
        """Send one command and return its result; raises RuntimeError when Firefox refuses."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == number:
                break
        if answer["type"] != "success":
            raise RuntimeError(f"{method}: {answer['message']}")
        return answer["result"]
