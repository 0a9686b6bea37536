"""Kernels in a page: what a reader runs there has the bits and the counts that it has here.

`python tools/live.py` fetches what they load; without it these tests are skipped, but for what a
page then says.
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

FETCHED = all((live.FOLDER / name).is_file() for name in (*live.FETCHED, *live.EDITOR))
needs_pyodide = pytest.mark.skipif(not FETCHED, reason="python tools/live.py has not been run")
STEPS = [step.id for step in kernels.steps()]
BUTTONS = "[...document.querySelectorAll('button')]"
OPEN = BUTTONS + ".find(e => e.textContent === {!r}).click()"
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


def settled(tab, most: float = 120) -> None:
    """Wait until nothing runs."""
    end = time.monotonic() + most
    while tab.evaluate(BUSY):
        assert time.monotonic() < end, tab.evaluate(STATUS)
        time.sleep(0.05)


def run(tab, code: str | None = None) -> str:
    """Run what stands in the page's first cell, or this; what it shows."""
    if code is not None:
        tab.evaluate(f"{CELL}.take({json.dumps(code)})")
    tab.evaluate(f"{CELL}.querySelector('button').click()")
    settled(tab)
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


CHOOSE = """((name, value) => {{
    const one = document.querySelector(`.live select[aria-label="${{name}}"]`);
    one.value = value;
    one.dispatchEvent(new Event("input", {{ bubbles: true }}));
}})({!r}, {!r})"""
VARIANT, WHAT, ANSWER = "Variant", "What to do", "Answer"
EDITED = """(change => {
    const one = document.querySelector(".live-ptx .CodeMirror").CodeMirror;
    one.setValue(change(one.getValue()));
})"""
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
    """Nothing is loaded before a click, and Python not before the first run. (No other host can be
    reached: see `browser`.)"""
    Noting.asked.clear()
    loaded = lambda: [path for path in Noting.asked if "/live/" in path or "live_worker" in path]
    chromium.open(site("book/14_double_buffering.html"), width=390)
    time.sleep(0.5)  # for a worker that would begin by itself
    assert Noting.asked and not loaded()
    chromium.evaluate(OPEN.format("Run it here"))
    time.sleep(0.5)
    assert {path.rpartition("/")[2] for path in loaded()} == {*live.EDITOR}
    assert "largest difference from NumPy" in run(chromium)
    chromium.evaluate(CHOOSE.format(VARIANT, "14_double_buffering BUFFERS=1"))
    chromium.evaluate(CHOOSE.format(WHAT, "check"))
    shown = run(chromium)
    assert "BUFFERS=1" in shown and "within its error bound" in shown
    chromium.evaluate(CHOOSE.format(WHAT, "trace"))
    assert "wavefronts/req" in run(chromium)
    chromium.evaluate(CHOOSE.format(WHAT, "sanitize"))
    assert run(chromium) == "no findings\n"
    assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for seen in CUT_OFF, UNREACHABLE, MISNAMED:  # but for what an editor scrolls by its cursor
        assert [text for text in chromium.evaluate(seen) if "cm-not-content" not in text] == []
    same(["14_double_buffering"])
    shown = run(chromium, "kernels.step('02 BM=2 BN=2')(*kernels.inputs(4, 4, 4)[:2])")
    assert "open the notebook in Jupyter" in shown
    assert {"live_worker.js", *live.LOADED} <= {path.rpartition("/")[2] for path in loaded()}


@pytest.fixture
def tab(request):
    """A browser of this name."""
    if request.param == "chromium":
        yield request.getfixturevalue("chromium")
    else:
        firefox = pytest.importorskip("firefox")  # speaks by a package that Jupyter brings
        if not firefox.FOUND:
            pytest.skip("there is no Firefox")
        with firefox.Firefox() as one:
            yield one


@needs_pyodide
@pytest.mark.parametrize(
    "tab", ["chromium", pytest.param("firefox", marks=pytest.mark.slow)], indirect=True
)
def test_an_exercise_is_missed_hinted_at_and_solved(tab, site):
    tab.open(site("book/06_bank_conflicts.html"))
    tab.evaluate(OPEN.format("Solve it here"))
    opened = "document.querySelectorAll('article details[open] > summary')"
    hints = f"[...{opened}].filter(e => e.textContent === 'Hint').length"
    for misses, answer in enumerate(["as it stands", "PAD=8"], 1):
        tab.evaluate(CHOOSE.format(ANSWER, answer))
        assert "✗ failed" in run(tab)
        assert tab.evaluate(hints) == misses - 1
    tab.evaluate(CHOOSE.format(ANSWER, "the solution"))
    shown = run(tab)
    assert "✓ passed" in shown and "✗" not in shown


@needs_pyodide
@pytest.mark.slow
def test_exercises_of_a_page_without_a_step_are_solved_there_too(chromium, site):
    chromium.open(site("book/the_gpu.html"))
    assert not chromium.evaluate(f"{BUTTONS}.some(e => e.textContent === 'Run it here')")
    chromium.evaluate(OPEN.format("Solve it here"))
    assert "✗ failed" in run(chromium)
    chromium.evaluate(CHOOSE.format(ANSWER, "the solution"))
    assert "✗" not in run(chromium)


@needs_pyodide
@pytest.mark.slow
def test_ptx_is_changed_by_hand_and_pictures_are_drawn(chromium, site):
    chromium.open(site("book/12_warp_tiling.html"))
    chromium.evaluate(OPEN.format("Run it here"))
    chromium.evaluate(CHOOSE.format(WHAT, "banks of tile_b"))
    assert "none is in conflict" in run(chromium)
    chromium.evaluate("document.querySelector('.live input[type=checkbox]').click()")
    settled(chromium)
    chromium.evaluate(f"{EDITED}(ptx => ptx.replace('bar.sync', '// '))")
    chromium.evaluate(CHOOSE.format(WHAT, "sanitize"))
    assert "12_warp_tiling.cu:" in run(chromium) and "race" in chromium.evaluate(SHOWN)
    chromium.evaluate("document.querySelector('.live input[type=checkbox]').click()")
    assert run(chromium) == "no findings\n"


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


def suits(label: str) -> bool:
    """Whether a variant compiles and takes M = N = K = 128."""
    try:
        return bool(kernels.step(label).kernels) and not kernels.step(label).broken(128, 128, 128)
    except kernels.CompileError:
        return False


@needs_pyodide
@pytest.mark.slow
@pytest.mark.parametrize("id", STEPS)
def test_every_chapter_runs_its_step(chromium, site, same, id):
    """With the bits and counts that it has here, another variant too; and its exercises' solutions
    reach their goals."""
    chromium.open(site(f"book/{id}.html"))
    chromium.evaluate(OPEN.format("Run it here"))
    assert "largest difference from NumPy" in run(chromium)
    _, *variants = chromium.evaluate(
        "[...document.querySelector('.live select').options].map(e => e.value)"
    )
    if other := next(filter(suits, variants), None):
        chromium.evaluate(CHOOSE.format(VARIANT, other))
    for what, shown in ("check", "error bound"), ("trace", "sectors/req"), ("sanitize", "findings"):
        chromium.evaluate(CHOOSE.format(WHAT, what))
        assert shown in run(chromium), what
    same([id])
    chromium.evaluate("document.querySelector('section.live').remove()")
    while chromium.evaluate(f"{BUTTONS}.some(e => e.textContent === 'Solve it here')"):
        chromium.evaluate(OPEN.format("Solve it here"))
        chromium.evaluate(CHOOSE.format(ANSWER, "the solution"))
        shown = run(chromium)
        assert "✓ passed" in shown and "✗" not in shown, shown
        chromium.evaluate("document.querySelector('section.live').remove()")


@needs_pyodide
@pytest.mark.slow
def test_a_page_that_was_left_lets_go_of_python_and_begins_again(chromium, site):
    """The browser keeps the page itself, for who comes back."""
    chromium.open(site("book/02_naive.html"))
    chromium.evaluate(OPEN.format("Run it here"))
    run(chromium, "here = 1")
    chromium.evaluate("window.kept = true")
    chromium.open(site("book/the_gpu.html"))
    chromium.evaluate("history.back()")
    end = time.monotonic() + 10
    while not chromium.evaluate("window.kept && document.readyState === 'complete'"):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert run(chromium, "print('here' in globals())") == "False\n"


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
