"""Terms and figures of built pages: seen, reached by keyboard and by touch, printed."""

from __future__ import annotations

import importlib
import sys

import nbformat
import pytest
from building import ROOT, build_pages
from test_browser import CUT_OFF, FAINT, MISNAMED, ODD_CAPTIONS, UNREACHABLE, complaints, soon

sys.path.insert(0, str(ROOT / "tools"))
notebooks = importlib.import_module("notebooks")

SAID = "Several lanes read the same word, which is fetched once for all of them. It is usual."
FIGURE = '<figure class="kernels-figure"><p>A picture</p><figcaption>A caption.</figcaption>'
TEXT = "A word, **and many more before it in a line**, of a [broadcast](glossary.md#broadcast)."
TIP = "document.querySelector('.term-tip')"
LINK = "document.querySelector('a[data-term]')"
SHOWN = f"{TIP}.checkVisibility() && {TIP}.innerText"
INSIDE = f"""(box => box.left >= 0 && box.top >= 0 && box.right <= innerWidth
                     && box.bottom <= innerHeight)({TIP}.getBoundingClientRect())"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folder of the built pages: a chapter with terms and figures, and the glossary."""
    pytest.importorskip("jupyter_book", reason="jupyter-book is not installed")
    source = tmp_path_factory.mktemp("reading")
    (source / "book").mkdir()
    shown = nbformat.v4.new_output(
        "display_data", {"text/html": f"{FIGURE}</figure>{FIGURE}{FIGURE}</figure></figure>"}
    )
    cells = [
        nbformat.v4.new_markdown_cell(f"# A chapter\n\n{TEXT}"),
        nbformat.v4.new_code_cell("draw()", outputs=[shown]),
        nbformat.v4.new_markdown_cell("\n\n".join(["A paragraph."] * 60 + [TEXT])),
    ]
    nb = nbformat.v4.new_notebook(cells=cells, metadata=notebooks.METADATA)
    nbformat.write(nb, source / "book" / "01_first.ipynb")
    (source / "book" / "index.md").write_text("# Title\n\nText.\n")
    glossary = f"# Glossary\n\n## Terms\n\n### broadcast\n\n{SAID} [First](01_first.ipynb)\n"
    (source / "book" / "glossary.md").write_text(glossary)
    files = "      - file: book/01_first\n  - chapters:\n      - file: book/glossary\n"
    return build_pages(source, f"parts:\n  - numbered: 1\n    chapters:\n{files}")


@pytest.fixture(autouse=True)
def focus(chromium):
    """The tab has the focus of the system: else its links get none."""
    chromium.command("Emulation.setFocusEmulationEnabled", enabled=True)
    yield
    chromium.command("Emulation.setFocusEmulationEnabled", enabled=False)


def pointer(chromium, kind: str, selector: str, **more) -> None:
    box = f"document.querySelector('{selector}').getBoundingClientRect()"
    x, y = chromium.evaluate(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
    chromium.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)


def press(chromium, key: str, code: int) -> None:
    for kind in "rawKeyDown", "keyUp":
        chromium.command(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
        )


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_term_is_told_under_the_pointer_and_with_the_focus(chromium, book, width, mode):
    chromium.open(book / "01_first.html", width=width, mode=mode)
    described = f"{LINK}.getAttribute('aria-describedby') === 'term-tip'"
    assert chromium.evaluate(SHOWN) is False
    pointer(chromium, "mouseMoved", "a[data-term]")
    assert chromium.evaluate(SHOWN) == SAID and chromium.evaluate(INSIDE)
    pointer(chromium, "mouseMoved", ".term-tip")  # it can be reached, and selected
    chromium.evaluate("new Promise(done => setTimeout(done, 300))")
    assert chromium.evaluate(SHOWN) == SAID and chromium.evaluate(described)
    for found in FAINT, CUT_OFF, MISNAMED, UNREACHABLE, ODD_CAPTIONS:
        assert not chromium.evaluate(found)
    pointer(chromium, "mouseMoved", "article h1")
    chromium.evaluate("new Promise(done => setTimeout(done, 300))")
    assert chromium.evaluate(SHOWN) is False and not chromium.evaluate(described)
    last = "[...document.querySelectorAll('a[data-term]')].at(-1)"
    chromium.evaluate(f"{last}.focus()")
    assert not soon(chromium, f"!{INSIDE}")  # the page scrolls to it, smoothly
    assert chromium.evaluate(SHOWN) == SAID
    press(chromium, "Escape", 27)
    assert chromium.evaluate(SHOWN) is False
    assert not complaints(chromium.events)


def test_a_first_tap_tells_and_a_second_follows(chromium, book):
    chromium.open(book / "01_first.html", width=390)
    chromium.command("Emulation.setTouchEmulationEnabled", enabled=True)
    try:
        box = f"{LINK}.getBoundingClientRect()"
        x, y = chromium.evaluate(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
        for place in "01_first.html", "glossary.html":
            for kind, points in ("touchStart", [{"x": x, "y": y}]), ("touchEnd", []):
                chromium.command("Input.dispatchTouchEvent", type=kind, touchPoints=points)
            chromium.evaluate("new Promise(done => setTimeout(done, 300))")
            assert chromium.evaluate("location.pathname").endswith(place)
            if place == "01_first.html":
                assert chromium.evaluate(SHOWN) == SAID and chromium.evaluate(INSIDE)
    finally:
        chromium.command("Emulation.setTouchEmulationEnabled", enabled=False)


def test_figures_have_numbers_that_lead_to_them(chromium, book):
    chromium.open(book / "01_first.html")
    captions = "[...document.querySelectorAll('article figcaption')].map(e => e.innerText)"
    wanted = ["Figure 1.1 A caption.", "Figure 1.2 A caption.", "A caption."]
    assert chromium.evaluate(captions) == wanted
    chromium.evaluate("document.querySelectorAll('a.figure-number')[1].click()")
    assert chromium.evaluate("location.hash") == "#figure-2"
    assert chromium.evaluate("document.querySelector(':target').matches('figure:has(figure)')")
    for found in FAINT, MISNAMED, UNREACHABLE, ODD_CAPTIONS:
        assert not chromium.evaluate(found)


def test_paper_has_no_tip(chromium, book):
    chromium.open(book / "01_first.html")
    chromium.evaluate(f"{LINK}.focus()")
    assert chromium.evaluate(SHOWN) == SAID
    chromium.command("Emulation.setEmulatedMedia", media="print")
    try:
        assert chromium.evaluate(SHOWN) is False
    finally:
        chromium.command("Emulation.setEmulatedMedia", media="")
