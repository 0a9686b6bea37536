"""The first page and README.md: what they say of the records, of the chapters and of themselves."""

from __future__ import annotations

import importlib
import re
import sys

import nbformat
import pytest
from building import ROOT

import kernels

sys.path.insert(0, str(ROOT / "tools"))
front_page = importlib.import_module("front_page")

PAGE = front_page.PAGE.read_text(encoding="utf-8")
README = front_page.README.read_text(encoding="utf-8")
MOST_WORDS = 620
PACE = 75  # words a minute, with the code, the pictures and the counters beside them


def test_the_files_are_those_of_the_records(tmp_path):
    """`python tools/front_page.py` writes them."""
    for path, text in front_page.files().items():
        assert path.read_text(encoding="utf-8") == text, path.name
    kernels.draw.ladder(size=front_page.SIZE).save(tmp_path / "now.svg")
    assert front_page.FILE.read_text() == (tmp_path / "now.svg").read_text()
    assert "](book/assets/ladder.svg)" in README and ":file: assets/ladder.html" in PAGE


def test_a_number_that_is_out_of_date_is_seen():
    stale = re.sub(r"to [\d.]+ TFLOPS", "to 99 TFLOPS", PAGE, count=1)
    assert stale != PAGE
    assert front_page.replaced(stale, front_page.RESULT, front_page.result()) == PAGE
    with pytest.raises(ValueError, match="2 matches"):
        front_page.replaced(PAGE + front_page.ladder(), front_page.TABLE, front_page.ladder())


def contents() -> list[str]:
    """The pages of _toc.yml after the first, in order."""
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    found = []
    for pattern in re.findall(r"(?:file|glob): book/(\S+)", toc):
        paths = [*front_page.BOOK.glob(f"{pattern}.ipynb"), *front_page.BOOK.glob(f"{pattern}.md")]
        found += sorted(path.stem for path in paths)
    return found


def test_every_page_is_in_the_table_of_contents_and_the_first_is_the_start():
    pages = {p.stem for kind in ("ipynb", "md") for p in front_page.BOOK.glob(f"*.{kind}")}
    assert sorted(contents()) == sorted(pages - {"index"})
    start = re.search(r"^```\{container\} start\n\[.*\]\((\w+)\.ipynb\)$", PAGE, re.MULTILINE)
    assert start and start[1] == contents()[0]


def commands(text: str) -> list[str]:
    return re.findall(r"^python3 -m venv .*$", text, re.MULTILINE)


def test_the_commands_are_those_of_the_readme():
    """There `.ci/run` takes the two that build and test; a reader's stand in a list, and here."""
    assert len(commands(README)) == 2
    shown = re.search(r":class: commands\n#.*\n((?:.+\n)+?)```", PAGE)[1].splitlines()
    assert len(shown) == 2 and all(f"   {line}\n" in README for line in shown)


def test_the_page_is_short():
    rest = front_page.replaced(PAGE, front_page.TABLE, "")
    assert len(rest.split()) <= MOST_WORDS


def words(path) -> int:
    """Of the prose of a chapter; what is folded is for those who ask."""
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return len(re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL).split())


def test_a_chapter_takes_no_longer_than_the_page_says():
    minutes = int(re.search(r"in about (\d+) minutes", PAGE)[1])
    chapters = sorted(front_page.BOOK.glob("[0-9][0-9]_*.ipynb"))
    assert chapters
    for path in chapters:
        assert words(path) <= 1.07 * minutes * PACE, path.name


# ------------------------------------------------------------------------ in a browser

# Where the lowest of what a reader shall see at once ends, in pixels from the top.
FOLD = """
Math.max(...["h1", "div.start a", "figure.kernels-figure svg", "div.commands"].map(one =>
    document.querySelector("article " + one).getBoundingClientRect().bottom))
"""
SMALLEST = """
Math.min(...[...document.querySelectorAll("figure.kernels-figure svg text")].map(e =>
    parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a))
"""


@pytest.mark.parametrize("width, height", [(1440, 900), (390, 844)])
def test_the_first_screen_has_it_all(pages, chromium, width, height):
    chromium.open(pages / "book" / "index.html", width=width, height=height)
    assert chromium.evaluate(FOLD) <= height
    assert chromium.evaluate(SMALLEST) >= 9
