"""tools/reading.py: terms beside their links, and figures that have numbers."""

from __future__ import annotations

import importlib
import sys

import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
for package in "bs4", "docutils":
    pytest.importorskip(package, reason="jupyter-book is not installed")
reading, markup = (importlib.import_module(name) for name in ("reading", "markup"))

GLOSSARY = f"""# Glossary

Words. Each with its chapter.

## Terms

### bank conflict

Two lanes want words of one bank; see `ld.shared` in
[PTX](#ptx). It takes *2.5 times* as long. A third sentence. [Chapter
5](05_shared_tiling.ipynb)

### l1

A cache. {"Long " * 60}end. [The GPU](the_gpu.ipynb)

### ptx

No sentence
"""


def test_an_entry_is_told_by_its_first_two_sentences_or_one():
    assert reading.explanations(GLOSSARY) == {
        "bank-conflict": "Two lanes want words of one bank; see ld.shared in PTX."
        " It takes 2.5 times as long.",
        "l1": "A cache.",
        "ptx": "",
    }


def test_every_entry_of_the_book_can_be_told():
    text = (ROOT / "book" / "glossary.md").read_text("utf-8")
    said = reading.explanations(text)
    assert len(said) == text.count("\n### ") > 50
    for term, words in said.items():
        assert 20 < len(words) <= 300 and words.endswith("."), term
        assert not set("[]`*$") & set(words), term


def test_links_to_entries_say_it_and_no_others():
    links = (
        '<a href="../book/glossary.html#l1">1</a><a href="glossary.html#no">2</a>'
        '<a href="glossary.html#ptx">3</a><a href="glossary.html">4</a><a href="l1.html#l1">5</a>'
    )
    text = f'<nav><a href="glossary.html#l1">0</a></nav><article>{links}</article>'
    said = {"l1": 'A "cache" & more.', "ptx": ""}
    page = markup.Page(text)
    reading.explain(page, said)
    assert [link.text for link in page.select("[data-term]")] == ["1"]
    once = markup.changed(text, lambda page: reading.explain(page, said))
    assert "data-term='A \"cache\" &amp; more.'" in once


def figure(caption: str, inside: str = "<svg></svg>") -> str:
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure class="kernels-figure"><div>{inside}</div>{below}</figure>'


def numbered(text: str) -> list[tuple[str, str, str]]:
    page = markup.Page(markup.changed(text, reading.number_figures))
    links = page.select("figcaption > a.figure-number")
    assert all(link["href"] == f"#{link.find_parent('figure')['id']}" for link in links)
    assert len(page.select("[id^=figure-]")) == len(links)
    return [(link["href"], link.text, link.parent.text) for link in links]


def test_figures_are_numbered_within_their_chapter():
    head = '<h1>Banks</h1><h1><span class="section-number">6. </span>Banks</h1>'
    text = head + figure("One.") + "<details>" + figure("Two.") + "</details>"
    assert numbered(text) == [
        ("#figure-1", "Figure 6.1", "Figure 6.1 One."),
        ("#figure-2", "Figure 6.2", "Figure 6.2 Two."),
    ]
    once = markup.changed(text, reading.number_figures)
    assert markup.changed(once, reading.number_figures) == once  # in a second build
    plain = "<h1>Scores</h1>" + figure("One.")
    assert numbered(plain) == [("#figure-1", "Figure 1", "Figure 1 One.")]


def test_on_one_page_each_chapter_counts_its_own_figures():
    number = '<span class="section-number">{}. </span>'
    chapters = (("6", ["One.", "Two."]), ("7", ["Three."]), ("", ["Four."]))
    text = "<h1>The book</h1>" + "".join(
        f'<span id="document-book/{n}"></span><section><h2>{number.format(n) if n else ""}Name</h2>'
        + "".join(f"<h2>Part</h2>{figure(caption)}" for caption in captions)
        + "</section>"
        for n, captions in chapters
    )
    assert [link[:2] for link in numbered(text)] == [
        ("#figure-1", "Figure 6.1"),
        ("#figure-2", "Figure 6.2"),
        ("#figure-3", "Figure 7.1"),
        ("#figure-4", "Figure 1"),
    ]


def test_tables_and_what_is_inside_another_figure_have_no_number():
    inside = figure("Small.") + figure("")
    text = figure("", "<table></table>") + figure("Whole.", inside) + figure("", inside)
    assert numbered(text) == [("#figure-1", "Figure 1", "Figure 1 Whole.")]
