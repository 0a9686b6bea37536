"""Kernels in a page: what a reader runs there has the bits and the counts that it has here.

`python tools/live.py` fetches Pyodide and NumPy; without them these tests are skipped, but for what
a page then says.
"""

from __future__ import annotations

import functools
import http.server
import importlib
import json
import re
import sys
import threading
import time
from typing import ClassVar

import pytest
from building import ROOT
from test_browser import CUT_OFF, MISNAMED, UNREACHABLE

import kernels

sys.path.insert(0, str(ROOT / "tools"))
live = importlib.import_module("live")

FETCHED = all((live.FOLDER / name).is_file() for name in live.FETCHED)
needs_pyodide = pytest.mark.skipif(not FETCHED, reason="python tools/live.py has not been run")
STEPS = [step.id for step in kernels.steps()]
OPEN = "[...document.querySelectorAll('button')].find(e => e.textContent === {!r}).click()"
CELL = "document.querySelector('.live-cell')"
SHOWN = "document.querySelector('.live-output').textContent"
STATUS = "document.querySelector('.live-cell [role=status]').textContent"
BUSY = "document.querySelector('.live-cell button').disabled"
SAYS = """
import hashlib, json
def says(id):
    A, B, _ = kernels.inputs(128, 128, 64)
    step = kernels.step(id)
    bits = hashlib.sha256(step(A, B, device="interpreter").tobytes()).hexdigest()
    counters = {name: float(n) for name, n in step.trace(128, 128, 64).counters.items()}
    return json.dumps([bits, dict(sorted(counters.items()))])
"""


class Site:
    """A page of the built book, by a plain server of this machine."""

    def __init__(self, address: str):
        self.address = address

    def resolve(self):
        return self

    def as_uri(self) -> str:
        return self.address


class Noting(http.server.SimpleHTTPRequestHandler):
    """Keeps what is asked for, by a page or by its worker."""

    asked: ClassVar[list[str]] = []

    def log_message(self, *_):
        self.asked.append(self.path)


@pytest.fixture(scope="module")
def site(pages):
    """A function of a page's path -> what the browser can open."""
    handler = functools.partial(Noting, directory=pages)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield lambda path: Site(f"http://127.0.0.1:{server.server_port}/{path}")
        server.shutdown()
        thread.join()


def run(tab, code: str | None = None, most: float = 120) -> str:
    """Run what stands in the page's first cell, or this; what it shows."""
    if code is not None:
        tab.evaluate(f"{CELL}.take({json.dumps(code)})")
    tab.evaluate(f"{CELL}.querySelector('button').click()")
    end = time.monotonic() + most
    while tab.evaluate(BUSY):
        assert time.monotonic() < end, tab.evaluate(STATUS)
        time.sleep(0.05)
    assert tab.evaluate(STATUS).endswith("in this browser"), tab.evaluate(STATUS)
    return tab.evaluate(SHOWN)


def test_without_what_it_needs_a_page_says_so(chromium, pages, tmp_path):
    page = pages / "book" / "06_bank_conflicts.html"
    text = page.read_text("utf-8")
    told = re.search(r'<script [^>]*id="live"[^>]*>(.*?)</script>', text)[1]
    text = text.replace(told, json.dumps(json.loads(told) | {"bytes": 0}))
    copy = page.with_name("without.html")
    copy.write_text(text, encoding="utf-8")
    try:
        chromium.open(copy)
        chromium.evaluate(OPEN.format("Run it here"))
        assert "tools/live.py" in chromium.evaluate("document.querySelector('p.live').textContent")
        assert "Solve it here" not in chromium.evaluate("document.body.innerText")
    finally:
        copy.unlink()


CHOOSE = """((n, value) => {{
    const one = document.querySelectorAll(".live select")[n];
    one.value = value;
    one.dispatchEvent(new Event("input", {{ bubbles: true }}));
}})({}, {!r})"""
HEAP = "import pyodide_js\nprint(pyodide_js._module.HEAPU8.length)"


@pytest.fixture
def same(chromium):
    """A function of steps: in the page that is open they give the bits and counts that they give
    here."""

    def check(ids) -> None:
        names: dict = {"kernels": kernels}
        exec(SAYS, names)
        run(chromium, SAYS)
        for id in ids:
            assert json.loads(run(chromium, f"print(says({id!r}))")) == json.loads(
                names["says"](id)
            ), id

    return check


@needs_pyodide
def test_a_page_runs_its_step_on_a_phone(chromium, site, same):
    """Nothing is loaded before the first run. (No other host can be reached: see `browser`.)"""
    Noting.asked.clear()
    chromium.open(site("book/14_double_buffering.html"), width=390)
    chromium.evaluate(OPEN.format("Run it here"))
    loaded = lambda: [path for path in Noting.asked if "/live/" in path or "live_worker" in path]
    time.sleep(0.5)  # for a worker that would begin by itself
    assert Noting.asked and not loaded()
    assert "largest difference from NumPy" in run(chromium)
    chromium.evaluate(CHOOSE.format(0, "14_double_buffering BUFFERS=1"))
    chromium.evaluate(CHOOSE.format(1, "check"))
    shown = run(chromium)
    assert "BUFFERS=1" in shown and "within its error bound" in shown
    chromium.evaluate(CHOOSE.format(1, "trace"))
    assert "wavefronts/req" in run(chromium)
    chromium.evaluate(CHOOSE.format(1, "sanitize"))
    assert run(chromium) == "no findings\n"
    assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for seen in CUT_OFF, UNREACHABLE, MISNAMED:
        assert chromium.evaluate(seen) == []
    same(["03_coalesced", "06_bank_conflicts", "14_double_buffering"])
    shown = run(chromium, "kernels.step('02 BM=2 BN=2')(*kernels.inputs(4, 4, 4)[:2])")
    assert "open the notebook in Jupyter" in shown
    assert {"live_worker.js", *live.LOADED} <= {path.rpartition("/")[2] for path in loaded()}


@needs_pyodide
def test_an_exercise_is_missed_hinted_at_and_solved(chromium, site):
    chromium.open(site("book/06_bank_conflicts.html"))
    chromium.evaluate(OPEN.format("Solve it here"))
    opened = "document.querySelectorAll('article details[open] > summary')"
    hints = f"[...{opened}].filter(e => e.textContent === 'Hint').length"
    for misses in 1, 2:
        assert "✗ failed" in run(chromium)
        assert chromium.evaluate(hints) == misses - 1
    chromium.evaluate(OPEN.format("Take the solution"))
    shown = run(chromium)
    assert "✓ passed" in shown and "✗" not in shown


@needs_pyodide
def test_a_run_can_be_stopped_and_another_begun(chromium, site):
    chromium.open(site("book/02_naive.html"))
    chromium.evaluate(OPEN.format("Run it here"))
    chromium.evaluate(f"{CELL}.take('while True: pass')")
    chromium.evaluate(f"{CELL}.querySelector('button').click()")
    chromium.evaluate(OPEN.format("Stop"))
    time.sleep(0.1)
    assert chromium.evaluate(STATUS).startswith("Stopped")
    assert run(chromium, "1 + 1") == "2"


@needs_pyodide
@pytest.mark.slow
@pytest.mark.parametrize("id", STEPS)
def test_every_chapter_runs_its_step(chromium, site, same, id):
    """With the bits and counts that it has here."""
    chromium.open(site(f"book/{id}.html"))
    chromium.evaluate(OPEN.format("Run it here"))
    assert "largest difference from NumPy" in run(chromium)
    same([id])


@needs_pyodide
@pytest.mark.slow
def test_thirty_runs_take_no_more_memory_than_twenty(chromium, site):
    chromium.open(site("book/23_skinny.html"))
    chromium.evaluate(OPEN.format("Run it here"))
    run(chromium, SAYS)
    heaps = []
    for _ in range(3):
        run(chromium, "for _ in range(10): says('23_skinny')")
        heaps.append(run(chromium, HEAP))
    assert heaps[1] == heaps[2]
