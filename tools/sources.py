"""A Sphinx extension: a page for each kernel, made of its file whenever the book is built.

Sphinx takes `kernels/cuda/NN_name.cu`, which `_toc.yml` names, as it takes a page in Markdown. So a
link to the file, `../kernels/cuda/NN_name.cu`, leads to the page in the built book and to the file
everywhere else, and the search knows what it says. `../kernels/cuda/NN_name.cu#tiles` leads to a
region; its id on the page is `tiles-NN`, since all pages may be printed as one. A line's is `L-12`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.parsers import Parser
from sphinx.writers.html5 import HTML5Translator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from kernels.ladder.source import Source, lines_of_regions, parse

LANGUAGE = "cuda"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx the pages that show a kernel's file."""
    app.add_source_suffix(".cu", LANGUAGE)
    app.add_source_parser(KernelParser)
    app.add_node(listing, html=(visit_listing, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class listing(nodes.literal_block):  # Sphinx finds what visits a node by this name
    """A file of source, with the lines of its regions: id, first, and the one after the last,
    counted from 0."""


class KernelParser(Parser):
    """A page of the book from a kernel's file: what it is, its regions and its text."""

    supported = (LANGUAGE,)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        docname = self.env.docname
        file = parse(Path(document["source"]), inputstring)
        ids = {name: f"{name}-{file.path.stem[:2]}" for name in file.regions}
        places = lines_of_regions(file.path.name, inputstring)
        regions = [(ids[name], *place) for name, place in places.items()]
        page = nodes.section(ids=[nodes.make_id(f"kernel {file.path.stem}")])
        page += nodes.title("", file.path.name)
        page += introduction(file, docname)
        if ids:
            page += links(ids)
        page += listing(
            inputstring,
            inputstring,
            language=LANGUAGE,
            linenos=True,
            highlight_args={"linespans": "L"},
            regions=regions,
            classes=["kernels-source"],
        )
        document += page
        # where MyST looks for what stands behind the # of a link
        self.env.metadata[docname]["myst_slugs"] = {
            name: (first, place, name) for name, (place, first, _) in zip(ids, regions)
        }


def introduction(file: Source, docname: str) -> nodes.paragraph:
    """The page's first paragraph: what the kernel does and the chapter about it."""
    number = int(file.path.stem[:2])
    link = pending_xref(
        "",
        nodes.inline("", f"Chapter {number}"),
        refdomain="std",
        reftype="doc",
        reftarget=f"/book/{file.path.stem}",
        refdoc=docname,
        refexplicit=True,
        refwarn=True,
    )
    idea = nodes.emphasis("", file.title)
    says = " tells what each part does and what it gains."
    begin = nodes.Text(f"The kernel of step {number}: ")
    return nodes.paragraph("", "", begin, idea, nodes.Text(". "), link, nodes.Text(says))


def links(ids: dict[str, str]) -> nodes.paragraph:
    """To the regions, by name."""
    parts: list[nodes.Node] = [nodes.Text("Its regions, which the chapter shows or changes: ")]
    for number, (name, place) in enumerate(ids.items()):
        parts.append(nodes.Text(", " if number else ""))
        parts.append(nodes.reference("", "", nodes.literal("", name), refid=place, internal=True))
    return nodes.paragraph("", "", *parts, nodes.Text("."))


def visit_listing(self: HTML5Translator, node: listing) -> None:
    """Each line is an element of its own, and a region one around its lines."""
    try:
        self.visit_literal_block(node)
    except nodes.SkipNode:
        for place, first, end in node["regions"]:  # counted from 0, and lines from 1
            for line, tag in ((first + 1, f'<span id="{place}">'), (end + 1, "</span>")):
                start = f'<span id="L-{line}">'
                self.body[-1] = self.body[-1].replace(start, tag + start)
        raise
