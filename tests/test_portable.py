"""A notebook is read in any viewer: JupyterLab, Colab, GitHub and nbconvert know no MyST."""

from __future__ import annotations

import itertools
import re
import string
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from portable import BOOK, CHAPTERS, DETAILS, NOTEBOOKS, markdown

from kernels.ladder import source

# The index lists the chapters, for which only MyST has a word.
PAGES = [path for path in sorted(BOOK.glob("*.md")) if path.name != "index.md"]
MYST = (
    r"^[ >]*:{3,}",  # a fence of colons
    r"^[ >]*[`~]{3,}\{",  # a directive
    r"^[ >]*\([\w-]+\)=\s*$",  # a label
    r"\{[a-z][a-z0-9:+-]*\}`",  # a role
    r"^[ >]*\{[.#][\w-]+[^}]*\}\s*$",  # attributes of a block
)
MOST_CELLS = 12  # of code, that stand open, beside the set-up
MOST_WORDS = 1060  # a chapter: a quarter of an hour with its pictures and tables
MOST_SAID = 1100  # the same with what is no word
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
each_text = pytest.mark.parametrize("path", NOTEBOOKS + PAGES, ids=lambda path: path.stem)


SAID = {  # terms that their chapters write otherwise
    "fma peak": "measured peak",
    "global memory": "CUDA calls",
    "launch bounds": "__launch_bounds__",
    "sass": "machine code",
    "stall": "its warps wait for",
    "unrolling": "unroll",
}
HEADINGS = ["h1", "h2", "h3", "h4"]


class Converted:
    """What a page made by nbconvert consists of, in order: headings, links and folded boxes."""

    def __init__(self, body: str):
        from bs4 import BeautifulSoup  # nbconvert has it

        page = BeautifulSoup(body, "html.parser")
        for link in page.select("a.anchor-link"):
            link.decompose()  # nbconvert's, beside a heading
        assert not page.select("details[open]")
        inside = page.select(", ".join(f"details {name}" for name in ("details", *HEADINGS)))
        assert not inside, f"in a box, which was not closed: {inside[0]}"
        self.headings = [heading.get_text() for heading in page.find_all(HEADINGS)]
        self.links = [link.get("href", "") for link in page.find_all("a")]
        self.folded: list[dict[str, str]] = []  # what a box's summary says and what is inside
        self.boxes: Counter[str] = Counter()  # by heading, the boxes under it
        for box in page.find_all("details"):
            if heading := box.find_previous(HEADINGS):
                self.boxes[heading.get_text()] += 1
            summary = box.summary.extract().get_text()
            self.folded.append({"summary": summary, "inside": box.get_text()})


@pytest.fixture(scope="module")
def convert():
    """Turns text into HTML as `jupyter nbconvert` does."""
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    exporter = nbconvert.HTMLExporter(template_name="basic")

    def converted(text: str) -> Converted:
        cell = nbformat.v4.new_markdown_cell(text)
        return Converted(exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))[0])

    return converted


def anchor(heading: str) -> str:
    """What GitHub and MyST call a heading in a link."""
    kept = string.ascii_lowercase + string.digits + " -_"
    return "".join(c for c in heading.lower() if c in kept).replace(" ", "-")


def headings(path: Path) -> list[str]:
    return re.findall(r"^#+ +(.*?) *$", markdown(path), re.MULTILINE)


def faults_of(link: str, page: Path | None = None) -> str | None:
    """Why a link of a page in the book's folder leads nowhere; None if it is good."""
    parts = urlsplit(link)
    if page and parts.fragment and link == f"#{parts.fragment}":
        return fault_within(page, parts.fragment)
    if parts.scheme in ("http", "https"):
        return None if parts.netloc else "no host"
    if parts.scheme or parts.netloc:
        return "neither an address nor a file"
    target = BOOK / unquote(parts.path)
    if target.parent == BOOK / "../kernels/cuda":
        return fault_of_kernel(target, parts.fragment)
    if target.suffix not in (".ipynb", ".md") or target not in [*NOTEBOOKS, *BOOK.glob("*.md")]:
        return "no such notebook or page"
    if not parts.fragment:
        return None
    if target.suffix != ".md":
        return "viewers differ in the anchors of a notebook: link to the notebook"
    # JupyterLab keeps capitals, so that a heading which is linked to has none.
    found = [head for head in headings(target) if anchor(head) == parts.fragment]
    return None if found and found == [found[0].lower()] else "no such place, or not only one"


def fault_within(page: Path, fragment: str) -> str | None:
    """Why a link to a heading of its own page leads nowhere in some viewer."""
    found = [head for head in headings(page) if head.replace(" ", "-") == fragment]
    plain = re.fullmatch(r"[a-z0-9-]+", fragment)  # JupyterLab keeps capitals and signs
    return None if plain and len(found) == 1 else "no such place, or viewers differ in it"


def fault_of_kernel(path: Path, region: str) -> str | None:
    """Why a link to a kernel, or a region of it, leads nowhere."""
    if path.suffix != ".cu" or not path.is_file():
        return "no such kernel"
    known = source.regions(path.name, path.read_text(encoding="utf-8"))
    return None if not region or region in known else "no such region"


@each_text
def test_there_is_no_myst(path):
    text = markdown(path)
    for pattern in MYST:
        assert not re.findall(pattern, text, re.MULTILINE), pattern


@each
def test_a_box_begins_with_a_bold_word(path):
    lines = ["", *markdown(path).splitlines()]
    for before, line in itertools.pairwise(lines):
        if line.startswith(">") and not before.startswith(">"):
            assert re.match(r"> \*\*[A-Z][\w ]*\.\*\*", line), line


@each
def test_solutions_are_folded(path, convert):
    text = markdown(path)
    page = convert(text)
    assert text.count("<details") == len(DETAILS.findall(text)) == len(page.folded)
    kinds = [box["summary"].strip() for box in page.folded]
    assert kinds == ["Hint", "Solution"] * (len(kinds) // 2)
    for box in page.folded:
        assert box["inside"].strip()
        assert "```" not in box["inside"] and "**" not in box["inside"]  # Markdown was read
    exercises = [head for head in page.headings if head.startswith("Exercise ")]
    assert [head.split(".")[0] for head in exercises] == [
        f"Exercise {n}" for n in range(1, len(exercises) + 1)
    ]
    for head in exercises:
        assert page.boxes.get(head) == 2, f"{head}: needs a hint and a solution"


@each_text
def test_links_lead_somewhere(path, convert):
    links = convert(markdown(path)).links
    faults = {link: fault for link in links if (fault := faults_of(link, path))}
    assert not faults


def test_a_link_within_a_page_is_the_same_in_all_viewers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("### 7 tiles by rows\n\n### Tiles, by columns\n")
    assert faults_of("#7-tiles-by-rows", page) is None
    assert faults_of("#7-tiles", page) and faults_of("#tiles-by-columns", page)


def entries(page: str) -> dict[str, str]:
    """The texts below the headings of the third level."""
    parts = re.split(r"^#+ (.*)$", markdown(BOOK / page), flags=re.MULTILINE)
    marks = re.findall(r"^(#+) ", markdown(BOOK / page), re.MULTILINE)
    found = [
        (name, text) for mark, name, text in zip(marks, parts[1::2], parts[2::2]) if mark == "###"
    ]
    assert len(dict(found)) == len(found), "a name stands twice"
    return {name: text.strip() for name, text in found}


def test_each_term_has_its_chapter():
    terms = entries("glossary.md")
    assert list(terms) == sorted(terms)
    for term, text in terms.items():
        end = re.fullmatch(r"[A-Z0-9].*\. \[[^]]+\]\((\w+\.ipynb)\)", text.replace("\n", " "))
        assert end, term
        chapter = re.sub(r"\]\([^)]*\)", "]", markdown(BOOK / end[1]))  # without addresses
        assert re.search(rf"(?i)\b{SAID.get(term, term)}", chapter), f"{term}: not in {end[1]}"


def test_each_source_has_an_address_or_is_known_to_have_none():
    sources = entries("references.md")
    assert {key for key, text in sources.items() if "https://" not in text} == {
        "texta",  # gives no address for itself
        "textb",
        "textc",
        "pmpp",  # a printed book
    }


def test_each_source_names_the_pages_that_cite_it():
    texts = {path.name: markdown(path) for path in (*BOOK.glob("*.md"), *NOTEBOOKS)}
    del texts["references.md"]
    for key, entry in entries("references.md").items():
        named = re.findall(r"\]\((\w+\.\w+)\)", entry.partition("\nCited in ")[2])
        citing = [name for name, text in texts.items() if f"(references.md#{key})" in text]
        assert citing and sorted(named) == sorted(citing), key


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_a_lesson_with_its_proof_folded(path):
    """What stands open: few words and cells, each of one call, and nothing that prints."""
    text = DETAILS.sub("", markdown(path))
    said = text.split()  # with signs and bars, the most that anybody counts
    words = [word for word in said if re.search(r"\w", word)]
    _, *code = (c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code")
    shown = [cell.source for cell in code if "hide-cell" not in cell.metadata.get("tags", ())]
    assert len(words) <= MOST_WORDS and len(said) <= MOST_SAID, (len(words), len(said))
    assert len(shown) <= MOST_CELLS
    assert not any("print(" in source for source in shown)
    assert not re.findall(r"\b(?:likely|probably|presumably|perhaps)\b", text)


@pytest.mark.parametrize(
    "link, good",
    [
        ("references.md", True),
        ("references.md#williams2009", True),
        ("03_coalesced.ipynb", True),
        ("https://arxiv.org/abs/1804.06826", True),
        ("../kernels/cuda/06_bank_conflicts.cu", True),
        ("../kernels/cuda/06_bank_conflicts.cu#tiles", True),
        ("../kernels/cuda/06_bank_conflicts.cu#no_such_region", False),
        ("../kernels/cuda/06_no_such_kernel.cu", False),
        ("references.md#nobody1900", False),
        ("references.md#papers-and-books", False),  # has capitals
        ("03_coalesced.ipynb#exercises", False),
        ("no_such_page.md", False),
        ("03_coalesced.html", False),
        ("mailto:a@b", False),
    ],
)
def test_bad_links_are_found(link, good):
    assert (faults_of(link) is None) == good


def test_boxes_that_are_not_closed_are_found(convert):
    box = "<details><summary>Solution</summary>\n\nInside.\n\n"
    assert convert(f"# Title\n\n{box}</details>").boxes == {"Title": 1}
    for wrong in f"{box}## Next\n\n</details>", f"{box}{box}</details>":
        with pytest.raises(AssertionError):
            convert(wrong)
