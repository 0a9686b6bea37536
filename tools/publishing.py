"""A Sphinx extension: what the built pages have beyond those of Jupyter Book.

Each page has a description of its own, loads no more than it needs (tools/page_weight.py), and can be
used with a screen reader or a keyboard (tools/accessibility.py). Where the book has an address
(tools/address.json), a page also has buttons to run and to edit it, a canonical link, and a card
for links to it in other places. All pages together then have a sitemap and a page for what is not
found.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import address as places
import page_weight
import accessibility
from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 200  # characters of a description
LAST = 900  # priority of a handler that runs after those of the theme
CARD = (1200, 630)  # pixels


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", set_canonical)
    app.connect("html-page-context", add_to_page, priority=LAST)
    app.connect("html-collect-pages", not_found)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def address(app: Sphinx) -> places.Address:
    path = Path(app.srcdir) / "tools" / "address.json"
    return places.read(path) if path.is_file() else places.Address()


def set_canonical(app: Sphinx, config: Any) -> None:
    config.html_baseurl = address(app).pages


def add_to_page(
    app: Sphinx, name: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """What the head of a page says of it, and its buttons."""
    if tree is None:
        return
    where = address(app)
    title = html.unescape(re.sub("<[^>]+>", "", context["title"]))
    about = description(tree)
    path = Path(app.env.doc2path(name, base=False)).as_posix()
    context["metatags"] += "".join(tags(title, about, where.pages, name, app.config.html_title))
    groups = [*launch_buttons(where, path), *source_buttons(where, path, title)]
    context["header_buttons"][:0] = groups
    if where.pages:
        draw_card(title, about, app.config.html_title, Path(app.outdir) / card(name))


def description(tree: nodes.document) -> str:
    """The first sentences of a page, as many as fit."""
    inside = (nodes.block_quote, nodes.table, nodes.list_item, nodes.container)
    text = ""
    for paragraph in tree.findall(nodes.paragraph):
        above, parent = [], paragraph.parent
        while parent is not None:
            above.append(parent)
            parent = parent.parent
        if not any(isinstance(node, inside) for node in above):
            said = paragraph.astext().replace(r"\times", "×")
            text = f"{text} {' '.join(said.split())}".strip()
        if len(text) > LONGEST:
            break
    if len(text) <= LONGEST:
        return text
    end = max(text.rfind(f"{mark} ", 0, LONGEST) for mark in ".?")
    return text[: end + 1] if end > 0 else textwrap.shorten(text, LONGEST, placeholder=" …")


def tags(title: str, about: str, pages: str, name: str, book: str) -> Iterator[str]:
    """The elements of a page's head that describe it to search engines and in links to it."""

    def meta(kind: str, key: str, content: str) -> str:
        return f'<meta {kind}="{key}" content="{html.escape(content)}" />\n'

    if about:
        yield meta("name", "description", about)
    if not pages:
        return
    yield meta("property", "og:title", title)
    yield meta("property", "og:type", "article")
    yield meta("property", "og:site_name", book)
    yield meta("property", "og:url", urljoin(pages, f"{name}.html"))
    yield meta("property", "og:description", about)
    yield meta("property", "og:image", urljoin(pages, card(name)))
    for key, size in zip(("width", "height"), CARD):
        yield meta("property", f"og:image:{key}", str(size))
    yield meta("name", "twitter:card", "summary_large_image")


# ----------------------------------------------------------------------------- buttons

LOGOS = {
    "Colab": "logo_colab.png",
    "Binder": "logo_binder.svg",
    "JupyterHub": "logo_jupyterhub.svg",
}


def group(tooltip: str, icon: str, label: str, links: list[dict[str, str]]) -> Iterator[dict]:
    """A button of the page's header that opens a menu; none where the menu is empty."""
    if links:
        button = {"type": "group", "tooltip": tooltip, "icon": icon, "label": label}
        yield {**button, "buttons": [{"type": "link", **link} for link in links]}


def launch_buttons(where: places.Address, path: str) -> Iterator[dict]:
    found = places.launches(where, path) if path.endswith(".ipynb") else {}
    links = [
        {
            "text": name,
            "tooltip": f"Run on {name}",
            "url": url,
            "icon": f"_static/images/{LOGOS[name]}",
        }
        for name, url in found.items()
    ]
    yield from group("Run this notebook", "fas fa-rocket", "launch-buttons", links)


def source_buttons(where: places.Address, path: str, title: str) -> Iterator[dict]:
    found = [
        ("Repository", "Source repository", "fas fa-code", where.repository),
        ("Suggest edit", "Suggest an edit of this page", "fas fa-pencil-alt",
         places.filled(where, "edit", path)),
        ("Open issue", "Say what is wrong on this page", "fas fa-lightbulb",
         places.filled(where, "issue", title=f"On the page {title!r}")),
    ]  # fmt: skip
    links = [
        {"text": text, "tooltip": tooltip, "icon": icon, "url": url}
        for text, tooltip, icon, url in found
        if url
    ]
    yield from group("Source of this page", "fas fa-code", "source-buttons", links)


# ------------------------------------------------------------------------------- cards


def card(name: str) -> str:
    """The address of a page's card."""
    return f"_static/cards/{name.replace('/', '-')}.png"


def draw_card(title: str, about: str, book: str, path: Path) -> None:
    """The picture that stands beside a link to a page: its title and what it says first."""
    from matplotlib.figure import Figure

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(CARD[0] / 100, CARD[1] / 100), dpi=100, facecolor="#10233f")
    lines = textwrap.wrap(title, 34)[:2]
    figure.text(
        0.06,
        0.88,
        "\n".join(lines),
        parse_math=False,
        size=38,
        weight="bold",
        color="white",
        va="top",
    )
    below = 0.88 - 0.13 * len(lines) - 0.06
    told = "\n".join(textwrap.wrap(about, 62)[:5])
    figure.text(
        0.06, below, told, parse_math=False, size=20, color="#d5dfee", va="top", linespacing=1.4
    )
    figure.text(0.06, 0.07, book, size=18, color="#f0b43c")
    figure.savefig(path)


# --------------------------------------------------------------- what is made of all pages


def not_found(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """404.html: a code host shows it under any address, so that its links count from the first."""
    pages = address(app).pages
    if not pages:
        return
    body = (
        "<h1>No such page</h1>\n<p>Nothing stands at this address. "
        f'<a href="{app.config.root_doc}.html">The first page</a> lists the chapters, and '
        '<a href="search.html">the search</a> looks through all of them.</p>'
    )
    head = f'<base href="{html.escape(pages)}" />\n<meta name="robots" content="noindex" />\n'
    yield "404", {"title": "No such page", "body": body, "metatags": head}, "page.html"


def sitemap(pages: str, names: list[str]) -> str:
    lines = [
        f"  <url><loc>{html.escape(urljoin(pages, f'{name}.html'))}</loc></url>" for name in names
    ]
    start = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="{}">'
    schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return "\n".join([start.format(schema), *lines, "</urlset>"]) + "\n"


def finish(app: Sphinx, failure: Exception | None) -> None:
    """The sitemap; what pages and styles do without; and who can use it."""
    if failure or app.builder.format != "html":
        return
    out = Path(app.outdir)
    if pages := address(app).pages:
        names = sorted(app.env.found_docs)
        (out / "sitemap.xml").write_text(sitemap(pages, names), encoding="utf-8")
    for path in [*out.rglob("*.html"), *out.glob("_static/styles/*.css")]:
        text = path.read_text(encoding="utf-8")
        less = accessibility.page(page_weight.page(text)) if path.suffix == ".html" else page_weight.style(text)
        if less != text:
            path.write_text(less, encoding="utf-8")
