"""For readers of a built page: what a term means, beside its link; figures that can be named.

A link to an entry of the glossary carries the entry's first sentence or two, which
book/assets/terms.js shows. A figure with a caption has a number, in the order of its page, and an
address; tables, which have no caption, and pictures inside another figure have none.
"""

from __future__ import annotations

import re

from docutils import nodes
from markup import Page

LONGEST = 240  # characters of two sentences; one stands whatever its length
ENTRY = re.compile(r"^### +(.+?) *\n\n(.+?)(?=\n\n|\s*\Z)", re.MULTILINE | re.DOTALL)
# The second is that of a chapter where all are one page.
TITLES = "h1, span[id^=document-] + section > h2:first-child"
FIGURES = "figure.kernels-figure:not(figure figure):has(> figcaption)"
SENTENCE = re.compile(r"\S.*?[.!?](?=\s+[A-Z]|\s*$)")


def explanations(glossary: str) -> dict[str, str]:
    """By the id of an entry its beginning, as plain text. The link to a chapter, with which an
    entry ends, is no sentence."""
    found = {}
    for term, text in ENTRY.findall(glossary):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).translate({ord(c): None for c in "`*"})
        both = SENTENCE.findall(" ".join(text.split()))[:2]
        found[nodes.make_id(term)] = " ".join(both if len(" ".join(both)) <= LONGEST else both[:1])
    return found


def explain(page: Page, said: dict[str, str]) -> None:
    """Give the links to entries of the glossary what these say."""
    for link in page.select('article a[href*="glossary.html#"]'):
        if words := said.get(link["href"].partition("#")[2]):
            link["data-term"] = words


def number_figures(page: Page) -> None:
    """Begin each caption with the figure's number, which is a link to it: that of the chapter, if
    it has one, and the place in it. Where all chapters are one page, ids go on. A page that a
    second build leaves as it is has its numbers."""
    if page.select_one("a.figure-number"):
        return
    place, number, chapter = 0, 0, ""
    for element in page.select(f"{TITLES}, {FIGURES}"):  # in order
        if element.name != "figure":
            parts = element.select(".section-number")
            number, chapter = 0, "".join(part.get_text(strip=True) for part in parts)
            continue
        place, number = place + 1, number + 1
        element["id"] = f"figure-{place}"
        link = page.new_tag("a", attrs={"class": "figure-number", "href": f"#figure-{place}"})
        link.string = f"Figure {chapter}{number}"
        element.find("figcaption", recursive=False).insert(0, link, " ")
