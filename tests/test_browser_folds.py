"""Evidence, folded under its result: seen, opened, printed."""

from __future__ import annotations

import importlib
import sys

import nbformat
import pytest
from building import ROOT, build_pages
from test_browser import CUT_LINES, CUT_OFF, FAINT, MISNAMED, PAPER, UNREACHABLE, complaints

sys.path.insert(0, str(ROOT / "tools"))
notebooks = importlib.import_module("notebooks")

RESULT = "1.629 wavefronts for each FMA predicted, 1.629 counted, 1.645 measured on an H200"
SOLUTION = "## Exercise 1. Why\n\n<details><summary>Solution</summary>\n\nSo.\n\n</details>"
SEEN = "[...document.querySelectorAll('details.evidence > summary')].map(e => e.innerText.trim())"
OPEN = "[...document.querySelectorAll('article details')].map(e => e.open)"


def cell(source: str, printed: str, *tags: str):
    output = nbformat.v4.new_output("stream", text=printed)
    metadata = {"tags": list(tags)}
    return nbformat.v4.new_code_cell(source, outputs=[output], metadata=metadata)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The folder of two built pages: one has evidence, the other a fold without a title."""
    pytest.importorskip("jupyter_book", reason="jupyter-book is not installed")
    source = tmp_path_factory.mktemp("folds")
    (source / "book").mkdir()
    evidence = [
        cell(f"#@title {RESULT}\nprint(one)", "1.629 1.629 1.645\n"),
        cell("#@title Braces {stay} & <so> does the rest\nprint(two)", "2\n", "live"),
    ]
    plain = cell("# The answers, checked.\nprint(3)", "3\n", "hide-cell")
    for name, cells in ("index", evidence), ("plain", [plain]):
        texts = nbformat.v4.new_markdown_cell("# A chapter\n\nText."), SOLUTION
        cells = [texts[0], *cells, nbformat.v4.new_markdown_cell(texts[1])]
        nb = nbformat.v4.new_notebook(cells=cells, metadata=notebooks.METADATA)
        notebooks.fold(nb)
        nbformat.write(nb, source / "book" / f"{name}.ipynb")
    return build_pages(source, "chapters:\n  - file: book/plain\n")


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_evidence_reads_as_its_result_shut_and_open(chromium, book, width, mode):
    chromium.open(book / "index.html", width=width, mode=mode)
    titles = [RESULT, "Braces {stay} & <so> does the rest"]
    assert chromium.evaluate(SEEN) == titles
    assert chromium.evaluate(OPEN) == [False] * 3
    for _ in range(2):
        assert chromium.evaluate(SEEN) == titles
        for found in FAINT, CUT_OFF, CUT_LINES, MISNAMED, UNREACHABLE:
            assert not chromium.evaluate(found)
        chromium.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    size = "getComputedStyle(document.querySelector('{}')).fontSize"
    assert chromium.evaluate(size.format(".evidence p")) == chromium.evaluate(size.format("h1 ~ p"))
    assert not complaints(chromium.events)


CONTROL = "document.querySelector('.evidence-control')"


def press(chromium, key: str) -> None:
    for kind in "rawKeyDown", "char", "keyUp":
        chromium.command("Input.dispatchKeyEvent", type=kind, key=key, code=key, text="\r",
                         windowsVirtualKeyCode=13)  # fmt: skip


def test_one_control_opens_all_evidence_and_no_solution(chromium, book):
    chromium.open(book / "index.html")
    place = f"{CONTROL}.previousElementSibling.tagName + {CONTROL}.nextElementSibling.tagName"
    assert chromium.evaluate(place) == "H1P"
    chromium.evaluate(f"{CONTROL}.focus()")
    for name, opened in ("Show all evidence", True), ("Hide all evidence", False):
        assert chromium.evaluate(f"{CONTROL}.innerText") == name
        assert chromium.evaluate(f"{CONTROL} === document.activeElement")
        press(chromium, "Enter")
        assert chromium.evaluate(OPEN) == [opened, opened, False]
    for name in "Show all evidence", "Hide all evidence":  # the second was the last of two
        chromium.evaluate("document.querySelector('.evidence:not([open]) > summary').click()")
        chromium.evaluate("new Promise(done => setTimeout(done, 50))")
        assert chromium.evaluate(f"{CONTROL}.innerText") == name


def test_a_page_without_evidence_has_no_control(chromium, book):
    chromium.open(book / "plain.html")
    assert chromium.evaluate(OPEN) == [False, False]
    assert chromium.evaluate(f"{CONTROL} === null")
    assert not complaints(chromium.events)


@pytest.mark.parametrize("name, printed", [("index", [True] * 3), ("plain", [True])])
def test_evidence_and_solutions_are_printed(chromium, book, name, printed):
    chromium.open(book / f"{name}.html", width=PAPER)
    chromium.evaluate("document.querySelector('details.evidence')?.setAttribute('open', '')")
    before = chromium.evaluate(OPEN)
    chromium.command("Emulation.setEmulatedMedia", media="print")
    try:
        chromium.evaluate("dispatchEvent(new Event('beforeprint'))")
        seen = OPEN.replace(".map", ".filter(e => e.checkVisibility()).map")
        assert chromium.evaluate(seen) == printed
        assert chromium.evaluate(f"!{CONTROL}?.checkVisibility()")
        chromium.evaluate("dispatchEvent(new Event('afterprint'))")
        assert chromium.evaluate(OPEN) == before
    finally:
        chromium.command("Emulation.setEmulatedMedia", media="")
